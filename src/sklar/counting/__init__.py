"""Queries evaluated on base codes in exact integers: pure functions that know nothing about where the codes come from.

The privacy boundary evaluates queries on private rows, which stream through here in batches from memory, files, a
database or a cluster; inference evaluates the same queries on rows that a model made up, and tests on both. Exact
values of private rows may not leave `sklar.private` without noise. Start with `evaluate`, which dispatches by kind of
query; `tables` counts many tables in one pass, as worked out by `plans`, columns of two codes by their bits in
`two_valued`; `sphere`, `taus`, `sampled_taus`, `blocks` and `coefficients` are sums, `scores` rank candidates for
private selection. `jobs` are what can be computed from any part of the rows, `batches` the form in which codes arrive,
`code_table` codes in memory.
"""
