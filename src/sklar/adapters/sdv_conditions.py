"""Conditions of SDV, objects or frames, as the conditions of a sample."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklar.errors import UsageError


def read_conditions(conditions: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return (rows, values by column) of each of SDV's conditions.

    Args:
        conditions: Objects with `num_rows` and `column_values`, as `sdv.sampling.Condition`, or with a frame of
            one row for each row wanted, as `sdv.sampling.DataFrameCondition`.
    """
    if not isinstance(conditions, Iterable) or isinstance(conditions, str | dict):
        conditions = [conditions]
    found: list[tuple[int, dict[str, Any]]] = []
    for one in conditions:
        frame = getattr(one, "dataframe", None)
        if frame is not None:
            found += [(1, dict(row)) for row in frame.to_dict("records")]
        elif hasattr(one, "num_rows"):
            values = one.column_values if hasattr(one, "column_values") else one.get_column_values()
            found.append((int(one.num_rows), dict(values)))
        else:
            raise UsageError(
                "conditions must be objects with num_rows and column_values, such as sdv.sampling.Condition"
            )
    return found
