"""A model against its own releases: which tables it contradicts, how far off it is, and how wide intervals are.

`tables` finds out what each released table counts, by running the method once more on its own releases; `residuals`
compares them with the model; `fission` splits their noise into two, fits on one half and scores on the other; `widths`
needs the noise alone.
"""
