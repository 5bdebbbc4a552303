"""COPULA-SHIRLEY (Gambs et al. 2021) as published: noisy histograms, and a vine that sees the rows. Not private.

What is ours rather than the paper's is an option that says so in `options`. Start with `fit`; `encoders` are the
supervised encoders, `steps` the noisy distributions and the rows on them, `ranks` an adjustment of ours.
"""
