"""Pair copulas estimated from noisy tables: prior mean, posterior, and the copulas that a vine is made of.

Trees of them are in `sklar.model.vine`. Start with `posterior`, which combines all measured tables of a pair, and
`copula`, the pair copulas themselves; `families` fits parametric members, `hints` uses correlations from score sums,
`nulls` estimates joint nulls, and `grouping` coarsens columns.
"""
