"""Verify an entry: the table, the scores, the release, and whether the release's noise is what it states."""

from __future__ import annotations

import math
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.errors import ModelFileError, SklarError
from sklar.lab.entries.entry import EntryFile, read_entry, read_public, read_rows, rows_checksum
from sklar.lab.entries.noise import compare_with_exact
from sklar.lab.entries.scores import find_differences, score_rows
from sklar.lab.tables.table import ExactTable
from sklar.pipeline.bundle.archive import read_archive
from sklar.pipeline.bundle.bundle import MODEL
from sklar.pipeline.model import Model, load
from sklar.pipeline.verify.findings import Check, Verified
from sklar.pipeline.verify.verify import verify
from sklar.schema.table import Schema

NO_RELEASE = "The entry has no release: no one can see whether the rows were made with the stated privacy."
MAX_NAMED_FAULTS = 3


def verify_entry(path: str | PathLike[str], real: Any, test: Any = None) -> Verified:
    """Recompute everything that an entry states, from the public table.

    Args:
        path: The entry.
        real: The rows that were learned from: a file or a data frame.
        test: The rows to test on, if the entry has a target.
    """
    name = os.fspath(path)
    try:
        entry = read_entry(path)
        schema = _read_schema(entry.schema)
        table = read_public(real, schema)
        held = None if test is None else read_public(test, schema, "test")
        made = read_public(read_rows(entry.rows), schema, "synthetic")
    except SklarError as error:
        return Verified(file=name, checks=(Check(part="file", ok=False, says=f"{error}"),))
    checks = [_check_table(entry, table, held)]
    if checks[0].ok is False:  # nothing can be compared with another table
        return Verified(file=name, checks=tuple(checks))
    checks.append(_check_scores(entry, table, made, held))
    checks += _check_release(entry, real, made, schema)
    return Verified(file=name, checks=tuple(checks))


def _read_schema(text: str) -> Schema:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "schema.toml"
        place.write_text(text, encoding="utf-8")
        return Schema.read(place)


def _check_table(entry: EntryFile, table: ExactTable, held: ExactTable | None) -> Check:
    facts = entry.facts
    if rows_checksum(table) != facts.real_sha256:
        return Check(part="table", ok=False, says=f"The given rows are not those of '{facts.table}' that it names.")
    if facts.test_sha256 is not None and (held is None or rows_checksum(held) != facts.test_sha256):
        return Check(part="table", ok=False, says="The rows to test on are missing, or others than it names.")
    return Check(part="table", ok=True, says=f"The {table.rows:,} rows are those that it names.")


def _check_scores(entry: EntryFile, table: ExactTable, made: ExactTable, held: ExactTable | None) -> Check:
    facts = entry.facts
    found = score_rows(table, made, target=facts.target, test=held, area=facts.area)
    wrong = find_differences(facts.scores, found)
    if wrong:
        return Check(part="scores", ok=False, says="; ".join(wrong[:MAX_NAMED_FAULTS]) + ".")
    return Check(part="scores", ok=True, says=f"All {len(found)} scores are what the rows have.")


def _check_release(entry: EntryFile, real: Any, made: ExactTable, schema: Schema) -> list[Check]:
    if entry.release is None:
        return [Check(part=part, ok=None, says=NO_RELEASE) for part in ("release", "rows", "noise")]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run.release.zip"
        place.write_bytes(entry.release)
        found = verify(place)
        wrong = [f"{check.part}: {check.says}" for check in found.checks if check.ok is False]
        if wrong:
            return [Check(part="release", ok=False, says=" ".join(wrong))]
        try:
            model = load(read_archive(place).extract(MODEL, Path(folder)))
        except (ModelFileError, KeyError):
            return [Check(part="release", ok=False, says="It contains no model.")]
    checks = [_check_claim(entry, model, schema)]
    if checks[0].ok is False:
        return checks
    return [*checks, _check_rows(model, made), _check_noise(model, read_public(real, model.schema))]


def _check_claim(entry: EntryFile, model: Model, schema: Schema) -> Check:
    facts, claim = entry.facts, model.claim
    same = claim.guarantee and facts.epsilon is not None and claim.epsilon is not None
    if not same or not math.isclose(claim.epsilon, facts.epsilon, rel_tol=1e-6) or (claim.delta or 0) > facts.delta:  # type: ignore[arg-type]
        return Check(part="release", ok=False, says=f"It claims {claim.label}, and the entry epsilon {facts.epsilon}.")
    changed = changed_facts(schema, model.schema)
    if changed:
        return Check(part="release", ok=False, says=f"Its model has another schema than the entry: {changed[0]}.")
    return Check(part="release", ok=True, says=f"It verifies: {claim.label}.")


def changed_facts(stated: Schema, fitted: Schema) -> list[str]:
    """Return the facts that two schemas state differently; what a fit measures, as decimals, may be added."""
    if stated.names != fitted.names:
        return ["the columns"]
    changed = [name for name in stated.names if stated[name].facts != fitted[name].facts]
    for name in [name for name in stated.names if name not in changed]:
        one, other = stated[name], fitted[name]
        changed += [
            f"{name}.{fact}"
            for fact in one.facts
            if getattr(one, fact) != getattr(other, fact) and other.provenance(fact) != "measured"
        ]
    return changed


def _check_rows(model: Model, made: ExactTable) -> Check:
    drawn = read_public(model.sample(made.rows, seed=0), model.schema, "synthetic")
    if rows_checksum(drawn) != rows_checksum(made):
        return Check(part="rows", ok=False, says="The rows are not those that the model of the release draws.")
    return Check(part="rows", ok=True, says=f"The model of the release draws these {made.rows:,} rows (seed 0).")


def _check_noise(model: Model, table: ExactTable) -> Check:
    found = compare_with_exact(model.measurements, table.codes)
    if found.faults:
        return Check(part="noise", ok=False, says="; ".join(found.faults[:MAX_NAMED_FAULTS]) + ".")
    if not found.releases:
        return Check(part="noise", ok=None, says="No release has exact values that are known here.")
    left = f" {found.unknown} others were not compared." if found.unknown else ""
    says = f"{found.values:,} values of {found.releases} releases differ from the exact ones as the stated noise does."
    return Check(part="noise", ok=True, says=says + left)
