"""Post-processing of a fitted model: what its releases, whose noise is known, tell about its errors.

No row is read here, and nothing is charged: releases, the model and public facts are all there is. `fitted` is what
these checks know of a fit; `checks` compares a model with its own releases.
"""
