"""A Gaussian copula over the values of columns: a normal score a value, and the value with the highest score.

What is measured for it is decided in `sklar.methods.dpc`. Start with `model`; `fit` makes tables agree and sets
correlations, `decoding` mends what decoding does to them.
"""
