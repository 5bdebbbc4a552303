"""What each part of the DP vine is worth: `python -m benchmarks.parts --tables OFP,Chile --seeds 0,1`.

Fits with one part left out, beside fits with all of them, on the same scripted noise. Prints by how many percent the
error of pairs (tvd2) rises without it. A part whose absence costs less than 1% on every table is not worth its lines.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

import benchmarks.elsewhere  # noqa: F401  # adds its tables
from benchmarks.metrics import fidelity
from benchmarks.tables import load
from benchmarks.yardstick import scripted_fit
from sklar.methods.vine import calibrate, estimate, pairs
from sklar.model.pairs import posterior

Patches = Sequence[tuple[Any, str, Any]]
PARTS: Mapping[str, Patches] = {
    "deeper trees": [(estimate, "depth_of", lambda schema, options: 1)],
    "families": [(posterior, "fit_family", lambda *given, **named: None)],
    "correlations from sums": [(estimate, "sharpen", lambda known, tables, rows: tuple(tables))],
    "doubt of sums": [(estimate, "doubt", lambda known, tables, rows: known)],
    "nulls together": [
        (estimate, "link_nulls", lambda tables, rows: tuple(tables)),
        (estimate, "link_again", lambda fine, tables, rows: tuple(fine)),
        (estimate, "null_tables", lambda *given: []),
    ],
    "margins held": [(calibrate, "hold_margins", lambda calibration, scales, particles: calibration)],
    "every cell": [(pairs, "counts_every_cell", lambda axes, most: False)],
}


def error_of_pairs(table: str, seed: int, patches: Patches) -> float:
    """Return tvd2 of one fit with parts replaced."""
    split = load(table, seed=seed)
    with ExitStack() as stack:
        for owner, name, value in patches:
            stack.enter_context(patch.object(owner, name, value))
        model = scripted_fit(seed, split.frame, split.schema, None, method="vine", epsilon=1.0, delta=1e-9)
        made = model.sample(seed=seed).to_pandas()
    return fidelity(split.frame, made, split.schema, seed)["tvd2"]


def main() -> None:
    """Print one line for each part and table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="compas,hmeq,tail6,gauss8,adult3k")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--parts", default=",".join(PARTS))
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    for table in given.tables.split(","):
        whole = np.mean([error_of_pairs(table, seed, []) for seed in seeds])
        print(f"{table:10s} tvd2 {whole:.4f}", flush=True)
        for part in given.parts.split(","):
            without = np.mean([error_of_pairs(table, seed, PARTS[part]) for seed in seeds])
            print(f"{table:10s} without {part:30s} {100 * (without / whole - 1):+.1f}%", flush=True)


if __name__ == "__main__":
    main()
