"""Real and synthetic rows in memory for the laboratory: read by the rules of a fit, numbers kept beside codes.

No metric is computed here. Start with `table`, what is held and the coarse public grid of comparisons, and `reading`,
how it is read; `checks` tells a custodian how a file and a schema agree.
"""
