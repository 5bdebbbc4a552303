"""Audits of claims: many fits on worst-case neighbours, and what their releases show about the privacy loss.

Tables are made up here, no custodian's rows are read. Start with `audit`; `statistic` is the likelihood ratio of one
fit, `bounds` turns many of them into bounds, `requests` tells what a method asked for.
"""
