"""Queries evaluated on base codes in exact integers: pure functions, independent of where the codes come from.

The privacy boundary evaluates queries on private rows, which stream through here in batches from memory, files, a
database or a cluster; inference evaluates the same queries on simulated rows, and tests on both. Exact
values of private rows may not leave `sklar.private` without noise. Start with `evaluate`, which dispatches by kind of
query; `tables` counts many tables in one pass, as planned by `plans`, columns of two codes by their bits in
`two_valued`; `sphere`, `taus`, `blocks` and `coefficients` are sums, `scores` rank candidates for private selection.
`jobs` can be computed from any part of the rows, `batches` are the form of codes, `code_table` has codes in memory.
"""
