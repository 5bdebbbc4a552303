"""Any Arrow array as the texts that a list of labels would match it with, for finding labels nobody listed.

The inverse of the rules of `labels`: text stands for itself, an integer for its digits, a whole float for the same
digits, any other float for its shortest text, a truth value for true or false.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.rows.encode.arrays import floats_of
from sklar.rows.encode.text import is_text, spelled

WHOLE = 2.0**63


def label_texts(array: Any) -> Any:
    """A plain Arrow array of strings or bytes; null where a value has no text."""
    import pyarrow as pa

    array = _unwrapped(array)
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if is_text(array.type):
        return array
    return _float_texts(array) if pa.types.is_floating(array.type) else spelled(array)


def _unwrapped(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        return _unwrapped(array.storage)
    if pa.types.is_dictionary(array.type):
        return _unwrapped(array.dictionary_decode())
    if pa.types.is_run_end_encoded(array.type):
        return _unwrapped(pc.call_function("run_end_decode", [array]))
    return array


def _float_texts(array: Any) -> Any:
    """Each distinct float is spelled once."""
    import pyarrow as pa

    numbers = floats_of(array)
    assert numbers is not None
    values, valid = numbers
    distinct, places = np.unique(np.where(valid, values, 0.0), return_inverse=True)
    narrow = array.type.to_pandas_dtype()
    texts = [str(int(x)) if abs(x) < WHOLE and x == int(x) else str(narrow(x)) for x in distinct.tolist()]
    return pa.array(texts, type=pa.large_string()).take(pa.array(places, mask=~valid))
