"""Files for NIST's archive of deidentified data (Collaborative Research Cycle), from runs on its excerpts.

For each run a CSV file in the form of the excerpts (N for a missing value), and a JSON file of labels with the fields
of the archive; and one text with an abstract. Team, time and number are left to whoever submits them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from benchmarks import nist
from benchmarks.open import runs
from benchmarks.open.runs import Run
from benchmarks.open.tables import load

STATES = {"na": "national2019", "tx": "tx2019", "ma": "ma2019"}
ABSTRACT = """Sklar fits a private vine copula. It measures tables of single columns, of pairs and of some triples of
columns with discrete Gaussian noise, charges each to a ledger first, and estimates one distribution from all of them;
the rows are drawn from that distribution. The claim is (epsilon, delta)-differential privacy for adding or removing one
row. Facts taken as public: kinds, ranges and labels of NIST's data dictionary, and the lists of PUMA codes. Everything
that was measured, its noise and the ledger are in the release of each run; `sklar verify` recomputes the claim from it.
"""


def prepare(folder: Path) -> list[Path]:
    """Write the files of every run of Sklar on an excerpt; the first repetition of each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "abstract.txt").write_text(ABSTRACT)
    written = [folder / "abstract.txt"]
    for run, place in runs.all_kept():
        ours = run.table.startswith("nist_") and run.tool == "sklar" and run.status == "ok" and not run.repetition
        if ours and run.table_sha256 == load(run.table).sha256:
            written += _write(run, place, folder)
    return written


def _write(run: Run, place: Path, folder: Path) -> list[Path]:
    _, state, features = run.table.split("_")
    name = f"sklar_vine_{state}_{features}_e_{run.epsilon:g}"
    table, data = load(run.table), folder / f"{name}.csv"
    rows = nist.to_texts(pd.read_parquet(place / "rows.parquet"))
    rows = rows[list(table.schema.modelled)].replace("<NA>", nist.MISSING)
    rows.to_csv(data, index=False)
    labels = {
        "team": "",
        "submission timestamp": "",
        "target dataset": STATES[state],
        "algorithm name": "Private vine copula",
        "feature set": f"{features}-focused",
        "variant label": name,
        "epsilon": f"{run.epsilon:g}",
        "delta": f"{run.delta:g}",
        "submission number": "",
        "privacy": "Differential Privacy",
        "library": "Sklar",
    }
    about = folder / f"{name}.json"
    about.write_text(json.dumps({"labels": labels}, indent=1) + "\n")
    return [data, about]
