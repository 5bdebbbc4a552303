"""Verify a model file, a bundle or a page from published files alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sklar.errors import UsageError
from sklar.pipeline.bundle.archive import is_bundle
from sklar.pipeline.verify.findings import Verified
from sklar.pipeline.verify.models import verify_model

Place = str | PathLike[str]


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
    return verify_model(file, ledger, rows, seed, given=given)
