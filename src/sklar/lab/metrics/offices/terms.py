"""Terms of a regression on the columns of a table, the same in every table, in units of the real one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.lab.learning.features import frequent_labels, make_indicators, standardize
from sklar.lab.tables.table import ExactTable, ordered_values
from sklar.sample.binary import cell_text

MAX_LABEL_TERMS = 20
"""Maximum number of labels of a column with a term, without the most frequent one, which is the reference."""
MIN_TERM_ROWS = 10
"""Minimum number of real rows of a label or null for a term: with fewer, coefficients are noise."""
MAX_TERM_DEVIATIONS = 5.0
"""Numbers are clipped at this number of standard deviations: outliers must not dominate squares and products."""


def make_terms(real: ExactTable, tables: Sequence[ExactTable], names: Sequence[str]) -> tuple[list[str], list[Floats]]:
    """Return the names of the terms, starting with the intercept, and a matrix of their values for each table.

    An ordered column is centred and divided by its real standard deviation; null is 0, with its own term.
    """
    terms = ["intercept"]
    parts: list[list[Floats]] = [[np.ones((table.rows, 1))] for table in tables]
    for name in names:
        make = _make_ordered_terms if real.schema[name].ordered else _label_terms
        words, columns = make(real, tables, name)
        terms += words
        for part, column in zip(parts, columns, strict=True):
            part.append(column)
    return terms, [np.concatenate(part, axis=1) for part in parts]


def add_products(values: Floats, terms: Sequence[str], ordered: Sequence[str], most: int) -> Floats:
    """Add squares and products of ordered columns, unless that makes more than `most` terms."""
    places = [terms.index(name) for name in ordered if name in terms]
    pairs = list(combinations_with_replacement(places, 2))
    if len(terms) + len(pairs) > most:
        return values
    return np.concatenate([values, *(values[:, [i]] * values[:, [j]] for i, j in pairs)], axis=1)


def independent_terms(values: Floats) -> list[int]:
    """Return the positions of linearly independent terms by a pivoted QR decomposition; the intercept is kept."""
    from scipy.linalg import qr

    if values.shape[1] < 2:
        return [0]
    rest = values[:, 1:] - values[:, 1:].mean(axis=0)
    found: Any = qr(rest, mode="r", pivoting=True)
    triangle, order = found
    sizes = np.abs(np.diag(triangle[: triangle.shape[1]]))
    rank = int((sizes > 1e-8 * max(float(sizes.max(initial=0.0)), 1.0)).sum())
    return [0, *(int(at) + 1 for at in sorted(order[:rank]))]


def _make_ordered_terms(real: ExactTable, tables: Sequence[ExactTable], name: str) -> tuple[list[str], list[Floats]]:
    values = ordered_values(real, name)
    words = [name, f"{name}: null"] if int(np.isnan(values).sum()) >= MIN_TERM_ROWS else [name]
    scaled = (standardize(values, ordered_values(table, name), MAX_TERM_DEVIATIONS) for table in tables)
    return words, [part[:, : len(words)] for part in scaled]


def _label_terms(real: ExactTable, tables: Sequence[ExactTable], name: str) -> tuple[list[str], list[Floats]]:
    shown = frequent_labels(real, name, MIN_TERM_ROWS)[1 : MAX_LABEL_TERMS + 1]
    words = [f"{name}: {cell_text(real.schema[name], code, code + 1)}" for code in shown.tolist()]
    return words, [make_indicators(table, name, shown) for table in tables]
