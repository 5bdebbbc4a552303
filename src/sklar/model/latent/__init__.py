"""Latent normals behind the columns, fitted to noisy sums by indirect inference: the engine for few rows.

What is measured, and when this model is chosen, is decided in `sklar.methods.few_rows`. Start with `model`, then
`scores` (how codes lie on an axis), `indirect` (the fit) and `target` (classes of a declared target).
"""
