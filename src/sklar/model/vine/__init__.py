"""The DP vine as a model: trees of pair copulas, calibrated to released tables, sampled and rounded.

What is measured is decided in `sklar.methods.vine`. Start with `vine` (the trees) and `model` (all of it); `sampling`
draws, `deeper` grows trees without rows, `calibration` tilts, `pool` and `rounding` make rows.
"""
