"""The mechanism once more, on rows that a model made up: the same method, options, budget and noise, but no real row.

It is post-processing of a published model, so nothing is charged and the noise may follow a seed; rows and the wall
cannot be imported. Start with `replicas`, models fitted to such rows; `simulated` is the Door that methods are handed,
and `sums` is what it answers before noise is added.
"""
