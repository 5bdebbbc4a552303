"""Post-processing of a fitted model: what its releases, whose noise is known, tell about its errors.

No row is read here, and nothing is charged: releases, the model and public facts are all there is. Start with `fitted`,
what is known of a fit; `released_tables` finds out what each release counts, by running the method once more on its
releases; `errors_of_tables` are what noisy tables tell about a model that did not know their noise; `checks` are made
of these. Neither rows nor the wall can be imported. Numbers with error bars: `estimates` makes intervals of the
`answers` of a model, which releases set right: `one_step`, from what was `heard` of `columns` and of several together;
or of its replicas, made by the same `mechanism` on made-up rows. `combine` has the rule for implicates.
"""
