"""Accuracy without a schema at the same total epsilon: tvd2 with everything measured against tvd2 with a public schema.

    SKLAR_DATA=/data python -m benchmarks.no_schema adult:30000 compas:10568 hmeq:5000 compas:2000 [--runs 2]

Both are scored on the grid of the public schema, drafted from all rows and confirmed: 32 cells a number, every label,
100 pairs of columns at most. A label that was not found, and a column that was left out, count as wrong.
"""

from __future__ import annotations

import argparse
import json
import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sklar

DATA = Path(os.environ.get("SKLAR_DATA", "data"))
CELLS, PAIRS = 32, 100


def table(name: str) -> pd.DataFrame:
    """All cells as text, as a CSV file has them."""
    read = pd.read_csv(DATA / f"{name}.csv", dtype=str, keep_default_na=False, skipinitialspace=True)
    read = read.map(str.strip)
    return read.where(~read.isin(["", "?"]), None)


def public_schema(rows: pd.DataFrame) -> sklar.Schema:
    """What a custodian who knows the table would state."""
    draft = sklar.draft_schema(rows)
    return draft.confirm(*[question.column for question in draft.questions()], by="benchmark")


def grid(rows: pd.DataFrame, schema: sklar.Schema, real: pd.DataFrame) -> pd.DataFrame:
    """Each column as cells of the public schema; what it does not have is a cell of its own."""
    cells: dict[str, Any] = {}
    for name in schema.modelled:
        column: Any = schema[name]
        if name not in rows:
            cells[name] = np.full(len(rows), -1)
        elif column.kind in ("integer", "real"):
            values, span = pd.to_numeric(rows[name], errors="coerce"), float(column.upper) - float(column.lower)
            place = np.floor((values - float(column.lower)) / (span or 1) * CELLS).clip(0, CELLS - 1)
            cells[name] = place.fillna(CELLS).to_numpy()
        else:
            known = {label: code for code, label in enumerate(sorted(_words(real[name]).dropna().unique()))}
            cells[name] = _words(rows[name]).map(known).fillna(-1).where(rows[name].notna(), -2).to_numpy()
    return pd.DataFrame(cells)


def _words(column: pd.Series) -> pd.Series:
    truth = {"true": "1", "false": "0"}
    return column.map(lambda x: None if x is None or x != x else truth.get(str(x).lower(), str(x).removesuffix(".0")))


def tvd2(real: pd.DataFrame, made: pd.DataFrame, schema: sklar.Schema) -> float:
    """Mean total variation distance of pairs of columns."""
    one, two = grid(real, schema, real), grid(made, schema, real)
    pairs = list(combinations(schema.modelled, 2))
    chosen = np.random.default_rng(0).permutation(len(pairs))[:PAIRS]
    return float(np.mean([_distance(one[list(pairs[i])], two[list(pairs[i])]) for i in chosen]))


def _distance(one: pd.DataFrame, two: pd.DataFrame) -> float:
    shares = [part.value_counts(normalize=True) for part in (one, two)]
    return 0.5 * float(shares[0].subtract(shares[1], fill_value=0).abs().sum())


def run(name: str, rows: int, seed: int, epsilon: float) -> dict[str, Any]:
    """One table, fitted in both ways."""
    whole = table(name)
    public = public_schema(whole)
    real = whole.sample(min(rows, len(whole)), random_state=seed).reset_index(drop=True)
    scores: dict[str, float] = {}
    for way, schema in (("public", public), ("found", None)):
        model = sklar.fit(real, schema, epsilon=epsilon)
        scores[way] = tvd2(real, model.sample(max(len(real), 10_000), seed=1).to_pandas(), public)
    return {"table": name, "rows": len(real), "seed": seed, **scores, "ratio": scores["found"] / scores["public"]}


def main() -> None:
    """Run the tables named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="NAME:ROWS")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    for one in given.tables:
        name, _, rows = one.partition(":")
        for seed in range(given.runs):
            print(json.dumps(run(name, int(rows or 10**9), seed, given.epsilon)), flush=True)


if __name__ == "__main__":
    main()
