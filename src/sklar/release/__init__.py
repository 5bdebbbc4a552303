"""What may cross the privacy boundary: queries, measurements of them, and the Door where they are asked for.

Queries and measurements are plain frozen data, without callables. Start with `measurements`, the currency of everything
after the boundary. Each kind of query has a module with its meaning, its sensitivity and the proof: `counts`, `sphere`,
`taus`, `blocks`, `coefficients`; `choices` does the same for private selection. `door` is the protocol with its three
verbs, `charges` says what a step costs, and `replay` is a Door that answers from a record instead of rows.
"""
