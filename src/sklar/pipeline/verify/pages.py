"""Verify a page: its program is the reader of this version, its signature, its model, and that it shows that model."""

from __future__ import annotations

import json
import os
import re
import tempfile
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.errors import SklarError
from sklar.page.document import assemble_page
from sklar.page.embedded import has_block, read_block, read_facts
from sklar.page.program import join_program
from sklar.pipeline.bundle.keys import read_public_key
from sklar.pipeline.model_file import Stored, read_model
from sklar.pipeline.release_page.gather import gather_facts
from sklar.pipeline.verify.checks import versions_hint
from sklar.pipeline.verify.findings import Check, Verified
from sklar.pipeline.verify.models import verify_model
from sklar.pipeline.verify.signatures import check_signature

Place = str | PathLike[str]
POLICY = re.compile(rb'http-equiv="Content-Security-Policy" content="([^"]*)"')
UNREADABLE = (SklarError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, OSError, zlib.error)
"""What reading a damaged page may raise."""


def verify_page(
    file: Place, ledger: Place | None, rows: Place | None, seed: int | None, key: Place | None,
    *, given: Mapping[str, Any] | None,
) -> Verified:  # fmt: skip
    """Return all checks of a page; see `verify`. A ledger that is given counts instead of the extract in the page."""
    expected = None if key is None else read_public_key(key)
    try:
        page = Path(file).read_bytes()
    except OSError as error:
        says = f"It cannot be read: {error.strerror}."
        return Verified(file=os.fspath(file), checks=(Check(part="file", ok=False, says=says),))
    checks = [_check_reader(page)]
    if checks[0].ok is False:
        return Verified(file=os.fspath(file), checks=tuple(checks))
    signed = read_block(page, "signature") if has_block(page, "signature") else None
    checks.append(check_signature("signature", signed, read_block(page, "manifest"), expected))
    with tempfile.TemporaryDirectory() as folder:
        model, extract = Path(folder) / "model.sklar", Path(folder) / "extract.ledger"
        model.write_bytes(read_block(page, "model"))
        if ledger is None and has_block(page, "ledger"):
            extract.write_bytes(read_block(page, "ledger"))
            ledger = extract
        inside = verify_model(model, ledger, rows, seed, given=given)
        checks += inside.checks
        checks.append(_check_facts(page, model))
    return Verified(file=os.fspath(file), checks=tuple(checks))


def _check_reader(page: bytes) -> Check:
    """Check that program, style, policy and hashes are those that this version writes around the same data."""
    try:
        title = json.loads(read_block(page, "manifest"))["title"]
        signed = read_block(page, "signature") if has_block(page, "signature") else None
        ledger = read_block(page, "ledger") if has_block(page, "ledger") else None
        made = assemble_page(
            title, read_block(page, "facts"), read_block(page, "model"), ledger=ledger,
            sign=None if signed is None else lambda manifest: signed,
        )  # fmt: skip
    except UNREADABLE:
        return Check(part="page", ok=False, says="It is not a page of `sklar page`, or it is damaged.")
    if page == made:
        says = "Its program, style, policy and hashes are those of this version, byte for byte."
        return Check(part="page", ok=True, says=says)
    if join_program().encode() not in page:
        says = "Its program is not the reader of this version: it was changed, or made by another version."
    elif POLICY.findall(page) != POLICY.findall(made):
        says = "Its policy is not the one that allows this program and this style alone."
    else:
        says = "Its document, style or hashes are not those of its content."
    return Check(part="page", ok=False, says=says)


def _check_facts(page: bytes, model: Path) -> Check:
    """Check that the page shows what is computed from its model."""
    try:
        shown = read_facts(page)
        stored: Stored = read_model(model)
        made = gather_facts(stored, title=shown["title"], questions=shown["questions"])
    except UNREADABLE:
        return Check(part="shown", ok=False, says="What it shows cannot be computed from its model.")
    if json.loads(json.dumps(made)) == shown:
        return Check(part="shown", ok=True, says="What it shows was computed from its model again, and is the same.")
    wrong = ", ".join(name for name, value in json.loads(json.dumps(made)).items() if shown.get(name) != value)
    says = f"What it shows is not what its model gives ({wrong}).{versions_hint(stored)}"
    return Check(part="shown", ok=False, says=says)
