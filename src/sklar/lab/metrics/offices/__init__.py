"""Measures that statistical offices use, beside ours: as synthpop and its papers define them, on our public grid.

Each is a formula with its reference, on two tables and nothing else; running and showing them is done elsewhere. Start
with `disclosure`; `propensity` and `coefficients` fit regressions on the `terms` of a table.
"""
