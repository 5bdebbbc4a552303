"""Post-processing of a model: error bars, implicates, and checks of a model against its own releases.

All here follows from a published model and the known law of its noise, so it costs no privacy; neither rows nor the
wall can be reached. Start with `estimates`, intervals from what replicas say; `replicas` draws rows from a model and
fits them again through `simulated`, a Door over made-up rows, whose answers `sums` computes. `questions` are what may
be asked, `statistics` their answers on a table, `combine` the rule for analyses of implicates made elsewhere.
"""
