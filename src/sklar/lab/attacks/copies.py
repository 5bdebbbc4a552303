"""Copies: are real rows, or rows very close to them, in the synthetic table more often than fresh real rows are?

Exact copies are looked for on the full public grid: the share of real rows that are in the synthetic table, beside the
same share of hold-out rows (control) and beside the share found in a table of the same margins whose columns were
shuffled (baseline). Closeness: the distance from each real row to its closest synthetic row, against those of hold-out
rows, as the chance that a real row is closer than a hold-out row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.lab.attacks.distances import nearest_points, points
from sklar.lab.attacks.result import AttackResult, Number
from sklar.lab.intervals import Estimate, clopper_pearson, delong_auc, exactly
from sklar.lab.metrics.copies import row_keys
from sklar.lab.tables.table import ExactTable

TARGETS = 2_000
RELEASE_ROWS = 200_000
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 1.0)
NO_HOLDOUT = (
    "Without a hold-out it cannot be told how many of these copies fresh real rows would have too, nor whether real "
    "rows are closer to the release than rows that nobody learned from."
)
Done = Callable[[str, float], None]
Keys = npt.NDArray[Any]


def find_copies(
    real: ExactTable,
    synthetic: ExactTable,
    rng: np.random.Generator,
    *,
    holdout: ExactTable | None,
    targets: int = TARGETS,
    done: Done = lambda what, fraction: None,
) -> AttackResult:
    """Look for copies and near copies; `targets` rows of each table are looked up by distance."""
    numbers = list(_exact(real, synthetic, holdout, rng))
    details: dict[str, Any] = {}
    if holdout is not None:
        done("distances to the closest record", 0.3)
        number, details = _closest(real, synthetic, holdout, targets, rng)
        numbers.append(number)
    return AttackResult(
        kind="copies",
        title="Copies of real rows",
        numbers=tuple(numbers),
        missing=() if holdout is not None else (NO_HOLDOUT,),
        settings={"targets": targets, "synthetic_rows": synthetic.rows},
        details=details,
    )


def shuffled(table: ExactTable, rng: np.random.Generator) -> ExactTable:
    """A table with the same margins whose columns have nothing to do with each other."""
    orders = {name: rng.permutation(table.rows) for name in table.names}
    return ExactTable(
        schema=table.schema,
        codes={name: codes[orders[name]] for name, codes in table.codes.items()},
        numbers={name: numbers[orders[name]] for name, numbers in table.numbers.items()},
        total=table.total,
    )


def _exact(
    real: ExactTable, synthetic: ExactTable, holdout: ExactTable | None, rng: np.random.Generator
) -> tuple[Number, ...]:
    release, shuffled_release = np.unique(row_keys(synthetic)), np.unique(row_keys(shuffled(synthetic, rng)))
    mine, others = row_keys(real), None if holdout is None else row_keys(holdout)
    # Rows that occur once among real and hold-out rows together: fresh rows of either kind are equally often copied.
    lone = _lone(mine) if others is None else np.setdiff1d(_lone(mine), others)
    lone_others = None if others is None else np.setdiff1d(_lone(others), mine)
    return (
        Number(
            name="exact_copies", title="share of real rows that are in the synthetic table",
            says="Rows are the same if all columns are, on the public grid.",
            attack=_found(mine, release), baseline=_found(mine, shuffled_release),
            control=None if others is None else _found(others, release), trials=len(mine),
        ),
        Number(
            name="lone_copies", title="share of real rows without a twin that are in the synthetic table",
            says="Only rows that occur once among real and hold-out rows; the control are such rows of the hold-out.",
            attack=_found(lone, release), baseline=_found(lone, shuffled_release),
            control=None if lone_others is None else _found(lone_others, release), trials=len(lone),
        ),
    )  # fmt: skip


def _lone(keys: Keys) -> Keys:
    values, counts = np.unique(keys, return_counts=True)
    return values[counts == 1]


def _found(keys: Keys, release: Keys) -> Estimate:
    return clopper_pearson(int(np.isin(keys, release).sum()), len(keys))


def _closest(
    real: ExactTable, synthetic: ExactTable, holdout: ExactTable, targets: int, rng: np.random.Generator
) -> tuple[Number, dict[str, Any]]:
    chosen = [real.sample(targets, rng), holdout.sample(targets, rng)]
    release, *groups = points(real, [synthetic.sample(RELEASE_ROWS, rng), *chosen])
    mine, others = (nearest_points(group, release)[0] for group in groups)
    order = rng.permutation(others)
    middle = len(order) // 2
    number = Number(
        name="closest_record",
        title="chance that a real row lies closer to its closest synthetic row than a hold-out row",
        says="Distance to the closest record: numbers in units of their spread, labels equal or not.",
        attack=delong_auc(-mine, -others),
        baseline=exactly(0.5),
        control=delong_auc(-order[:middle], -order[middle:]) if middle else None,
        ideal=0.5,
        trials=len(mine) + len(others),
    )
    quantiles = {"levels": list(QUANTILES), "real": np.quantile(mine, QUANTILES).tolist(),
                 "holdout": np.quantile(others, QUANTILES).tolist()}  # fmt: skip
    return number, {"closest_distance_quantiles": quantiles}
