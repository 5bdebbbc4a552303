"""Samples too large for memory, in batches: the rows depend on the seed and their number only, not on the batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sklar.model.table import TableModel
from sklar.sample.conditions import Conditions, read_conditions
from sklar.sample.draw import draw_block, whole_number
from sklar.sample.rng import seed_entropy, substream
from sklar.sample.values import SampledTable, concatenate, row_count, take
from sklar.schema.table import Schema

BLOCK_ROWS = 65_536
"""Rows drawn at a time, each block from its own random stream. Part of what a seed means: do not change it."""


def stream_tables(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    *,
    seed: int | None = None,
    batch_rows: int = BLOCK_ROWS,
    given: Mapping[str, Any] | None = None,
) -> Iterator[SampledTable]:
    """Independent rows in batches of `batch_rows` (the last may be shorter), in memory of one batch and one block.

    Arguments are checked at once, not at the first batch.
    """
    rows, batch_rows = whole_number(rows, "the number of rows"), whole_number(batch_rows, "batch_rows")
    conditions = read_conditions(schema, given)
    return _batches(blocks_of(sampler, schema, range(rows), seed_entropy(seed), conditions), batch_rows)


def blocks_of(
    sampler: TableModel, schema: Schema, rows: range, entropy: int, conditions: Conditions
) -> Iterator[SampledTable]:
    """The blocks of some rows of an endless stream, the same whoever draws them and whatever else is drawn.

    Args:
        sampler: The fitted model.
        schema: The public facts and rules it was fitted with.
        rows: Places in the stream; the first is the start of a block.
        entropy: What fixes the stream, as `seed_entropy` gives it.
        conditions: What was asked of the rows.
    """
    for start in range(rows.start, rows.stop, BLOCK_ROWS):
        count, rng = min(BLOCK_ROWS, rows.stop - start), substream(entropy, start // BLOCK_ROWS)
        yield draw_block(sampler, schema, count, rng, conditions, first_key=start + 1)[0]


def _batches(blocks: Iterator[SampledTable], batch_rows: int) -> Iterator[SampledTable]:
    """The same rows regrouped."""
    waiting: list[SampledTable] = []
    held = 0
    for block in blocks:
        waiting.append(block)
        held += row_count(block)
        if held < batch_rows:
            continue
        joined = concatenate(waiting)
        whole = held - held % batch_rows
        for start in range(0, whole, batch_rows):
            yield take(joined, np.arange(start, start + batch_rows))
        waiting = [take(joined, np.arange(whole, held))] if whole < held else []
        held -= whole
    if waiting:
        yield concatenate(waiting)
