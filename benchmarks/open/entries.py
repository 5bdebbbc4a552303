"""Scores of runs, kept beside them; the list of results that is part of the repository; and entries as files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import sklar
from benchmarks.open.runs import Run, all_kept, kept, planned, store
from benchmarks.open.tables import OpenTable, load
from benchmarks.open.tools import TOOLS
from benchmarks.results import STORE
from sklar.lab.entries.check import verify_entry
from sklar.lab.entries.entry import Entry, read_entry, read_public, rows_checksum, write_entry
from sklar.lab.entries.scores import score_rows
from sklar.pipeline.verify.findings import Verified

RESULTS = STORE / "open.jsonl"
SCORED_BY = ("lab/entries/scores.py", "lab/metrics/k_marginal.py", "lab/metrics/tvd.py", "lab/learning/learners.py")
AREA = "PUMA"
"""NIST counts its tables within these areas, where a set has them."""


def scoring_version() -> str:
    """Return a checksum of the code that scores: scores of other code are computed again."""
    root = Path(sklar.__file__).parent
    return hashlib.sha256(b"".join((root / name).read_bytes() for name in SCORED_BY)).hexdigest()[:12]


def score_run(run: Run, folder: Path, table: OpenTable) -> dict[str, Any]:
    """Return the scores of a run and the checksums of the rows, computed once."""
    path, version = folder / "scores.json", scoring_version()
    if path.exists() and (known := json.loads(path.read_text()))["version"] == version:
        return known
    real = read_public(table.frame, table.schema)
    made = read_public(str(folder / "rows.parquet"), table.schema, "synthetic")
    held = None if table.test is None else read_public(table.test, table.schema, "test")
    area = AREA if AREA in table.schema.modelled else None
    found = {
        "version": version,
        "real_sha256": rows_checksum(real),
        "test_sha256": None if held is None else rows_checksum(held),
        "area": area,
        "scores": score_rows(real, made, target=table.target, test=held, area=area),
    }
    path.write_text(json.dumps(found, indent=1))
    return found


def collect() -> list[dict[str, Any]]:
    """Score what is not scored yet, and write the list of results: one line for each run.

    Lines of runs that were made elsewhere stay, unless the same run was made here. Of a tool that is installed here
    only its present version counts.
    """
    by_table: dict[str, list[tuple[Run, Path]]] = {}
    for run, folder in all_kept():
        if run.version == (TOOLS[run.tool].version() or run.version):
            by_table.setdefault(run.table, []).append((run, folder))
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in RESULTS.read_text().splitlines() if RESULTS.exists() else ():
        lines[_place(json.loads(line))] = json.loads(line)
    for name, made in sorted(by_table.items()):
        table = load(name)
        for run, folder in made:
            if run.table_sha256 != table.sha256:
                continue
            found = score_run(run, folder, table) if run.status == "ok" else {"scores": {}}
            facts = {"tuned": table.tuned, "about": table.about, "columns": len(table.schema.modelled)}
            line = {**asdict(run), **facts, "key": run.key, "scores": found["scores"]}
            lines[_place(line)] = line
    order = [lines[place] for place in sorted(lines)]
    RESULTS.write_text("".join(json.dumps(one, sort_keys=True) + "\n" for one in order))
    return order


def _place(line: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a line is about: the table, the tool, the budget and the number of the repetition."""
    return line["table"], line["tool"], line["epsilon"] or 0.0, line["repetition"]


def write(table: str, tool: str, epsilon: float, path: Path) -> list[Path]:
    """Write the entry of a run, and the public rows that it is checked with."""
    whole = load(table)
    wanted = planned(whole, tool, epsilon, 0)
    if wanted is None or (run := kept(wanted, 0.0)) is None or run.status != "ok":
        raise SystemExit(f"there is no run of {tool} on {table} at epsilon {epsilon:g}: python -m benchmarks.open run")
    folder = store() / run.key
    found, release = score_run(run, folder, whole), folder / "run.release.zip"
    facts = Entry(
        table=table, real_sha256=found["real_sha256"], test_sha256=found["test_sha256"], target=whole.target,
        area=found["area"], tool=tool, version=run.version, settings=json.loads(run.settings), epsilon=run.epsilon,
        delta=run.delta, seconds=run.seconds, cpu=run.cpu, memory=run.memory, scores=found["scores"],
    )  # fmt: skip
    write_entry(path, facts, whole.schema, folder / "rows.parquet", release if release.exists() else None)
    written = [path]
    for role, frame in (("real", whole.frame), ("test", whole.test)):
        if frame is not None:
            written.append(path.with_suffix(f".{role}.parquet"))
            pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), written[-1])
    return written


def check(path: Path) -> Verified:
    """Verify an entry with the rows of the table that it names."""
    table = load(read_entry(path).facts.table)
    return verify_entry(path, table.frame, table.test)
