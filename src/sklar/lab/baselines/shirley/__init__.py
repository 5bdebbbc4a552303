"""COPULA-SHIRLEY (Gambs et al. 2021) as published: noisy histograms, and a vine fitted to the rows. Not private.

Our extensions are options, marked as such in `options`. Start with `fit`; `encoders` has the supervised encoders,
`steps` the noisy distributions and the positions of rows on them, `ranks` an adjustment of ours.
"""
