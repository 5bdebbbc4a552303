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
"""A target with more classes is not learned: boosting grows a tree for each of them in every round."""
FARTHEST = 20.0
"""Standard deviations at which a number is clipped: a few far values must not rule a linear learner."""
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

    def take(self, rows: Ints) -> Examples:
        """Some of the rows."""
        return Examples(table=self.table.take(rows), target=self.target, truth=self.truth[rows])


def task_of(schema: Schema, target: str) -> Task:
    """Numbers and moments are regressed on; labels and booleans are classified."""
    return "regression" if schema[target].numeric and schema[target].value_cells > 2 else "classification"


def has_too_many_classes(schema: Schema, target: str) -> bool:
    """Whether the target is one of labels, and of more than CLASSES."""
    return task_of(schema, target) == "classification" and class_count(schema, target) > CLASSES


def class_count(schema: Schema, target: str) -> int:
    """Number of classes: listed labels and `other`; null is not a class."""
    column = schema[target]
    return column.value_cells + (column.other_code is not None)


def examples(table: ExactTable, target: str) -> Examples:
    """The rows in which the target is known."""
    null = table.schema[target].null_code
    known = np.flatnonzero(table.codes[target] != null) if null is not None else np.arange(table.rows)
    kept = table if len(known) == table.rows else table.take(known)
    regression = task_of(table.schema, target) == "regression"
    return Examples(
        table=kept, target=target, truth=kept.numbers[target] if regression else kept.codes[target].astype(np.int64)
    )


def tree_features(table: ExactTable, names: tuple[str, ...]) -> tuple[Floats, list[bool]]:
    """One feature a column: ordered ones as numbers with NaN for null, others as codes; and which are nominal."""
    ordered = [table.schema[name].ordered for name in names]
    columns = [
        ordered_values(table, name) if flag else table.codes[name].astype(float)
        for name, flag in zip(names, ordered, strict=True)
    ]
    nominal = [not flag and table.schema[name].size <= 255 for name, flag in zip(names, ordered, strict=True)]
    return np.stack(columns, axis=1), nominal


def without_empty(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Features that are null in all training rows say nothing, and some learners stumble over them: they become 0."""
    empty = np.isnan(train).all(axis=0)
    return (np.where(empty, 0.0, train), np.where(empty, 0.0, test)) if empty.any() else (train, test)


def flat_features(train: Examples, test: Examples) -> tuple[Floats, Floats]:
    """Indicators of labels and standardized numbers, all settings taken from the training rows."""
    columns = [[_flat(train.table, data.table, name) for name in train.inputs] for data in (train, test)]
    return np.concatenate(columns[0], axis=1), np.concatenate(columns[1], axis=1)


def _flat(train: ExactTable, table: ExactTable, name: str) -> Floats:
    if train.schema[name].ordered:
        return standardize(ordered_values(train, name), ordered_values(table, name), FARTHEST)
    # A label without an indicator, one never seen in training for instance, sets none: the intercept speaks for it.
    return indicators(table, name, frequent_labels(train, name)[:LABELS])


def frequent_labels(table: ExactTable, name: str, least: int = 1) -> Ints:
    """Codes of the labels with so many rows at least, the most frequent first."""
    counts = np.bincount(table.codes[name], minlength=table.schema.size(name))
    order = np.argsort(-counts, kind="stable")
    return order[counts[order] >= least]


def indicators(table: ExactTable, name: str, shown: Ints) -> Floats:
    """For each of these codes a column that says which rows have it."""
    return (table.codes[name][:, None] == shown).astype(np.float64)


def standardize(reference: Floats, values: Floats, farthest: float) -> Floats:
    """Centred by the mean and divided by the standard deviation of the reference; null is the mean, with a mark."""
    known = reference[~np.isnan(reference)]
    centre, spread = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
    null = np.isnan(values)
    scaled = np.clip((np.where(null, centre, values) - centre) / (spread or 1.0), -farthest, farthest)
    return np.stack([scaled, null.astype(float)], axis=1)
