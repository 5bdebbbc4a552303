"""DPCopula (Li et al. 2014) with its holes closed: Kendall, MLE and Hybrid, on margins of choice.

The models they make are in `sklar.model.gaussian`. Start with `kendall`; `mle` and `hybrid` are the other two systems,
`margins` the ways to measure one
column, `stages` how the budget is split between margins and correlations.
"""
