"""Measured tables and the same tables of rows drawn from a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.counting.code_table import CodeTable, CountedTable
from sklar.counting.tables import exact_counts
from sklar.model.margins.units import units_to_seek
from sklar.model.pairs.interactions import centre
from sklar.model.protocol import Codes
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.lookups import Partition
from sklar.release.measurements import Measurement, split_pairs
from sklar.schema.table import Schema


def all_tables(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return every measured table of counts or interactions, one measurement each."""
    tables: list[Measurement] = []
    for one in measurements:
        if isinstance(one.query, PairCounts):
            tables += split_pairs(one)
        elif isinstance(one.query, Counts | Interaction):
            tables.append(one)
    return tables


def model_tables(schema: Schema, measurements: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """Return the measured tables whose cells rows of a model have."""
    return tuple(table for table in all_tables(measurements) if counts_cells(table, schema))


def counts_cells(table: Measurement, schema: Schema) -> bool:
    """Return whether a table counts cells that rows of a model have: not the total alone, nor units of numbers."""
    columns = table.query.columns
    search = units_to_seek(schema[columns[0]]) if len(columns) == 1 else None
    units = search is not None and np.array_equal(search.lookup, partitions_of(table)[0])
    return table.values.size > 1 and not units


def partitions_of(table: Measurement) -> tuple[Partition, ...]:
    """Return the partition of each axis of a measured table."""
    assert isinstance(table.query, Counts | Interaction)
    return table.query.partitions


def is_interaction(table: Measurement) -> bool:
    """Return whether a measurement is of the part of a table that its margins do not determine."""
    return isinstance(table.query, Interaction)


def free_dimensions(table: Measurement) -> int:
    """Return how many numbers a table measures freely: its cells, or the product of its groups less one."""
    shape = table.values.shape
    return int(np.prod([size - 1 for size in shape] if is_interaction(table) else shape))


def measured_part(table: Measurement, whole: Floats) -> Floats:
    """Return the part of a whole table that a measurement is about."""
    return centre(whole) if is_interaction(table) else whole


def group_masses(partition: Partition | Ints, mass: Floats, size: int) -> Floats:
    """Return the probability of each group, from that of each base code."""
    return np.asarray(np.bincount(partition, mass, size), dtype=np.float64)


def shares_of_rows(tables: Sequence[Measurement], schema: Schema, codes: Codes) -> list[Floats]:
    """Return the shares that some rows of a model have in the cells of tables."""
    drawn = CodeTable(columns={name: codes[:, at] for at, name in enumerate(schema.modelled)})
    specs = [(table.query.columns, partitions_of(table)) for table in tables]
    counts = exact_counts(CountedTable(schema, drawn), specs) if specs else ()
    return [table / max(len(codes), 1) for table in counts]
