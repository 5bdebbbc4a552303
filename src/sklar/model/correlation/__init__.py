"""Correlation matrices of normal scores: from Kendall's tau or joint probabilities, made positive definite, drawn from.

Models that use them are in other rooms. Start with `nearest`, the nearest correlation matrix; `bivariate` has the
bivariate normal and tau, `normals` draws correlated vectors.
"""
