"""Downstream learning on real and synthetic rows, without noise: what a table is worth to someone who trains on it.

Domains come from the schema, so that both tables get the same features. Start with `transfer` (train on synthetic, test
on real, with the formulas of its measures); `learners` are the models, `features` the columns they see.
"""
