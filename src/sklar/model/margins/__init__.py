"""The distribution of one column, from noisy histograms of it: densities, repairs, units, heaping, heavy values.

Noise and budgets are not decided here. Start with `margin`, what a margin is, and `fit`, how it comes from histograms;
`density` is the smooth posterior mode, with its `prior`, its `likelihood` and its `tails`; `slopes` tilts wide cells,
`units` finds what numbers are multiples of, `heaping` how many are rounded to what, `nulls` shares of missing values.
"""
