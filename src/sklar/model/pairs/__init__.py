"""Pair copulas on noisy tables: families, checkerboards, groups of cells, and what a known correlation adds.

Trees of them are in `sklar.model.vine`. Start with `copula`, what a vine asks of a pair, then `families` (parametric,
and the fit of a pair) and `checkerboard`; `grouping` coarsens columns, `hints` bring in correlations.
"""
