"""Downstream learning on real and synthetic rows, without noise: how useful a table is for training models.

Domains come from the schema, so that both tables have the same features. Start with `transfer` (train on synthetic,
test on real, with the formulas of its measures); `learners` has the models, `features` their inputs.
"""
