"""The distribution of one column, from noisy histograms of it: densities, repairs, digits, heavy values.

Noise and budgets are not decided here. Start with `margin`, what a margin is, and `fit`, how it comes from histograms;
`density` is the smooth posterior mode, with its `prior`, its `likelihood` and its `tails`; `slopes` tilts wide cells,
`nulls` tells shares of missing values.
"""
