"""Composition theorems, one per module, each with its proof or its reference.

Post-processing, noise and rows do not belong here; `ledger.totals` picks the smallest bound that applies. Start with
`zcdp`, for adaptively chosen mechanisms; `adaptive` is for Gaussian releases in any order (by the lemma of `lattice`),
`exact` for plans set in advance, `gaussian` for one Gaussian, `discovery` for labels that no schema lists.
"""
