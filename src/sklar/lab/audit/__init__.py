"""Audits of claims: many fits on worst-case neighbours, and what their releases show about the privacy loss.

Tables are made up in `neighbours`, no custodian's rows are read. Start with `audit`; `statistic` has the likelihood
ratio of one fit and the bounds from many, `exact` what queries and scores are on known tables, computed apart.
"""
