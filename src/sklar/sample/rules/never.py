"""Rows without a forbidden combination of values."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, Values
from sklar.schema.rules import Label, Never
from sklar.schema.table import Schema


def never_holds(schema: Schema, rule: Never, table: SampledTable) -> Mask:
    """Return the rows that do not have all of the values at once."""
    return ~reduce(np.logical_and, (find_equal(table[name], value) for name, value in rule.pairs))


def find_equal(values: Values, value: Label) -> Mask:
    """Return the rows whose value is `value`; nulls are not."""
    if values.labels is not None and value not in values.labels:
        return np.zeros(len(values.data), bool)
    return ~values.null & (values.data == stored_value(values, value))


def stored_value(values: Values, value: Label) -> Any:
    """Return the stored form of a value of the schema."""
    return values.labels.index(str(value)) if values.labels is not None else value
