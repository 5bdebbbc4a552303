"""Estimates with error bars and implicates: the use cases on top of `sklar.inference`, for one fitted model.

What is computed lies there; here models, files and processes are put together. Start with `asking`, one question to a
model; `making` makes replicas, in several processes if they take long, and `kept` keeps them in a file beside the
model's, so that the next question is answered at once; `implicates` are tables from replicas, and `memory` is what
a model remembers between two questions.
"""
