"""Public arithmetic of privacy: budgets, units, noise, events, and what they promise together.

Nothing here sees a row or a release; every number follows from the schema, the options and the budget. What is claimed
is proved beside the code, in `composition`; what was spent is kept by `ledger`. Start with `events` (what one
measurement costs), then `calibrate` (how much noise a budget asks for) and `claim` (what is promised in the end).
"""
