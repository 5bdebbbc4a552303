"""Verifies a bundle: its bytes, its signature, its model and ledger, and that every part follows from the model."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.errors import MissingExtraError, ModelFileError, SklarError
from sklar.pipeline.bundle.archive import MANIFEST, SIGNATURE, BundleError, manifest_of, read_archive
from sklar.pipeline.bundle.bundle import LEDGER, MODEL, REPORT, release_facts, remade
from sklar.pipeline.bundle.documents import synthetic_tables
from sklar.pipeline.bundle.keys import fingerprint, read_public_key, signed_by
from sklar.pipeline.model_file import Stored, model_digest, read_model
from sklar.pipeline.verify.checks import check_ledger, check_members, check_releases, check_rows
from sklar.pipeline.verify.findings import Check, Verified
from sklar.report.page import NOTICE

Place = str | PathLike[str]
MOST_UNPACKED = 10
"""So many times the bytes of the same table another version of pyarrow may need for it."""


def verify_bundle(
    file: Place, ledger: Place | None, rows: Place | None, seed: int | None, key: Place | None,
    *, given: Mapping[str, Any] | None,
) -> Verified:  # fmt: skip
    """All checks of a bundle; see `verify`."""
    name = os.fspath(file)
    expected = None if key is None else read_public_key(key)
    try:
        members, manifest = read_archive(file)
    except BundleError as error:
        return Verified(file=name, checks=(Check(part=error.part, ok=False, says=f"{_sentence(error)}."),))
    checks = [Check(part="archive", ok=True, says=f"Each of its {len(members)} members is as the manifest lists it.")]
    checks.append(_signature(members, expected))
    if checks[-1].ok is False:
        return Verified(file=name, checks=tuple(checks))
    with tempfile.TemporaryDirectory() as folder:
        for member in (MODEL, LEDGER):
            if member in members:
                (Path(folder) / member).write_bytes(members[member])
        try:
            stored = read_model(Path(folder) / MODEL)
        except (ModelFileError, SklarError):
            checks.append(Check(part=MODEL, ok=False, says="It is not a model file that this Sklar can read."))
            return Verified(file=name, checks=tuple(checks))
        found, again = check_releases(stored)
        checks += found
        kept = ledger if ledger is not None else Path(folder) / LEDGER if LEDGER in members else None
        if kept is not None:
            checks.append(check_ledger(stored, kept, again))
        else:
            checks.append(Check(part="ledger", ok=None, says="It brings no ledger, and none was given (--ledger)."))
        checks.append(check_members(stored, Path(folder) / MODEL))
        checks += _parts(stored, manifest, members)
        if NOTICE.encode() in members.get(REPORT, b""):
            checks.append(Check(part=REPORT, ok=False, says="It is a page for the custodian alone."))
        elif REPORT in members and model_digest(stored)[:16].encode() not in members[REPORT]:
            checks.append(Check(part=REPORT, ok=False, says="It is not the report of this model."))
        elif REPORT in members:
            says = "It names this model; `sklar report` makes it again from the model, to compare."
            checks.append(Check(part=REPORT, ok=None, says=says))
    if rows is not None and seed is not None:
        checks.append(check_rows(stored, rows, seed, given))
    return Verified(file=name, checks=tuple(checks))


def _sentence(error: BundleError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]


def _signature(members: Mapping[str, bytes], expected: Any) -> Check:
    if SIGNATURE not in members:
        if expected is not None:
            return Check(part=SIGNATURE, ok=False, says="It is not signed, and a key was given.")
        return Check(part=SIGNATURE, ok=None, says="It is not signed: anyone may have made it.")
    try:
        signer = signed_by(members[SIGNATURE], members[MANIFEST])
    except MissingExtraError as error:
        return Check(part=SIGNATURE, ok=None, says=f"It is signed. {error}.")
    if signer is None:
        return Check(part=SIGNATURE, ok=False, says="The signature is not one of this manifest.")
    if expected is None:
        says = f"Signed by the key {fingerprint(signer)}; whose it is only the custodian's public key tells (--key)."
        return Check(part=SIGNATURE, ok=None, says=says)
    if signer.public_bytes_raw() != expected.public_bytes_raw():
        says = f"Signed by another key ({fingerprint(signer)}) than the one given ({fingerprint(expected)})."
        return Check(part=SIGNATURE, ok=False, says=says)
    return Check(part=SIGNATURE, ok=True, says=f"Signed by the key given ({fingerprint(signer)}).")


def _parts(stored: Stored, manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> list[Check]:
    """Whether rows and documents are those of this model: made again from it, they must come out the same."""
    tables = synthetic_tables(stored.schema)
    try:
        _require_drawable(manifest, members.get(tables[0].files[".csv"], b""))
        made = remade(stored, manifest, members.get(LEDGER))
    except (SklarError, ArithmeticError, KeyError, TypeError, ValueError):
        return [Check(part=MANIFEST, ok=False, says="It does not tell how the rows were drawn.")]
    if manifest_of(_listed(members), release_facts(stored, manifest)) != members[MANIFEST]:
        return [Check(part=MANIFEST, ok=False, says="It says more, or other things, than the release does.")]
    own = set(members) - {MANIFEST, SIGNATURE, REPORT}
    strange = sorted((own - set(made)) | (set(made) - own))
    if strange:
        return [Check(part=strange[0], ok=False, says="A bundle of this model does not have it, or it is missing.")]
    for packed in (table.files[".parquet"] for table in tables):
        made[packed] = _unless_same_table(made[packed], members[packed])
    wrong = {name for name, content in made.items() if name != MODEL and content != members[name]}
    of_rows = {file for table in tables for file in table.files.values()}
    drawn, rest = sorted(wrong & of_rows), sorted(wrong - of_rows)
    what = "rows" if len(tables) == 1 else "persons"
    rows = f"All {manifest['rows']:,} {what} are those that seed {manifest['seed']} draws."
    told = "They say what the model says."
    return [
        Check(part="rows", ok=not drawn, says=f"{', '.join(drawn)}: not what the model draws." if drawn else rows),
        Check(part="documents", ok=not rest, says=f"{', '.join(rest)}: not what the model says." if rest else told),
    ]


def _require_drawable(manifest: Mapping[str, Any], text: bytes) -> None:
    """Refuse to draw more rows than the bundle can hold: each takes a line of its text."""
    rows, seed, name = manifest["rows"], manifest["seed"], manifest["name"]
    if type(rows) is not int or type(seed) is not int or type(name) is not str or not 0 <= rows <= text.count(b"\n"):
        raise ValueError("the manifest does not tell how these rows were drawn")


def _listed(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in members.items() if name not in (MANIFEST, SIGNATURE)}


def _unless_same_table(made: bytes, found: bytes) -> bytes:
    """What was found if it holds the same table as what was made: another version of pyarrow writes other bytes."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        sizes = [_unpacked(pyarrow.parquet.read_metadata(pa.BufferReader(content))) for content in (made, found)]
        if sizes[0][0] != sizes[1][0] or sizes[1][1] > MOST_UNPACKED * sizes[0][1]:
            return made
        tables = [pyarrow.parquet.read_table(pa.BufferReader(content)) for content in (made, found)]
    except (OSError, pa.ArrowException):
        return made
    return found if tables[0].equals(tables[1], check_metadata=True) else made


def _unpacked(metadata: Any) -> tuple[int, int]:
    """Rows, and bytes they take before they are read."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    return metadata.num_rows, sum(group.total_byte_size for group in groups)
