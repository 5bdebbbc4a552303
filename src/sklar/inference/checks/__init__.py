"""A model against its own releases: which tables it contradicts, how far off it is, and how wide intervals are.

Start with `residuals`, which compares released tables with the model; `fission` splits their noise in two, fits on one
half and scores on the other; `held_out` scores by tables that the model was never fitted to; `widths` of intervals for
plain questions need the noise alone.
"""
