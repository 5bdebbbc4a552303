"""Draw a sample on a Spark cluster: every task draws its own blocks of the stream, so rows do not depend on tasks."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sklar.errors import MissingExtraError, UsageError
from sklar.given_numbers import whole_number
from sklar.pipeline.model_file import model_digest, read_model, write_model
from sklar.pipeline.sampling.parts import PART_ROWS, part_tables
from sklar.sample.conditions import read_conditions
from sklar.sample.draw import BLOCK_ROWS
from sklar.sample.rng import seed_entropy

if TYPE_CHECKING:
    from sklar.export.parts import Parts
    from sklar.pipeline.model_file import Stored

_models: dict[str, Stored] = {}
"""Models this executor has read, by digest."""


def spark_frame(
    stored: Stored,
    rows: int,
    *,
    seed: int | None = None,
    given: Mapping[str, Any] | None = None,
    part_rows: int | None = None,
) -> Any:
    """Return a Spark data frame of independent rows; see `Model.sample`."""
    from sklar.export.arrow import arrow_schema
    from sklar.export.parts import Parts

    session = _get_active_session()
    read_conditions(stored.schema, given)  # refuses bad conditions before anything is sent
    blocks = -(-whole_number(PART_ROWS if part_rows is None else part_rows, "part_rows") // BLOCK_ROWS)
    parts = Parts(
        model=model_digest(stored),
        seed=seed_entropy(seed),  # drawn now: a frame that is used twice must be the same twice
        rows=whole_number(rows, "the number of rows"),
        part_rows=blocks * BLOCK_ROWS,
    )
    task = _make_drawing_task(_encode_model(stored), parts, dict(given) if given else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark's warnings about other libraries
        numbers = session.range(0, parts.count, 1, parts.count)
        return numbers.mapInArrow(task, _spark_type(arrow_schema(stored.schema), stored.claim.notes))


def _make_drawing_task(content: bytes, parts: Parts, given: Mapping[str, Any] | None) -> Any:
    def draw(batches: Iterator[Any]) -> Iterator[Any]:
        stored = _load_once(content, parts.model)
        for batch in batches:
            for part in batch.column(0).to_pylist():
                for table in part_tables(stored, parts, part, given):
                    yield from table.cast(_sent_schema(table.schema)).to_batches()

    return draw


def _load_once(content: bytes, digest: str) -> Stored:
    if digest not in _models:
        with tempfile.TemporaryDirectory() as private:
            path = os.path.join(private, "model.sklar")
            with open(path, "wb") as file:  # noqa: PTH123
                file.write(content)
            _models[digest] = read_model(path)
    return _models[digest]


def _encode_model(stored: Stored) -> bytes:
    with tempfile.TemporaryDirectory() as private:
        path = os.path.join(private, "model.sklar")
        write_model(stored, path)
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()


def _sent_schema(types: Any) -> Any:
    """Return the schema of batches for Spark, which has timestamps in microseconds only."""
    import pyarrow as pa

    kinds = [pa.timestamp("us", field.type.tz) if pa.types.is_timestamp(field.type) else field.type for field in types]
    return pa.schema([field.with_type(kind).with_nullable(True) for field, kind in zip(types, kinds, strict=True)])


def _spark_type(types: Any, notes: Mapping[str, str]) -> Any:
    """Return Spark's names and types; notes are attached to every column, since a frame has no metadata of its own."""
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = from_arrow_schema(_sent_schema(types), prefer_timestamp_ntz=True)
    for field in fields:
        field.metadata = {**(field.metadata or {}), **notes}
    return fields


def _get_active_session() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("a sample on Spark needs PySpark: pip install '.[spark]'") from None
    session = SparkSession.getActiveSession()
    if session is None:
        raise UsageError("there is no active Spark session: start one first")
    return session
