"""Verify a model file: recompute its price, fit it again, find it in its ledger, draw its rows again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sklar.errors import ModelFileError
from sklar.pipeline.model_file import read_model
from sklar.pipeline.verify.checks import check_ledger, check_members, check_releases, check_rows
from sklar.pipeline.verify.findings import Check, Verified

Place = str | PathLike[str]
NO_LEDGER = (
    "No ledger was given (--ledger): only a ledger shows other fits, and whether the file omits how the rows were read "
    "or changes who vouches for facts."
)
"""What a model file alone cannot show, since it can be rewritten in all places at once."""


def verify_model(
    file: Place, ledger: Place | None, rows: Place | None, seed: int | None, *, given: Mapping[str, Any] | None
) -> Verified:
    """Return all checks of a model file; see `verify`."""
    name = os.fspath(file)
    try:
        stored = read_model(file)
    except ModelFileError as error:
        return Verified(file=name, checks=(Check(part="file", ok=False, says=f"{error}."),))
    checks = [check_members(stored, file)]
    found, again = check_releases(stored)
    checks += found
    if ledger is not None:
        checks.append(check_ledger(stored, ledger, again))
    else:
        checks.append(Check(part="ledger", ok=None, says=NO_LEDGER))
    if rows is not None and seed is not None:
        checks.append(check_rows(stored, rows, seed, given))
    else:
        checks.append(Check(part="rows", ok=None, says="No rows were given (--rows, --seed)."))
    return Verified(file=name, checks=tuple(checks))
