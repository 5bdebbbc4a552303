"""Estimates with error bars, and implicates, for one fitted model: the use cases on top of `sklar.inference`.

The mathematics is there; models, files, processes are here. Start with `asking`, which answers one question. `making`
fits replicas and draws tables from them, in several processes if that takes long; `kept` caches replicas in a file
beside the model's, and `memory` caches results in memory between two questions.
"""
