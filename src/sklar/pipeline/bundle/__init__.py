"""A release in one file: the model, synthetic rows, the claim to sign, a dictionary, a ledger extract, a manifest.

Start with `bundle`. `archive` is the zip, of which every byte follows from its members; `documents` are the parts that
follow from the model, also those for catalogues and registries; `keys` sign and check signatures. Nothing here
depends on rows of people but by what was released.
"""
