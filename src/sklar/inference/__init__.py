"""Error bars and checks for a fitted model, computed from its measurements and their known noise.

This is post-processing: it reads no rows and charges nothing, and it cannot import rows or the privacy boundary. Start
with `fitted`, a fit as post-processing sees it, and `tables`, its measured tables. `errors_of_tables` estimates the
error of a model from noisy tables that it was not fitted to, and `checks` build on that. `estimates` turns the
`answers` of a model into intervals: by the correction in `one_step` (from `linear_measurements`, and `columns` for
single columns), or from `replicas` measured through the `simulated` Door. `combine` has the rule for implicates.
"""
