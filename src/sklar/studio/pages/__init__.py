"""The pages of a studio, one step a file: each reads what a form said, has a command run or a file written, and shows.

No rule of the product lives here, and no row of a real table comes by: what is known about one is its schema, its
ledger, and what commands left. Start with `tables`, the first page, then `columns`, `budget`, `fitting`, `look`,
`release` and `history`, which also has the box about the job that runs; `files` hands out what jobs have made.
"""
