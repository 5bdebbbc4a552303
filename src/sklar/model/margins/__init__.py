"""The distribution of one column, from noisy histograms of it: densities, repairs, digits, heavy values.

Noise and budgets are not decided here. Start with `margin`, what a margin is, and `fit`, how it comes from histograms;
`density` is the smooth posterior mode, with its `prior` and its `likelihood`; `few_rows` has margins of few rows.
"""
