"""dpc (Asghar et al. 2020): a Gaussian copula over the values of columns, from noisy tables of all pairs.

The model it makes is in `sklar.model.onehot`. Start with `fit`; `tables` goes from counts to correlations (it serves
the reference without noise too), `textbook` has the accounting as published.
"""
