"""How losses add up, one theorem a file, each with its proof or its reference.

Post-processing, noise and rows have no place here; `ledger.totals` picks the smallest bound that applies. Start with
`zcdp`, for anything chosen on the way; `adaptive` is for Gaussian releases in any order (on the lemma of `lattice`),
`exact` for plans set in advance, `gaussian` for one Gaussian, `discovery` for labels that nobody listed.
"""
