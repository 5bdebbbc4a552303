"""Public arithmetic of privacy: budgets, units, noise, events, and the guarantee they give together.

This package sees no row and no release; every number follows from the schema, the options and the budget. `composition`
has the theorems with their proofs, `ledger` the record of spending. Start with `events` (what one measurement costs),
then `calibrate` (how much noise a budget needs) and `claim` (what is guaranteed in the end).
"""
