"""Public arithmetic of privacy: units, noise, budgets, events, composition, calibration and the ledger. No rows."""
