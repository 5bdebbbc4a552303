"""Metrics that compare a synthetic table with real rows, one a file, each beside its floor.

A metric is a formula with a reference and says when it does not apply; running and showing them is done elsewhere.
Start with `score`, what a metric says about itself, then any of them, as `tvd`; `correlations` and `offices` are rooms
of their own, `subgroups` tells errors by the values of a column, `trajectories` how rows of a person follow others.
"""
