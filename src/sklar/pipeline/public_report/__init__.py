"""The public report: quality of a release, computed from releases, the model and public facts alone.

Start with `report`, which assembles it; `columns` and `pairs` have the findings on single columns and on pairs, and
`sentences` the summary on the first screen.
"""
