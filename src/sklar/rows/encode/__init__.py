"""From values to base codes, one file a family of kinds; the value rules live here and never raise.

A code depends on its value alone (that of a coordinate on the values of its row): never on its neighbours, on an
inferred type or on a dialect. Start with `labels` or `numbers`; `coordinates` puts several values of a row into one
code, `arrays` undoes the layouts in which values come, `text` is the one form of text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.rows.encode.arrays import Encoder, plain_codes
from sklar.rows.encode.classes import class_encoder
from sklar.rows.encode.labels import boolean_encoder, labels_encoder
from sklar.rows.encode.moment import moment_encoder
from sklar.rows.encode.numbers import integer_encoder, real_encoder
from sklar.schema import Column

ENCODERS: dict[str, Callable[[Any, tuple[str, ...]], Encoder]] = {
    "category": labels_encoder,
    "ordinal": labels_encoder,
    "boolean": boolean_encoder,
    "integer": integer_encoder,
    "real": real_encoder,
    "datetime": moment_encoder,
    "unknown": class_encoder,
}


def encoder_of(column: Column, null_values: tuple[str, ...] = ()) -> Callable[[Any], npt.NDArray[Any]]:
    """Return a function from any Arrow array to the base codes of `column`, in the smallest type that fits."""
    encode, dtype = ENCODERS[column.kind](column, null_values), np.min_scalar_type(max(column.size - 1, 0))

    def codes_of(array: Any) -> npt.NDArray[Any]:
        return plain_codes(array, encode).astype(dtype, copy=False)

    return codes_of
