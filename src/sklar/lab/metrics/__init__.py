"""Metrics that compare a synthetic table with real rows, one per file, each with its floor.

A metric is a formula with a reference and states when it does not apply; `registry` runs them, reports show them. Start
with `score`, the description and result of a metric, then any of them, such as `tvd`. `correlations` and `offices` are
packages, `subgroups` reports errors by the values of a column, and `trajectories` compares longitudinal data.
"""
