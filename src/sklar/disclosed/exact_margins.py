"""Margins learned from rows without noise."""

from __future__ import annotations

import numpy as np

from sklar.disclosed.metrics.table import ExactTable
from sklar.model.margin import Margin, margin_from_dense


def exact_margins(table: ExactTable) -> tuple[Margin, ...]:
    """The observed share of every base code, column by column."""
    return tuple(_margin(table, name) for name in table.names)


def _margin(table: ExactTable, name: str) -> Margin:
    exact_counts = np.bincount(table.codes[name], minlength=table.schema.size(name))
    return margin_from_dense(name, exact_counts / table.rows)
