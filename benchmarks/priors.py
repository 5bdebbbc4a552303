"""What a public prior is worth, and what a bad one costs: `python -m benchmarks.priors`.

Of Adult and compas (3,000 rows) and of half of HMEQ models are fitted without a prior, with as many other rows of the
same table (good), with rows that are picked by a tilt of two columns or of one group alone (biased), and with the good
one after every column was shuffled (garbage). Noise is scripted, so that one run compares like with like. Prints the
mean total variation distance of single columns and of pairs, and that of pairs beside the fit without a prior. Tables
are fetched once, see `benchmarks.data`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.metrics import fidelity
from benchmarks.tables import Split, Yard, adult, compas, hmeq
from benchmarks.yardstick import scripted_fit

ROWS = 3_000
TILT = 0.7
"""Rows are picked with weight exp(TILT (z1 + z2)) of two standardized columns: their means move by about as much."""
TABLES: dict[str, tuple[Callable[[], Yard], tuple[str, str], tuple[str, str]]] = {
    "adult3k": (adult, ("age", "hours-per-week"), ("sex", "Female")),
    "compas3k": (compas, ("age", "priors_count"), ("sex", "Female")),
    "hmeq": (hmeq, ("LOAN", "CLAGE"), ("REASON", "HomeImp")),
}
"""Table, columns of the tilt, and the group that is a population of its own."""


def tilted(frame: pd.DataFrame, columns: tuple[str, str], rng: np.random.Generator) -> pd.DataFrame:
    """As many rows, picked by a tilt of two columns."""
    numbers = frame[list(columns)].astype(float)
    z = ((numbers - numbers.mean()) / numbers.std()).sum(axis=1)
    weight = np.exp(np.clip(TILT * z, -6, 6))
    return frame.iloc[rng.choice(len(frame), len(frame), p=weight / weight.sum())].reset_index(drop=True)


def priors_of(name: str, seed: int) -> tuple[Split, dict[str, pd.DataFrame | None]]:
    """A table to fit, and the priors."""
    load, columns, (label, group) = TABLES[name]
    whole = load()
    rng = np.random.default_rng(seed)
    rows = min(ROWS, len(whole.frame) // 2)
    shuffled = whole.frame.iloc[rng.permutation(len(whole.frame))].reset_index(drop=True)
    data, good = shuffled[:rows], shuffled[rows : 2 * rows].reset_index(drop=True)
    found: dict[str, pd.DataFrame | None] = {
        "none": None,
        "good": good,
        "tilted": tilted(good, columns, rng),
        "one group": good[good[label].astype(str).str.strip() == group].reset_index(drop=True),
        "garbage": pd.DataFrame({column: rng.permutation(good[column].to_numpy()) for column in good}),
    }
    return Split(frame=data, schema=whole.schema, target=whole.target, test=good), found


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default="0.3,1")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for name in given.tables.split(","):
        for epsilon in map(float, given.epsilons.split(",")):
            found: dict[str, list[dict[str, float]]] = {}
            for seed in range(given.seeds):
                split, priors = priors_of(name, seed)
                for kind, prior in priors.items():
                    model = scripted_fit(
                        seed, split.frame, split.schema, None, method="vine", epsilon=epsilon, delta=1e-9, prior=prior
                    )
                    made = model.sample(len(split.frame), seed=seed).to_pandas()
                    found.setdefault(kind, []).append(fidelity(split.frame, made, split.schema, seed))
            base = pd.DataFrame(found["none"])["tvd2"].mean()
            print(f"{name}, epsilon {epsilon:g}, {given.seeds} seeds", flush=True)
            for kind, scores in found.items():
                one, two = (pd.DataFrame(scores)[metric].mean() for metric in ("tvd1", "tvd2"))
                print(f"  {kind:10s} tvd1 {one:.4f}  tvd2 {two:.4f}  ({100 * (two / base - 1):+.0f}%)", flush=True)


if __name__ == "__main__":
    main()
