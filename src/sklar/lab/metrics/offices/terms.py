"""Terms of a regression: what stands for the columns of a table, the same in every table, in the units of the real."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.lab.learning.features import frequent_labels, indicators, standardize
from sklar.lab.tables.table import ExactTable, ordered_values
from sklar.sample.binary import cell_text

LABELS = 20
"""Labels of a column that have a term, beside the most frequent one, which the others are held against."""
FEW = 10
"""Real rows that a label or null must have for a term: with fewer, coefficients are noise."""
FARTHEST = 5.0
"""Standard deviations at which numbers are clipped: a few far values must not rule squares and products."""


def make_terms(real: ExactTable, tables: Sequence[ExactTable], names: Sequence[str]) -> tuple[list[str], list[Floats]]:
    """Names of the terms, the intercept first, and their values in each table: one row a row.

    An ordered column is centred and divided by its real standard deviation; null is 0, with a term of its own.
    """
    terms = ["intercept"]
    parts: list[list[Floats]] = [[np.ones((table.rows, 1))] for table in tables]
    for name in names:
        words, columns = _ordered(real, tables, name) if real.schema[name].ordered else _labels(real, tables, name)
        terms += words
        for part, column in zip(parts, columns, strict=True):
            part.append(column)
    return terms, [np.concatenate(part, axis=1) for part in parts]


def add_products(values: Floats, terms: Sequence[str], ordered: Sequence[str], most: int) -> Floats:
    """The terms with squares and products of ordered columns besides, if all together are at most so many."""
    places = [terms.index(name) for name in ordered if name in terms]
    pairs = list(combinations_with_replacement(places, 2))
    if len(terms) + len(pairs) > most:
        return values
    return np.concatenate([values, *(values[:, [i]] * values[:, [j]] for i, j in pairs)], axis=1)


def independent_terms(values: Floats) -> list[int]:
    """Places of terms that do not follow from others, by a pivoted QR decomposition; the intercept is kept."""
    from scipy.linalg import qr

    if values.shape[1] < 2:
        return [0]
    rest = values[:, 1:] - values[:, 1:].mean(axis=0)
    found: Any = qr(rest, mode="r", pivoting=True)
    triangle, order = found
    sizes = np.abs(np.diag(triangle[: triangle.shape[1]]))
    rank = int((sizes > 1e-8 * max(float(sizes.max(initial=0.0)), 1.0)).sum())
    return [0, *(int(at) + 1 for at in sorted(order[:rank]))]


def _ordered(real: ExactTable, tables: Sequence[ExactTable], name: str) -> tuple[list[str], list[Floats]]:
    values = ordered_values(real, name)
    words = [name, f"{name}: null"] if int(np.isnan(values).sum()) >= FEW else [name]
    scaled = (standardize(values, ordered_values(table, name), FARTHEST) for table in tables)
    return words, [part[:, : len(words)] for part in scaled]


def _labels(real: ExactTable, tables: Sequence[ExactTable], name: str) -> tuple[list[str], list[Floats]]:
    shown = frequent_labels(real, name, FEW)[1 : LABELS + 1]
    words = [f"{name}: {cell_text(real.schema[name], code, code + 1)}" for code in shown.tolist()]
    return words, [indicators(table, name, shown) for table in tables]
