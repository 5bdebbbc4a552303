"""Verify a model file, a bundle or a page: recompute its price, fit it again, find it in its ledger, redraw its rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sklar.errors import ModelFileError, UsageError
from sklar.pipeline.bundle.archive import is_bundle
from sklar.pipeline.model_file import read_model
from sklar.pipeline.verify.checks import check_ledger, check_members, check_releases, check_rows
from sklar.pipeline.verify.findings import Check, Verified

Place = str | PathLike[str]
NO_LEDGER = (
    "No ledger was given (--ledger): only a ledger shows other fits, and whether the file omits how the rows were read "
    "or changes who vouches for facts."
)
"""What a model file alone cannot show, since it can be rewritten in all places at once."""


def verify(
    file: Place,
    ledger: Place | None = None,
    rows: Place | None = None,
    seed: int | None = None,
    key: Place | None = None,
    *,
    given: Mapping[str, Any] | None = None,
) -> Verified:
    """Verify a published model, bundle or page from published files alone.

    Args:
        file: A model file, a bundle of `sklar bundle`, or a page of `sklar page`.
        ledger: The ledger it was charged to; a bundle contains an extract of its own.
        rows: Rows that were drawn from the model, as `sample` wrote them.
        seed: The seed they were drawn with.
        key: The custodian's public key: the bundle must be signed by it.
        given: The conditions that the rows were drawn under.

    Returns:
        The result: `.ok`, `.checks`, `.verdict`.
    """
    if (rows is None) != (seed is None):
        raise UsageError("rows are checked by drawing them again: give both the rows and the seed (--rows, --seed)")
    if is_bundle(file):
        from sklar.pipeline.verify.bundles import verify_bundle

        return verify_bundle(file, ledger, rows, seed, key, given=given)
    if os.fspath(file).lower().endswith(".html"):
        from sklar.pipeline.verify.pages import verify_page

        return verify_page(file, ledger, rows, seed, key, given=given)
    if key is not None:
        raise UsageError(
            "a model file has no signature: a bundle and a page have one (`sklar bundle MODEL --sign KEY`)"
        )
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
