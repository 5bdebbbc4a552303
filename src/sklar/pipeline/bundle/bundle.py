"""Bundle a release: everything that is published about a model, in one file that anyone can check."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.accounting.ledger import read_ledger
from sklar.accounting.ledger.records import GENESIS, seal
from sklar.errors import LedgerError, OutputError, UsageError
from sklar.export.atomic import atomic_file, require_writable
from sklar.export.write import write_table
from sklar.model.linked import LinkedModel
from sklar.pipeline.bundle.archive import MANIFEST, SIGNATURE, Content, archive_pieces, checksum_of, manifest_of
from sklar.pipeline.bundle.documents import as_json, croissant, documents, registry_record, synthetic_tables
from sklar.pipeline.bundle.keys import signature
from sklar.pipeline.model import Model
from sklar.pipeline.model_file import Stored, write_model
from sklar.pipeline.sampling.write import SampleRequest, sample_to_file, tells_two_tables
from sklar.release.measurements import line_digest, record_line

MODEL = "model.sklar"
LEDGER = "ledger.jsonl"
REPORT = "report.html"
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
    name: str | None = None,
) -> Path:
    """Write a release: model, synthetic rows, claim, dictionary, metadata, ledger extract, manifest; signed if asked.

    The same model, rows and seed give the same bytes.

    Args:
        model: A fitted model, or its file.
        path: The bundle to write, as "people.release.zip".
        rows: Rows to draw, of two tables persons; by default as many as there were, by a noisy count.
        seed: Seed of the rows. It is published, so that anyone can draw them again.
        ledger: The ledger the fit was charged to; its lines up to the end of the fit go along.
        sign: A private key of `sklar key`.
        report: The page that `model.report` wrote, to go along. It must be the one that this model gives.
        name: What the release is called; by default after the file.

    Returns:
        The path of the bundle.
    """
    place = Path(path)
    if place.suffix.lower() != ".zip":
        raise UsageError(f"a bundle is a zip file: let its name end in .zip, not as in {place.name}")
    require_writable(place)
    fitted = model if isinstance(model, Model) else _load(model)
    stored = stored_of(fitted)
    title = name or place.name.removesuffix(".zip").removesuffix(".release") or "release"
    count = _usual_rows(fitted) if rows is None else rows
    page = {} if report is None else {REPORT: _public_page(report, fitted)}
    lines = None if ledger is None else extract(ledger, stored)
    with tempfile.TemporaryDirectory() as folder:
        members = {**members_of(stored, title, count, seed, Path(folder), lines), **page}
        manifest = manifest_of(members, release_facts(stored, {"name": title, "rows": count, "seed": seed}))
        signed = {} if sign is None else {SIGNATURE: signature(manifest, sign)}
        with atomic_file(place) as file:
            file.writelines(archive_pieces({MANIFEST: manifest, **signed, **members}))
    return place


def _usual_rows(model: Model) -> int:
    """As many rows as the table had, by its noisy count; of two tables, persons."""
    fitted = stored_of(model).model
    return (
        fitted.persons_estimate if isinstance(fitted, LinkedModel) and tells_two_tables(model) else model.rows_estimate
    )


def release_facts(stored: Stored, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest tells beside the list of members."""
    told = {"sklar": stored.claim.version, "guarantee": stored.claim.label}
    return {"name": drawn["name"], "rows": drawn["rows"], "seed": drawn["seed"], **told}


def members_of(
    stored: Stored, name: str, rows: int, seed: int, folder: Path, ledger: Content | None = None
) -> dict[str, Content]:
    """All members but manifest, signature and report; they follow from these arguments.

    The model and the rows are written to the folder.
    """
    write_model(stored, folder / MODEL)
    tables: dict[str, Content] = {file: folder / file for file in _write_rows(stored, folder, rows, seed)}
    return {
        **documents(stored),
        "croissant.json": as_json(croissant(stored, name, {file: checksum_of(one) for file, one in tables.items()})),
        "registry.json": as_json(registry_record(stored, name, rows)),
        MODEL: folder / MODEL,
        **tables,
        **({} if ledger is None else {LEDGER: ledger}),
    }


def _write_rows(stored: Stored, folder: Path, rows: int, seed: int) -> list[str]:
    """The files of synthetic rows; of two tables, those of so many persons."""
    model, tables = Model(stored), synthetic_tables(stored.schema)
    if tells_two_tables(model):
        drawn = model.sample_persons(rows, seed=seed)
        for table in tables:
            for file in table.files.values():
                write_table(drawn[table.name], folder / file, table.schema)
    else:
        for file in tables[0].files.values():
            sample_to_file(model, folder / file, SampleRequest(rows=rows, seed=seed))
    return [file for table in tables for file in table.files.values()]


def extract(ledger: Place, stored: Stored) -> bytes:
    """The lines of a ledger up to the last one of the fit that made this model; a chain of their own."""
    view = read_ledger(ledger)
    digests = {step.step: line_digest(record_line(step)) for step in stored.recorded}
    fit = next((fit.id for fit in view.fits if digests and fit.digests == digests), None)
    if fit is None:
        raise LedgerError(f"no fit of the ledger {view.path} recorded the releases of this model: it is another one's")
    last = max(place for place, entry in enumerate(view.entries) if entry.get("fit") == fit)
    lines, previous = [], GENESIS
    for entry in view.entries[: last + 1]:
        line, previous = seal(entry, previous)
        lines.append(line)
    return b"".join(lines)


def stored_of(model: Model) -> Stored:
    """All that the model's file holds."""
    return model._stored  # pyright: ignore[reportPrivateUsage]


def _load(model: Place) -> Model:
    from sklar.pipeline.model import load

    return load(model)


def _public_page(path: Place, model: Model) -> bytes:
    if os.fspath(path).endswith(".custodian.html"):
        raise UsageError("a report for the custodian is computed from real rows and cannot go into a release")
    try:
        page = Path(path).read_bytes()
    except OSError as error:
        raise OutputError(f"cannot read the report {os.fspath(path)}: {error.strerror}") from None
    if page != model.report().page().encode():
        raise UsageError(
            f"{os.fspath(path)} is not the report that may be published of this model: make it with model.report() "
            "(`sklar report MODEL`), by the version that makes the bundle"
        )
    return page
