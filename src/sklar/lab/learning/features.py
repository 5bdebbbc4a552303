"""Rows as features for learners. Domains come from the schema, so both tables get the same features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.lab.tables.table import ExactTable, ordered_values
from sklar.schema import Schema

LABELS = 50
"""Labels that get an indicator: the most frequent of the training rows. Others, seen or not, have none set."""
CLASSES = 200
Task = Literal["classification", "regression"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """What a learner sees: codes and numbers by column, and the target."""

    table: ExactTable
    target: str
    truth: npt.NDArray[Any]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that predict."""
        return tuple(name for name in self.table.names if name != self.target)


def task_of(schema: Schema, target: str) -> Task:
    """Numbers and moments are regressed on; labels and booleans are classified."""
    return "regression" if schema[target].numeric and schema[target].value_cells > 2 else "classification"


def class_count(schema: Schema, target: str) -> int:
    """Number of classes: listed labels and `other`; null is not a class."""
    column = schema[target]
    return column.value_cells + (column.other_code is not None)


def examples(table: ExactTable, target: str) -> Examples:
    """The rows in which the target is known."""
    column = table.schema[target]
    codes = table.codes[target].astype(np.int64)
    known = np.flatnonzero(codes != column.null_code) if column.null_code is not None else np.arange(table.rows)
    kept = table if len(known) == table.rows else table.take(known)
    if task_of(table.schema, target) == "regression":
        return Examples(table=kept, target=target, truth=kept.numbers[target])
    return Examples(table=kept, target=target, truth=kept.codes[target].astype(np.int64))


def tree_features(data: Examples) -> tuple[Floats, list[bool]]:
    """One feature a column: ordered ones as numbers with NaN for null, others as codes; and which are nominal."""
    schema = data.table.schema
    columns = [
        ordered_values(data.table, name) if schema[name].ordered else data.table.codes[name].astype(float)
        for name in data.inputs
    ]
    nominal = [not schema[name].ordered and schema[name].size <= 255 for name in data.inputs]
    return np.stack(columns, axis=1), nominal


def without_empty(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Features that are null in all training rows say nothing, and some learners stumble over them: they become 0."""
    empty = np.isnan(train).all(axis=0)
    return (np.where(empty, 0.0, train), np.where(empty, 0.0, test)) if empty.any() else (train, test)


def flat_features(train: Examples, *others: Examples) -> list[Floats]:
    """Indicators of labels and standardized numbers, all settings taken from the training rows."""
    blocks: list[list[Floats]] = [[] for _ in range(1 + len(others))]
    for name in train.inputs:
        settings = _settings(train.table, name)
        for made, data in zip(blocks, (train, *others), strict=True):
            made.append(_flat(data.table, name, settings))
    return [np.concatenate(made, axis=1) for made in blocks]


def _settings(table: ExactTable, name: str) -> tuple[float, float] | Ints:
    if not table.schema[name].ordered:
        counts = np.bincount(table.codes[name], minlength=table.schema[name].size)
        shown = np.argsort(-counts, kind="stable")[:LABELS]
        place = np.full(len(counts), -1)
        place[shown[counts[shown] > 0]] = np.arange((counts[shown] > 0).sum())
        return place
    known = ordered_values(table, name)
    known = known[~np.isnan(known)]
    return (float(known.mean()), float(known.std()) or 1.0) if len(known) else (0.0, 1.0)


def _flat(table: ExactTable, name: str, settings: tuple[float, float] | Ints) -> Floats:
    if isinstance(settings, tuple):
        center, spread = settings
        values = ordered_values(table, name)
        null = np.isnan(values)
        scaled = np.clip((np.where(null, center, values) - center) / spread, -20.0, 20.0)
        return np.stack([scaled, null.astype(float)], axis=1)
    width = int(settings.max()) + 1
    # A label without an indicator, one never seen in training for instance, sets none: the intercept speaks for it.
    return np.concatenate([np.eye(width), np.zeros((1, width))])[settings[table.codes[name]]]
