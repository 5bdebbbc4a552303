"""Post-processing of a fitted model: what its measurements, whose noise is known, show about its errors.

No row is read here, and nothing is charged: measurements, the model and public facts are all there is; neither rows nor
the privacy boundary can be imported. Start with `fitted`, a fit as post-processing sees it, and `tables`, its measured
tables; `errors_of_tables` is what noisy tables show about a model that did not know their noise, and `checks` are made
of these. Numbers with error bars: `estimates` makes intervals of the `answers` of a model, which measurements correct:
`one_step`, from `linear_measurements` of `columns` and of several together; or of its `replicas`: made-up
rows that are measured again through the `simulated` Door. `combine` has the rule for implicates.
"""
