"""The DP systems: each a package or file that is handed a Door, never rows, and returns a model.

A method decides what is asked, with which noise, and in which order; it reads no row, draws no noise and holds no
formula that others need (those are in `sklar.model`). Start with `method`, what each must offer, and `registry`, the
list; `independent` is the shortest, `vine` the default.
"""
