"""The pages of a studio, one module per step: each parses a form, runs a command or writes a file, and shows results.

No real row is read here: a page uses the schema, the ledger and the results of commands. Start with `tables`, the first
page, then `columns`, `budget`, `fitting`, `look`, `release` and `history`, which also shows the running job; `files`
serves the results of jobs.
"""
