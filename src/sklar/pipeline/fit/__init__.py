"""Fit a private model: check the request, open the books, pay for facts, reserve, run the method, claim.

This room alone may open the wall; methods without a guarantee are handed to the laboratory. Start with `run`; `request`
is everything one can ask of a fit, `paid` and `pay` buy facts first, `claim` says what is promised.
"""

from sklar.pipeline.fit.request import FitRequest
from sklar.pipeline.fit.run import fit, fitting

__all__ = ["FitRequest", "fit", "fitting"]
