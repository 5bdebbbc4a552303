"""The regime of the DP vine for few rows: margins, then one sphere of normal scores instead of pair tables.

The model it makes is in `sklar.model.latent`. Start with `fit`; `shares` divides the budget, `sums` measures
correlations.
"""
