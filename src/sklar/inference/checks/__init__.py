"""Checks of a model against its own measurements: contradicted tables, estimated errors and interval widths.

Start with `residuals`, which compares released tables with the model. `fission` splits their noise in two, fits on one
half and scores on the other; `held_out` scores on tables that the model was not fitted to; `widths` computes interval
widths for simple questions from the noise alone.
"""
