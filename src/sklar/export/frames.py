"""Arrow tables as pandas or polars data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sklar.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas
    import polars


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """A pandas data frame; integers and truth values with nulls keep their type."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas is not installed; run: pip install pandas") from None
    nullable = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
    wanted = {t: d for t, d in nullable.items() if any(f.type == t and table[f.name].null_count for f in table.schema)}
    return table.to_pandas(types_mapper=wanted.get)


def to_polars(table: pa.Table) -> polars.DataFrame:
    """A polars data frame."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars is not installed; run: pip install polars") from None
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    return frame
