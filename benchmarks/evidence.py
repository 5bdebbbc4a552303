"""Speed of evaluation: `python -m benchmarks.evidence [adult] [wide] [long]`. Prints seconds and peak memory.

adult: the yardstick's Adult against itself with shuffled columns, without the slow learners (goal: 60 s on 2 cores).
wide: all pairs of 100 columns, 100,000 rows (goal: 10 s). long: 1 million rows x 30 columns (goal: 5 min within 4 GB).
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pyarrow as pa

import sklar
from sklar.lab.metrics.tvd import margin_distance
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import coarse_grid


def made_up(rows: int, columns: int, seed: int) -> tuple[pa.Table, sklar.Schema]:
    """Correlated columns: two thirds real, one third of labels."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=rows)
    arrays, facts = {}, {}
    for at in range(columns):
        z = 0.6 * base + 0.8 * rng.normal(size=rows)
        if at % 3:
            arrays[f"x{at}"], facts[f"x{at}"] = z, sklar.Real(-6, 6)
        else:
            labels = [f"v{i}" for i in range(12)]
            codes = np.clip(np.rint(z + 6), 0, 11).astype(np.int32)
            arrays[f"x{at}"] = pa.DictionaryArray.from_arrays(codes, labels)
            facts[f"x{at}"] = sklar.Category(labels)
    return pa.table(arrays), sklar.Schema(facts)


def wide() -> None:
    """TVD of all pairs of 100 columns."""
    (one, schema), (two, _) = made_up(100_000, 100, 0), made_up(100_000, 100, 1)
    rng = np.random.default_rng(0)
    real, synthetic = (read_table(t, schema, rng, role="real") for t in (one, two))
    grid = coarse_grid(schema)
    margin_distance(real.sample(100, rng), synthetic.sample(100, rng), grid, 2, rng)  # compile
    started = time.perf_counter()
    score = margin_distance(real, synthetic, grid, 2, rng)
    print(f"wide: {len(score.parts)} pairs in {time.perf_counter() - started:.1f} s, tvd2 {score.value:.4f}")


def long() -> None:
    """Everything for 1 million rows of 30 columns."""
    (one, schema), (two, _) = made_up(1_000_000, 30, 0), made_up(1_000_000, 30, 1)
    timed("long", one, two, schema, "x1")


def adult() -> None:
    """Everything for Adult with shuffled columns."""
    from benchmarks.tables import load

    split = load("adult")
    rng = np.random.default_rng(1)
    shuffled = {name: rng.permutation(split.frame[name].to_numpy()) for name in split.frame}
    timed("adult", split.frame, shuffled, split.schema, split.target or "")


def timed(name: str, real: object, synthetic: object, schema: sklar.Schema, target: str) -> None:
    """Evaluate, and print where the time went."""
    started = last = time.perf_counter()
    steps: list[str] = []

    def told(what: str, fraction: float) -> None:
        nonlocal last
        now = time.perf_counter()
        steps.append(f"{now - last:.1f}s > {what}")
        last = now

    sklar.evaluate(real, synthetic, schema, target=target, progress=told)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{name}: {time.perf_counter() - started:.1f} s, peak {peak:.2f} GB\n  " + " ".join(steps))


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ["adult", "wide", "long"]:
        {"adult": adult, "wide": wide, "long": long}[chosen]()
