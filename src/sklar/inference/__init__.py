"""Post-processing of a fitted model: what its releases, whose noise is known, tell about its errors.

No row is read here, and nothing is charged: releases, the model and public facts are all there is. Start with `fitted`,
what is known of a fit. Checks of a model against its releases: `released_tables` finds out what each counts, by
running the method once more on its releases; `residuals` compares them with the model; `fission` splits their noise in
two, fits on one half and scores on the other; `held_out` scores by tables that were never used; `errors_of_tables` are
what follows, with intervals; `widths` of intervals for plain questions need the noise alone.
"""
