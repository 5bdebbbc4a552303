"""Methods without a privacy guarantee: published systems that read the rows, and references without noise.

They take no budget, and their models always state that; DP methods are in `sklar.methods`. Their defaults are those of
their papers; the docstring of an option that is our extension says "ours". Start with `registry`, the list, and `fit`,
the entry point; `tvine` (TVineSynth), `rvine`, `cop` and the package `shirley` are the systems.
"""
