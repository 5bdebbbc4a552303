"""The Gaussian copula over margins, one normal score a column, whole or in cells.

How its correlations were measured is the business of `sklar.methods.dpcopula`. Start with `model`; `cells` joins one
copula a cell, and what is left draws rows inside given sets.
"""
