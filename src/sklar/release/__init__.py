"""What may cross the privacy boundary: queries, their measurements, and the Door that takes requests.

Queries and measurements are plain frozen data, without callables. Start with `measurements`, which everything after the
boundary works on. Each kind of query has a module with its meaning, its sensitivity and the proof: `counts`, `sphere`,
`taus`, `blocks`, `coefficients`; `choices` does the same for private selection. `door` is the protocol with its three
operations, `charges` has the price of a step, and `replay` is a Door that answers from a record instead of rows.
"""
