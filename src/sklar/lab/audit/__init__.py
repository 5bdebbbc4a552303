"""Audits of claims: many fits on worst-case neighbours, and lower bounds on the privacy loss from their releases.

`neighbours` constructs the tables; no custodian's rows are read. Start with `audit`; `statistic` has the likelihood
ratio of one fit and the bounds from many fits; `exact` computes queries and scores on known tables independently.
"""
