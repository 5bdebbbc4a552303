"""Verify a bundle: its bytes, its signature, its model and ledger, and that every part can be recomputed."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.errors import ModelFileError, SklarError
from sklar.pipeline.bundle.archive import (
    MANIFEST,
    SIGNATURE,
    Archive,
    BundleError,
    checksum_of,
    manifest_of,
    read_archive,
)
from sklar.pipeline.bundle.bundle import (
    LEDGER,
    MODEL,
    PAGE,
    REPORT,
    interactive_page,
    members_of,
    release_facts,
)
from sklar.pipeline.bundle.documents import SyntheticTable, synthetic_tables
from sklar.pipeline.bundle.keys import read_public_key
from sklar.pipeline.model_file import Stored, read_model
from sklar.pipeline.public_report.report import public_report
from sklar.pipeline.verify.checks import check_ledger, check_members, check_releases, check_rows, versions_hint
from sklar.pipeline.verify.findings import Check, Verified
from sklar.pipeline.verify.signatures import check_signature

Place = str | PathLike[str]
MAX_SIZE_RATIO = 10
"""Maximum ratio of the sizes of the same table written by two versions of pyarrow."""
BATCH_ROWS = 65_536
"""Number of rows of two tables that are compared at a time."""


def verify_bundle(
    file: Place, ledger: Place | None, rows: Place | None, seed: int | None, key: Place | None,
    *, given: Mapping[str, Any] | None,
) -> Verified:  # fmt: skip
    """Return all checks of a bundle; see `verify`."""
    name = os.fspath(file)
    expected = None if key is None else read_public_key(key)
    try:
        archive = read_archive(file)
    except BundleError as error:
        says = str(error)[:1].upper() + str(error)[1:]
        return Verified(file=name, checks=(Check(part=error.part, ok=False, says=f"{says}."),))
    found = f"Each of its {len(archive.members)} members is as the manifest lists it."
    signed = archive.read(SIGNATURE) if SIGNATURE in archive.members else None
    checks = [
        Check(part="archive", ok=True, says=found),
        check_signature(SIGNATURE, signed, archive.read(MANIFEST), expected),
    ]
    if checks[-1].ok is False:
        return Verified(file=name, checks=tuple(checks))
    with tempfile.TemporaryDirectory() as folder:
        here = {
            member: archive.extract(member, Path(folder)) for member in (MODEL, LEDGER) if member in archive.members
        }
        try:
            stored = read_model(here[MODEL]) if MODEL in here else None
        except (ModelFileError, SklarError):
            stored = None
        if stored is None:
            checks.append(Check(part=MODEL, ok=False, says="It is not a model file that this Sklar can read."))
            return Verified(file=name, checks=tuple(checks))
        priced, again = check_releases(stored)
        checks += priced
        kept = ledger if ledger is not None else here.get(LEDGER)
        if kept is not None:
            checks.append(check_ledger(stored, kept, again))
        else:
            checks.append(Check(part="ledger", ok=None, says="It contains no ledger, and none was given (--ledger)."))
        checks.append(check_members(stored, here[MODEL]))
        checks += _parts(stored, archive, Path(folder), here.get(LEDGER))
        checks += [_report(stored, archive)] if REPORT in archive.members else []
        checks += [_page(stored, archive, Path(folder))] if PAGE in archive.members else []
    if rows is not None and seed is not None:
        checks.append(check_rows(stored, rows, seed, given))
    return Verified(file=name, checks=tuple(checks))


def _report(stored: Stored, archive: Archive) -> Check:
    """Check that the report is the page computed from the model: another page could contain, or run, anything."""
    try:
        page = public_report(stored).page().encode()
    except (SklarError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return Check(part=REPORT, ok=False, says="This model has no report, so this is not one.")
    if checksum_of(page) == archive.members[REPORT].checksum:
        return Check(part=REPORT, ok=True, says="Recomputed from the model it is the same, byte for byte.")
    says = f"It is not the page that `sklar report` makes of this model.{versions_hint(stored)}"
    return Check(part=REPORT, ok=False, says=says)


def _page(stored: Stored, archive: Archive, folder: Path) -> Check:
    """Check that the interactive page is made of this model and this ledger: another one could run anything."""
    lines = archive.read(LEDGER) if LEDGER in archive.members else None
    try:
        page = interactive_page(stored, archive.manifest["name"], lines, folder)
    except (SklarError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return Check(part=PAGE, ok=False, says="This model has no page, so this is not one.")
    if checksum_of(page) == archive.members[PAGE].checksum:
        return Check(part=PAGE, ok=True, says="Made again from the model it is the same, byte for byte.")
    return Check(
        part=PAGE, ok=False, says=f"It is not the page that `sklar page` makes of this model.{versions_hint(stored)}"
    )


def _parts(stored: Stored, archive: Archive, folder: Path, ledger: Path | None) -> list[Check]:
    """Check that rows and documents are those of this model, by computing them again."""
    tables, manifest, found = synthetic_tables(stored.schema), archive.manifest, archive.listed
    made_in = folder / "made"
    made_in.mkdir()
    try:
        _require_drawable(archive, tables[0])
        made = members_of(stored, manifest["name"], manifest["rows"], manifest["seed"], made_in, ledger)
    except (SklarError, ArithmeticError, KeyError, TypeError, ValueError):
        return [Check(part=MANIFEST, ok=False, says="It does not state how the rows were drawn.")]
    if manifest_of(found, release_facts(stored, manifest)) != archive.read(MANIFEST):
        return [Check(part=MANIFEST, ok=False, says="Its content is not that of this release.")]
    strange = sorted((set(found) - {REPORT, PAGE}) ^ set(made))
    if strange:
        return [Check(part=strange[0], ok=False, says="A bundle of this model does not have it, or it is missing.")]
    wrong = {name for name, content in made.items() if name != MODEL and checksum_of(content) != found[name]}
    for packed in (table.files[".parquet"] for table in tables):
        if packed in wrong and _same_table(made_in / packed, archive.extract(packed, folder)):
            wrong.discard(packed)
    of_rows = {file for table in tables for file in table.files.values()}
    drawn, rest = sorted(wrong & of_rows), sorted(wrong - of_rows)
    what = "rows" if len(tables) == 1 else "persons"
    rows = f"All {manifest['rows']:,} {what} are those that seed {manifest['seed']} draws."
    same = "They agree with the model."
    return [
        Check(part="rows", ok=not drawn, says=f"{', '.join(drawn)}: not what the model draws." if drawn else rows),
        Check(part="documents", ok=not rest, says=f"{', '.join(rest)}: not those of the model." if rest else same),
    ]


def _require_drawable(archive: Archive, table: SyntheticTable) -> None:
    """Refuse to draw more rows than the bundle can contain: each takes a line of text, with a byte per column."""
    rows, seed, name = (archive.manifest[key] for key in ("rows", "seed", "name"))
    if type(rows) is not int or type(seed) is not int or type(name) is not str or rows < 0:
        raise ValueError("the manifest does not state how these rows were drawn")
    text = table.files[".csv"]
    lines = sum(piece.count(b"\n") for piece in archive.pieces(text)) if text in archive.members else 0
    if rows > lines or rows * len(table.schema.modelled) > archive.members[text].checksum.size:
        raise ValueError("the bundle contains fewer rows than its manifest states")


def _same_table(made: Path, found: Path) -> bool:
    """Compare two files batch by batch, since another version of pyarrow writes other bytes for the same table."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(made) as one, pyarrow.parquet.ParquetFile(found) as other:
            (rows, size), (rows_found, size_found) = _unpacked(one.metadata), _unpacked(other.metadata)
            if rows != rows_found or size_found > MAX_SIZE_RATIO * size:
                return False
            if not one.schema_arrow.equals(other.schema_arrow, check_metadata=True):
                return False
            batches = itertools.zip_longest(one.iter_batches(BATCH_ROWS), other.iter_batches(BATCH_ROWS))
            return all(a is not None and b is not None and a.equals(b) for a, b in batches)
    except (OSError, pa.ArrowException):
        return False


def _unpacked(metadata: Any) -> tuple[int, int]:
    """Return the number of rows and their uncompressed size."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    return metadata.num_rows, sum(group.total_byte_size for group in groups)
