"""The DP systems: each a package or file with two functions of an `Evidence`, `ask` and `estimate`.

`ask` decides what is measured next, with which noise; `estimate` makes the model from all measurements. Neither sees
rows or a Door, draws noise, or holds a formula that others need (those are in `sklar.model`). Start with `evidence`,
the loop of a fit, then `method`, what each system must offer, and `registry`, the list; `independent` is the shortest,
`vine` the default.
"""
