"""Fit a private model: validate the request, open the ledger, pay for facts, reserve, run the method, make the claim.

Only this package may cross the privacy boundary; methods without a guarantee are handed to the lab. Start with `run`;
`request` has all arguments of a fit, `paid` and `pay` measure facts first, `claim` states the guarantee.
"""

from sklar.pipeline.fit.request import FitRequest
from sklar.pipeline.fit.run import fit, open_fit

__all__ = ["FitRequest", "fit", "open_fit"]
