"""A release in one file: the model, synthetic rows, the claim to sign, a dictionary, a ledger extract, a manifest.

Start with `bundle`. `archive` is the deterministic zip; `documents` are the parts computed from the model, including
metadata for catalogues and registries; `keys` sign and check signatures. Nothing here depends on real rows except
through what was released.
"""
