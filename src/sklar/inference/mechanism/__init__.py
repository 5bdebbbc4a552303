"""The mechanism once more, on rows that a model made up: the same method, options, budget and noise, but no real row.

It is post-processing of a published model, so nothing is charged and the noise may follow a seed; rows and the privacy
boundary cannot be imported. Start with `replicas`, models fitted to such rows; `simulated` is the Door that they are
measured through.
"""
