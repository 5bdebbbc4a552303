"""Features of rows for learners. Domains come from the schema, so both tables have the same features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.lab.tables.table import ExactTable, ordered_values
from sklar.schema import Schema

MAX_INDICATORS = 50
"""Number of labels with an indicator: the most frequent of the training rows. Others have none set."""
MAX_CLASSES = 200
"""Maximum number of classes of a target: boosting grows a tree for each of them in every round."""
MAX_FEATURE_DEVIATIONS = 20.0
"""Numbers are clipped at this number of standard deviations: outliers must not dominate a linear learner."""
Task = Literal["classification", "regression"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """Rows for a learner: codes and numbers by column, and the target."""

    table: ExactTable
    target: str
    truth: npt.NDArray[Any]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the predictors."""
        return tuple(name for name in self.table.names if name != self.target)

    def take(self, rows: Ints) -> Examples:
        """Select rows."""
        return Examples(table=self.table.take(rows), target=self.target, truth=self.truth[rows])


def task_of(schema: Schema, target: str) -> Task:
    """Return "regression" for numbers and times, "classification" for labels and booleans."""
    return "regression" if schema[target].numeric and schema[target].value_cells > 2 else "classification"


def has_too_many_classes(schema: Schema, target: str) -> bool:
    """Check whether the target has more than MAX_CLASSES classes."""
    return task_of(schema, target) == "classification" and class_count(schema, target) > MAX_CLASSES


def class_count(schema: Schema, target: str) -> int:
    """Return the number of classes: listed labels and `other`; null is not a class."""
    column = schema[target]
    return column.value_cells + (column.other_code is not None)


def select_examples(table: ExactTable, target: str) -> Examples:
    """Select the rows with a known target."""
    null = table.schema[target].null_code
    known = np.flatnonzero(table.codes[target] != null) if null is not None else np.arange(table.rows)
    kept = table if len(known) == table.rows else table.take(known)
    regression = task_of(table.schema, target) == "regression"
    return Examples(
        table=kept, target=target, truth=kept.numbers[target] if regression else kept.codes[target].astype(np.int64)
    )


def tree_features(table: ExactTable, names: tuple[str, ...]) -> tuple[Floats, list[bool]]:
    """Return one feature per column (numbers with NaN for null, or codes) and which features are nominal."""
    ordered = [table.schema[name].ordered for name in names]
    columns = [
        ordered_values(table, name) if flag else table.codes[name].astype(float)
        for name, flag in zip(names, ordered, strict=True)
    ]
    nominal = [not flag and table.schema[name].size <= 255 for name, flag in zip(names, ordered, strict=True)]
    return np.stack(columns, axis=1), nominal


def zero_empty_features(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Set features that are null in all training rows to 0, because some learners fail on them."""
    empty = np.isnan(train).all(axis=0)
    return (np.where(empty, 0.0, train), np.where(empty, 0.0, test)) if empty.any() else (train, test)


def linear_features(train: Examples, test: Examples) -> tuple[Floats, Floats]:
    """Return indicators of labels and standardized numbers, scaled by the training rows."""
    columns = [
        [_make_column_features(train.table, data.table, name) for name in train.inputs] for data in (train, test)
    ]
    return np.concatenate(columns[0], axis=1), np.concatenate(columns[1], axis=1)


def _make_column_features(train: ExactTable, table: ExactTable, name: str) -> Floats:
    if train.schema[name].ordered:
        return standardize(ordered_values(train, name), ordered_values(table, name), MAX_FEATURE_DEVIATIONS)
    # A label without an indicator, for example one not seen in training, is represented by the intercept.
    return make_indicators(table, name, frequent_labels(train, name)[:MAX_INDICATORS])


def frequent_labels(table: ExactTable, name: str, least: int = 1) -> Ints:
    """Return the codes of labels with at least `least` rows, the most frequent first."""
    counts = np.bincount(table.codes[name], minlength=table.schema.size(name))
    order = np.argsort(-counts, kind="stable")
    return order[counts[order] >= least]


def make_indicators(table: ExactTable, name: str, shown: Ints) -> Floats:
    """Return an indicator column for each of these codes."""
    return (table.codes[name][:, None] == shown).astype(np.float64)


def standardize(reference: Floats, values: Floats, farthest: float) -> Floats:
    """Standardize by mean and standard deviation of the reference; null is the mean, with an indicator."""
    known = reference[~np.isnan(reference)]
    centre, spread = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
    null = np.isnan(values)
    scaled = np.clip((np.where(null, centre, values) - centre) / (spread or 1.0), -farthest, farthest)
    return np.stack([scaled, null.astype(float)], axis=1)
