"""Real and synthetic rows in memory for the lab: read by the rules of a fit, with numbers in addition to codes.

No metric is computed here. Start with `table`, the rows and the coarse public grid of comparisons, and `reading`, which
reads them; `checks` compares a file with a schema for the custodian.
"""
