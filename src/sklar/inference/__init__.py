"""Post-processing of a fitted model: what its releases, whose noise is known, tell about its errors.

No row is read here, nothing is charged, and neither rows nor the wall can be imported: releases, the model and public
facts are all there is. Start with `fitted`, what is known of a fit. Checks of a model against its releases:
`released_tables` finds out what each counts, by running the method once more on its releases; `residuals` compares them
with the model; `fission` splits their noise in two, fits on one half and scores on the other; `widths` of intervals
need the noise alone. Numbers with error bars: `questions` may be asked, `statistics` answer them on a table,
`influence` says how much each row matters; `estimates` makes intervals of what `replicas` say, fitted through
`simulated`, a Door over made-up rows whose answers `sums` computes, and of what releases set right (`one_step` from
what was `heard`); `combine` has the rule for implicates.
"""
