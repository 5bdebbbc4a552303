"""Measures of statistical offices, as synthpop and its papers define them, on our public grid.

Each is a formula of two tables with its reference; the registry runs them. Start with `disclosure`; `propensity` and
`coefficients` fit regressions on the `terms` of a table.
"""
