"""The scores of an entry: distances of tables, errors of AIM's workloads, NIST's score, and what learners learn.

tvd1, tvd2 and tvd3 are mean total variation distances of one, two and three columns in 32 equal cells. `all_3way` and
`skewed` are the workload errors of McKenna et al. (2022): the mean L1 distance of normalized tables, twice the total
variation distance, over all triples, and over 256 triples of columns that are drawn with the squares of exponential
weights. Of more than 2,000 triples, 2,000 are drawn. All draws follow fixed seeds, so that scores can be recomputed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

from sklar.lab.learning.learners import one_thread
from sklar.lab.learning.transfer import measure_transfer
from sklar.lab.metrics.k_marginal import pair_distance, real_rows_share
from sklar.lab.metrics.tvd import column_sets, margin_distances
from sklar.lab.tables.table import ExactTable, coarse_codes, coarse_grid
from sklar.sample.rng import generator

SEED = 0
MAX_TRIPLES, SKEWED_TRIPLES = 2_000, 256
LEARNERS = ("boosting", "linear", "tree")
Sets = list[tuple[int, ...]]


def score_rows(
    real: ExactTable,
    synthetic: ExactTable,
    *,
    target: str | None = None,
    test: ExactTable | None = None,
    area: str | None = None,
) -> dict[str, float]:
    """Return all scores of synthetic rows against the real rows that they were learned from.

    Args:
        real: The rows to learn from.
        synthetic: The synthetic rows.
        target: A column to predict, for `auc_LEARNER` and `auc_LEARNER_real`.
        test: Real rows that the synthesizer did not see.
        area: A column within whose values NIST's tables are counted.
    """
    found = {**_measure_distances(real, synthetic), **_measure_nist(real, synthetic, area)}
    if target is not None and test is not None:
        found |= _measure_learning(real, synthetic, target, test)
    return {name: round(value, 9) for name, value in found.items()}


def _measure_distances(real: ExactTable, synthetic: ExactTable) -> dict[str, float]:
    grid, columns = coarse_grid(real.schema), len(real.names)
    sizes = [grid.sizes[name] for name in real.names]
    one, two = coarse_codes(real, grid), coarse_codes(synthetic, grid)
    sets: dict[str, tuple[Sets, float]] = {
        f"tvd{ways}": (column_sets(columns, ways, generator(SEED)), 1.0) for ways in (1, 2, 3) if columns >= ways
    }
    if columns >= 3:
        sets |= {"all_3way": (all_triples(columns), 2.0), "skewed": (skewed_triples(columns), 2.0)}
    return {name: scale * float(margin_distances(one, two, sizes, some).mean()) for name, (some, scale) in sets.items()}


def all_triples(columns: int) -> Sets:
    """Return all triples of columns, or MAX_TRIPLES random ones."""
    if math.comb(columns, 3) <= MAX_TRIPLES:
        return list(combinations(range(columns), 3))
    rng, chosen = generator(SEED), dict[tuple[int, ...], None]()
    while len(chosen) < MAX_TRIPLES:
        chosen[tuple(sorted(rng.choice(columns, 3, replace=False).tolist()))] = None
    return list(chosen)


def skewed_triples(columns: int) -> Sets:
    """Return the triples of the skewed workload: some columns are in many of them."""
    rng = generator(SEED)
    weights = rng.exponential(size=columns) ** 2
    wanted = min(SKEWED_TRIPLES, math.comb(columns, 3))
    chosen = dict[tuple[int, ...], None]()
    for _ in range(100 * wanted):
        if len(chosen) == wanted:
            break
        drawn = rng.choice(columns, 3, replace=False, p=weights / weights.sum())
        chosen[tuple(sorted(drawn.tolist()))] = None
    return list(chosen)


def _measure_nist(real: ExactTable, synthetic: ExactTable, area: str | None) -> dict[str, float]:
    found = pair_distance(real, synthetic, area)
    share = real_rows_share(real, synthetic, generator(SEED), area).value
    kept = {} if found is None else {"k_marginal": 1000.0 * (1.0 - found)}
    return kept if share is None else {**kept, "real_rows_share": share}


def _measure_learning(real: ExactTable, synthetic: ExactTable, target: str, test: ExactTable) -> dict[str, float]:
    with one_thread():
        made = measure_transfer(real, synthetic, target, LEARNERS, generator(SEED), holdout=test)
    found: dict[str, float] = {}
    for one in made.results:
        if one.measure == "auc":
            found |= {f"auc_{one.learner}": one.synthetic, f"auc_{one.learner}_real": one.real}
    if not found:  # one class only, or no class at all
        found = {f"auc_{learner}": 0.5 for learner in LEARNERS}
    return found


def find_differences(stated: Mapping[str, float], found: Mapping[str, float]) -> list[str]:
    """Return the scores that are not as stated. AUCs may differ a little between versions of the learners."""
    wrong: list[str] = []
    for name in sorted({*stated, *found}):
        one, other = stated.get(name), found.get(name)
        allowed = 0.01 if name.startswith("auc_") else 1e-6 * max(1.0, abs(other or 0.0))
        if one is None or other is None or not abs(one - other) <= allowed:
            wrong.append(f"{name} is stated as {one}, and found to be {other}")
    return wrong
