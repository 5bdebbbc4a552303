"""Post-processing of a fitted model: what its releases, whose noise is known, tell about its errors.

No row is read here, and nothing is charged: releases, the model and public facts are all there is. Start with `fitted`,
what is known of a fit; `released_tables` finds out what each release counts, by running the method once more on its
releases; `errors_of_tables` are what noisy tables tell about a model that did not know their noise; `checks` are made
of these.
"""
