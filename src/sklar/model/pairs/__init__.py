"""Pair copulas on noisy tables: families, checkerboards, groups of cells, and what a known correlation adds.

Trees of them are in `sklar.model.vine`. Start with `copula`, the pairs that a vine is made of, then `families`, their
fit; `grouping` coarsens columns, `hints` bring in correlations, `nulls` tell which come together, and
`projection` is for tables of few filled cells.
"""
