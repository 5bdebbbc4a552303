"""A fast engine for vine copulas fitted to rows: all families on a grid of cells at once, then a search from the best.

It knows pseudo-observations and nothing about columns, schemas or methods; pyvinecopulib is the reference it is tested
against. Start with `fit`; `trees` grows the vine, `pairs` fits one pair copula, `nelder_mead` refines it.
"""
