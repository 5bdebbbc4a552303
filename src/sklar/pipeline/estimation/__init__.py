"""Estimates with error bars and implicates: the use cases on top of `sklar.inference`, for one fitted model.

What is computed lies there; here models, files and processes are put together. Start with `asking`, one question to a
model; `making` makes replicas, and tables from them, in several processes if they take long, `kept` keeps them in a
file beside the model's, so that the next question is answered at once, and `memory` is what a model remembers between
two questions.
"""
