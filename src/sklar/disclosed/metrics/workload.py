"""Counting queries as analysts ask them: random ranges, and the errors of all one-, two- and some three-way counts.

The score is the mean over random ranges of |share_synthetic - share_real| / max(share_real, s) with the sanity bound
s = 0.1% of the rows: 0 is exact, lower is better. Each range is over two or three ordered columns, on the coarse
public grid. The curves show, for conjunctions of one, two and three values, the largest absolute error (as a share of
the rows) among the best answered queries. Reference: Li et al. (2014) for ranges, Asghar et al. (2020) for the
conjunctions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.disclosed.metrics import queries
from sklar.disclosed.metrics.grid import CoarseGrid, coarse_codes
from sklar.disclosed.metrics.score import About, Score, not_applicable
from sklar.disclosed.metrics.table import ExactTable, ordered_names

ROWS = 50_000
"""Rows of each table that are used."""
RANGES = 600
SETS = 30
"""Sets of columns; each gets RANGES / SETS ranges."""
TRIPLES = 2_000
CELLS = 1_500
"""Columns are drawn at random until their cells reach this number."""
SANITY = 0.001
LEVELS = tuple(np.linspace(0.5, 0.99, 50).tolist())
"""The worst one percent is left out of the curves: a single query would set their scale."""
ABOUT = About(
    name="range_queries",
    title="Range queries: relative error",
    says="Relative error of counts in random ranges of two or three ordered columns, averaged.",
    reference="Li et al. 2014",
    lower=0.0, upper=1.0 / SANITY, better="lower", good=0.10, fair=0.30,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCurves:
    """Errors of conjunctions by name: the largest one among the share of queries that are answered best."""

    levels: tuple[float, ...]
    curves: tuple[tuple[str, tuple[float, ...]], ...]


def range_score(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, rng: np.random.Generator) -> Score:
    """Mean relative error of random ranges."""
    names = ordered_names(real.schema)
    if len(names) < 2:
        return not_applicable(ABOUT, "there are no two ordered columns.")
    errors: list[float] = []
    for _ in range(SETS):
        some = [names[i] for i in rng.choice(len(names), min(len(names), int(rng.integers(2, 4))), replace=False)]
        ranges = queries.random_ranges([grid.sizes[name] for name in some], RANGES // SETS, rng)
        one, two = (queries.range_counts(coarse_codes(t, grid, some).T, ranges) / t.rows for t in (real, synthetic))
        errors += queries.relative_errors(one, two, SANITY).tolist()
    return Score(about=ABOUT, value=float(np.mean(errors)), rows=min(real.rows, synthetic.rows))


def error_curves(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, rng: np.random.Generator) -> ErrorCurves:
    """Ask both tables the same conjunctions of one, two and three values."""
    some = _columns(real, grid, rng)
    sizes = [grid.sizes[name] for name in some]
    tables = [queries.binary_table(coarse_codes(table, grid, some).T, sizes) for table in (real, synthetic)]
    places = queries.three_way_places(tables[0].owner, TRIPLES, rng)
    answers: dict[str, list[Any]] = {
        "one value": [queries.one_way(table) / len(table.bits) for table in tables],
        "two values": [queries.two_way(table) / len(table.bits) for table in tables],
        "three values": [queries.three_way(table, places) / len(table.bits) for table in tables],
    }
    curves = tuple(
        (name, tuple(line.largest for line in queries.error_lines(one, two, LEVELS)))
        for name, (one, two) in answers.items()
        if len(one)
    )
    return ErrorCurves(levels=LEVELS, curves=curves)


def _columns(table: ExactTable, grid: CoarseGrid, rng: np.random.Generator) -> list[str]:
    chosen: set[str] = set()
    cells = 0
    for at in rng.permutation(len(table.names)).tolist():
        size = grid.sizes[table.names[at]]
        if not chosen or cells + size <= CELLS:
            chosen.add(table.names[at])
            cells += size
    return [name for name in table.names if name in chosen]
