"""Whether the intervals of noise fission hold the true error: many fits of tables that are known.

    python -m benchmarks.fission [--fits 200] [--rows 2000] [--epsilon 1] [--method vine] [--held 0.1]

The error of the published fit (not of the refit on one half) is what must lie inside. Prints how often it does, for
each released table and for all together, and how often the residual check names a table although the rows come from
one law that the method can express only in part. With `--held` the same of tables that were held back.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import sklar
from sklar.inference.checks.fission import score_by_fission
from sklar.inference.checks.held_out import score_held_out
from sklar.inference.checks.residuals import compute_residuals, rows_behind
from sklar.inference.errors_of_tables import ErrorScore
from sklar.inference.fitted import Fitted
from sklar.inference.tables import all_tables, group_masses, measured_part, model_tables, partitions_of, shares_of_rows
from sklar.pipeline.bundle.bundle import stored_of
from sklar.release.measurements import Measurement, collect_measurements
from sklar.sample.rng import generator

SCHEMA = sklar.Schema(
    {
        "age": sklar.Integer(0, 79),
        "score": sklar.Integer(0, 39),
        "sex": sklar.Category(["F", "M"]),
        "region": sklar.Category(["n", "e", "s", "w", "x"]),
    }
)
"""Base codes of these columns are their values, so that true tables can be counted without Sklar."""
DRAWN = 50_000


def known_table(rows: int, seed: int) -> np.ndarray:
    """Codes of rows of a law with a skewed margin, a strong pair, a weak one and a rule of three columns."""
    rng = np.random.default_rng(seed)
    first, second, third = rng.standard_normal((3, rows))
    age = np.clip(40 + 15 * first, 0, 79).astype(int)
    score = np.clip(np.exp(1.8 + 0.5 * (0.7 * first + 0.7 * second)), 0, 39).astype(int)
    region = np.digitize(third + 0.3 * first, [-1.0, 0.0, 0.8, 1.6])
    sex = (rng.random(rows) < np.where((age > 40) == (region > 1), 0.7, 0.4)).astype(int)
    return np.column_stack([age, score, sex, region])


def frame(codes: np.ndarray) -> dict[str, list[object]]:
    """The table as values."""
    labels = {"sex": ["F", "M"], "region": ["n", "e", "s", "w", "x"]}
    columns = dict(zip(SCHEMA.names, codes.T.tolist(), strict=True))
    return {name: [labels[name][v] for v in values] if name in labels else values for name, values in columns.items()}


def true_error(table: Measurement, model: np.ndarray, truth: np.ndarray) -> tuple[float, int]:
    """Sum of squared errors of shares in what a table measures, and the number of its cells."""
    return float(np.sum((measured_part(table, model) - measured_part(table, truth)) ** 2)), truth.size


def one_fit(rows: int, epsilon: float, method: str, seed: int, share: float) -> dict[str, list[bool]]:
    """Which intervals hold, by kind."""
    codes = known_table(rows, seed)
    model = sklar.fit(frame(codes), SCHEMA, epsilon=epsilon, method=method, check_share=share)
    fitted = stored_of(model).fitted
    found = score_by_fission(fitted, DRAWN, generator(seed))
    tables = model_tables(fitted.schema, fitted.measurements)
    drawn = shares_of_rows(tables, fitted.schema, fitted.model.simulate_rounded(DRAWN, generator(seed)))
    truth = shares_of_rows(tables, fitted.schema, codes)
    singles = [len(table.query.columns) == 1 for table in tables]
    dense = {margin.column: margin.dense() for margin in fitted.model.margins}
    shares = [
        group_masses(partitions_of(table)[0], dense[table.query.columns[0]], table.values.size) if single else counted
        for table, counted, single in zip(tables, drawn, singles, strict=True)
    ]
    errors = [true_error(*each) for each in zip(tables, shares, truth, strict=True)]
    order = [at for wanted in (True, False) for at, single in enumerate(singles) if single == wanted]
    held: dict[str, list[bool]] = {
        "alarm": [any(r.contradicts for r in compute_residuals(tables, drawn, rows_behind(fitted, tables), DRAWN))]
    }
    assert found is not None
    for at, score in zip(order, found.tables, strict=True):
        held.setdefault("column" if singles[at] else "pair", []).append(inside(score, [errors[at]]))
    for kind, score, wanted in (("columns together", found.columns, True), ("pairs together", found.pairs, False)):
        if score is not None:
            held[kind] = [inside(score, [e for e, single in zip(errors, singles, strict=True) if single == wanted])]
    return held | (held_back(fitted, codes, seed) if share else {})


def held_back(fitted: Fitted, codes: np.ndarray, seed: int) -> dict[str, list[bool]]:
    """Which intervals from tables that were held back hold."""
    assert fitted.held is not None
    tables, found = all_tables(collect_measurements([fitted.held])), score_held_out(fitted, DRAWN, generator(seed))
    shares = shares_of_rows(tables, fitted.schema, fitted.model.simulate_rounded(DRAWN, generator(seed)))
    truth = shares_of_rows(tables, fitted.schema, codes)
    errors = [true_error(*each) for each in zip(tables, shares, truth, strict=True)]
    each = [inside(score, [error]) for score, error in zip(found.tables, errors, strict=True)]
    return {"held back": each, "held back together": [inside(found.together, errors)]}


def inside(score: ErrorScore, errors: list[tuple[float, int]]) -> bool:
    """Whether the root mean square of the errors lies in the interval."""
    squared, cells = (sum(part) for part in zip(*errors, strict=True))
    return score.low <= np.sqrt(squared / cells) <= score.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--method", default="vine")
    parser.add_argument("--held", type=float, default=0.0, help="share of the budget that is held back")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    all_held: dict[str, list[bool]] = {}
    for seed in range(asked.fits):
        for kind, held in one_fit(asked.rows, asked.epsilon, asked.method, seed, asked.held).items():
            all_held.setdefault(kind, []).extend(held)
    print(f"{asked.fits} fits of {asked.method}, {asked.rows:,} rows, epsilon {asked.epsilon:g}: intervals that hold")
    for kind, held in all_held.items():
        print(f"  {kind:18} {np.mean(held):7.1%} of {len(held)}")


if __name__ == "__main__":
    main()
