"""What is pictured of two tables: shares by column, correlations, joint shares of the strongest pairs, query errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.bench import Bench, Scores
from sklar.lab.metrics.correlations.matrices import Correlations
from sklar.lab.metrics.queries import ROWS, QueryProfiles, query_profiles
from sklar.lab.metrics.score import Part
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_codes
from sklar.schema import Column

SHOWN = 30
"""Labels of a column that are shown; the rest is summed up."""
NAMED = 4
"""Labels that are named below a picture."""
STRONGEST = 6
"""Pairs that are pictured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginPicture:
    """One column: shares of its cells in both tables, and their distance."""

    column: str
    kind: str
    labels: tuple[str, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    numeric: bool
    low: str
    high: str
    distance: float
    floor: float | None

    @property
    def caption(self) -> str:
        """What the axis means."""
        if self.numeric:
            shares = zip(self.labels, self.real, self.synthetic, strict=True)
            return " ".join([f"{self.low} to {self.high}", *(f"null {r:.1%} / {s:.1%}" for x, r, s in shares if x)])
        shown = [label for label in self.labels if label][:NAMED]
        more = len(self.labels) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairPicture:
    """Two columns: joint shares of their value cells in both tables."""

    columns: tuple[str, str]
    real: Floats
    synthetic: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overview:
    """What is pictured: columns, worst first; correlations, if there are two columns; strong pairs; query errors."""

    margins: tuple[MarginPicture, ...]
    matrix: Correlations | None
    pairs: tuple[PairPicture, ...]
    queries: QueryProfiles


def overview(bench: Bench, scores: Scores, query_budget: tuple[float, float]) -> Overview:
    """The pictures of a table whose scores are known."""
    real, synthetic, grid = bench.real, bench.synthetic, bench.grid
    margins = [_margin(real, synthetic, grid, part) for part in scores["tvd1"].parts]
    # phi_k knows all columns; Spearman's is there without an extra.
    matrix: Correlations = scores["phik"].behind or scores["spearman"].behind
    some = bench.sample((real, synthetic), ROWS, rng := bench.stream("query_profiles"))
    return Overview(
        margins=tuple(sorted(margins, key=lambda margin: -margin.distance)),
        matrix=matrix if len(matrix.columns) > 1 or matrix.measure == "phi_k" else None,
        pairs=tuple(_pair(real, synthetic, grid, pair) for pair in _strongest(matrix)),
        queries=query_profiles((some[0], some[1]), grid, query_budget, rng),
    )


def _strongest(found: Correlations) -> list[tuple[str, str]]:
    names, strength = found.columns, np.triu(np.abs(np.nan_to_num(found.real)), 1)
    order = np.argsort(-strength, axis=None, kind="stable")[:STRONGEST]
    places = [np.unravel_index(i, strength.shape) for i in order]
    return [(names[i], names[j]) for i, j in places if strength[i, j] > 0]


def _margin(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, part: Part) -> MarginPicture:
    (name,) = part.columns
    column = real.schema[name]
    lookup, size = grid.lookups[name], grid.sizes[name]
    one, two = (np.bincount(lookup[table.codes[name]], minlength=size) / table.rows for table in (real, synthetic))
    labels = _labels(column, grid.value_cells[name], size)
    if not column.ordered:
        order = np.argsort(-(one + two), kind="stable")
        one, two, labels = one[order], two[order], [labels[i] for i in order]
    keep = [i for i in range(size) if i < grid.value_cells[name] or one[i] + two[i] > 0]
    one, two, labels = one[keep], two[keep], [labels[i] for i in keep]
    if not column.numeric and len(labels) > SHOWN:
        one, two = (np.append(x[: SHOWN - 1], x[SHOWN - 1 :].sum()) for x in (one, two))
        labels = [*labels[: SHOWN - 1], f"{len(labels) - SHOWN + 1} more"]
    low, high = (column.lower, column.upper) if column.numeric else ("", "")  # type: ignore[attr-defined]
    if not isinstance(low, str):
        low, high = f"{low:,.6g}", f"{high:,.6g}"
    return MarginPicture(
        column=name, kind=column.kind, labels=tuple(labels), real=tuple(one.tolist()), synthetic=tuple(two.tolist()),
        numeric=column.numeric, low=low, high=high, distance=part.value, floor=part.floor,
    )  # fmt: skip


def _labels(column: Column, value_cells: int, size: int) -> list[str]:
    if column.kind == "boolean":
        values = ["false", "true"]
    else:
        values = [""] * value_cells if column.numeric else [str(v) for v in column.values]  # type: ignore[attr-defined]
    if column.other_code is not None:
        values.append(f"{column.other} (other)")  # type: ignore[attr-defined]
    return [*values, *["null"] * (size - len(values))]


def _pair(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, pair: tuple[str, str]) -> PairPicture:
    high, wide = (grid.sizes[name] for name in pair)
    shares: list[Floats] = []
    for table in (real, synthetic):
        first, second = coarse_codes(table, grid, pair).astype(np.int64)
        counts = np.bincount(first * wide + second, minlength=high * wide).reshape(high, wide)
        shares.append(counts[: grid.value_cells[pair[0]], : grid.value_cells[pair[1]]] / table.rows)
    return PairPicture(columns=pair, real=shares[0], synthetic=shares[1])
