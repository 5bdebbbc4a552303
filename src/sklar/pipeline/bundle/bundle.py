"""Bundle a release: everything that is published about a model, in one file that anyone can check."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.errors import OutputError, UsageError
from sklar.export.atomic import atomic_file, require_writable
from sklar.export.write import write_table
from sklar.model.linked import LinkedModel
from sklar.pipeline.bundle.archive import MANIFEST, SIGNATURE, Content, archive_pieces, checksum_of, manifest_of
from sklar.pipeline.bundle.documents import as_json, make_croissant, make_documents, registry_record, synthetic_tables
from sklar.pipeline.bundle.extract import extract_ledger
from sklar.pipeline.bundle.keys import make_signature
from sklar.pipeline.model import Model, load
from sklar.pipeline.model_file import Stored, write_model
from sklar.pipeline.release_page.gather import make_page
from sklar.pipeline.sampling.write import SampleRequest, has_two_tables, sample_to_file

MODEL = "model.sklar"
LEDGER = "ledger.jsonl"
REPORT = "report.html"
PAGE = "page.html"
Place = str | PathLike[str]


def bundle(
    model: Model | Place,
    path: Place,
    *,
    rows: int | None = None,
    seed: int = 0,
    ledger: Place | None = None,
    sign: Place | None = None,
    report: Place | None = None,
    page: bool = False,
    name: str | None = None,
) -> Path:
    """Write a release: model, synthetic rows, claim, dictionary, metadata, ledger extract, manifest and signature.

    The same model, rows and seed give the same bytes.

    Args:
        model: A fitted model, or its file.
        path: The bundle to write, as "people.release.zip".
        rows: Number of rows to draw (persons if there are two tables); by default the noisy count of the table.
        seed: Seed of the rows. It is published, so that anyone can draw them again.
        ledger: The ledger the fit was charged to; its lines up to the end of the fit are included.
        sign: A private key of `sklar key`.
        report: The page that `model.report` wrote for this model, to be included.
        page: Whether to include the release as one interactive page, as `model.page` writes it; that takes a while.
        name: Name of the release; by default that of the file.

    Returns:
        The path of the bundle.
    """
    place = Path(path)
    if place.suffix.lower() != ".zip":
        raise UsageError(f"a bundle is a zip file: its name must end in .zip, got {place.name}")
    require_writable(place)
    fitted = model if isinstance(model, Model) else load(model)
    stored = stored_of(fitted)
    title = name or place.name.removesuffix(".zip").removesuffix(".release") or "release"
    count = _default_rows(fitted) if rows is None else rows
    pages: dict[str, Content] = {} if report is None else {REPORT: _read_public_page(report, fitted)}
    lines = None if ledger is None else extract_ledger(ledger, stored)
    with tempfile.TemporaryDirectory() as folder:
        if page:
            pages[PAGE] = interactive_page(stored, title, lines, Path(folder))
        members = {**members_of(stored, title, count, seed, Path(folder), lines), **pages}
        manifest = manifest_of(members, release_facts(stored, {"name": title, "rows": count, "seed": seed}))
        signed = {} if sign is None else {SIGNATURE: make_signature(manifest, sign)}
        with atomic_file(place) as file:
            file.writelines(archive_pieces({MANIFEST: manifest, **signed, **members}))
    return place


def interactive_page(stored: Stored, name: str, lines: bytes | None, folder: Path) -> bytes:
    """Return the release as one page, with these lines of the ledger: the same bytes for the same release."""
    extract = folder / "extract.jsonl"
    if lines is not None:
        extract.write_bytes(lines)
    return make_page(stored, title=name, ledger=None if lines is None else extract)


def _default_rows(model: Model) -> int:
    """Return the noisy number of rows of the table, or of persons if there are two tables."""
    fitted = stored_of(model).model
    if isinstance(fitted, LinkedModel) and has_two_tables(model):
        return fitted.persons_estimate
    return model.rows_estimate


def release_facts(stored: Stored, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a manifest contains apart from the list of members."""
    facts = {name: drawn[name] for name in ("name", "rows", "seed")}
    return {**facts, "sklar": stored.claim.version, "guarantee": stored.claim.label}


def members_of(
    stored: Stored, name: str, rows: int, seed: int, folder: Path, ledger: Content | None = None
) -> dict[str, Content]:
    """Return all members except manifest, signature and report; model and rows are written to the folder."""
    write_model(stored, folder / MODEL)
    tables: dict[str, Content] = {file: folder / file for file in _write_rows(stored, folder, rows, seed)}
    return {
        **make_documents(stored),
        "croissant.json": as_json(
            make_croissant(stored, name, {file: checksum_of(one) for file, one in tables.items()})
        ),
        "registry.json": as_json(registry_record(stored, name, rows)),
        MODEL: folder / MODEL,
        **tables,
        **({} if ledger is None else {LEDGER: ledger}),
    }


def _write_rows(stored: Stored, folder: Path, rows: int, seed: int) -> list[str]:
    """Write the files of synthetic rows and return their names; of two tables, for this number of persons."""
    model, tables = Model(stored), synthetic_tables(stored.schema)
    if has_two_tables(model):
        drawn = model.sample_persons(rows, seed=seed)
        for table in tables:
            for file in table.files.values():
                write_table(drawn[table.name], folder / file, table.schema)
    else:
        for file in tables[0].files.values():
            sample_to_file(model, folder / file, SampleRequest(rows=rows, seed=seed))
    return [file for table in tables for file in table.files.values()]


def stored_of(model: Model) -> Stored:
    """Return the content of the model's file."""
    return model._stored  # pyright: ignore[reportPrivateUsage]


def _read_public_page(path: Place, model: Model) -> bytes:
    if os.fspath(path).endswith(".custodian.html"):
        raise UsageError("a report for the custodian is computed from real rows and cannot be part of a release")
    try:
        page = Path(path).read_bytes()
    except OSError as error:
        raise OutputError(f"cannot read the report {os.fspath(path)}: {error.strerror}") from None
    if page != model.report().page().encode():
        raise UsageError(
            f"{os.fspath(path)} is not the public report of this model: write it with model.report() "
            "(`sklar report MODEL`) and the version of Sklar that writes the bundle"
        )
    return page
