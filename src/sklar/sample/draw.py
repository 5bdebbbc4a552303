"""Draw one block of a sample: codes from the model, values inside their cells, rules and conditions on rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from sklar.arrays import one_blas_thread
from sklar.errors import UsageError
from sklar.given_numbers import whole_number
from sklar.model.conditioning import simulate_given
from sklar.model.linked import LinkedModel
from sklar.model.margins.margin import heaping_of
from sklar.model.proportion import in_proportion
from sklar.model.protocol import Codes, InParts, TableModel, join_proposals
from sklar.sample.assemble import assemble
from sklar.sample.conditions import (
    Condition,
    Conditions,
    conditions_hold,
    list_restrictions,
    read_conditions,
    wanted_shares,
)
from sklar.sample.decode import SampledTable, Values, concatenate, decode, row_count, take, with_keys
from sklar.sample.persons import DrawnPersons, draw_persons, draw_rows_of_persons
from sklar.sample.raking import ViewSampler
from sklar.sample.rng import generator, seed_entropy, substream
from sklar.sample.rules.enforce import Drawn, enforce
from sklar.sample.rules.totals import meet_totals
from sklar.sample.translate import on_coordinates
from sklar.schema.coordinates import fitted_coordinates, linked_views
from sklar.schema.rules import Totals
from sklar.schema.table import Schema

Given = Mapping[str, Any] | None
"""Conditions on columns, as read by `read_conditions`."""
RowsProgress = Callable[[int], None]
"""Progress callback: called with the number of rows that were drawn."""

MAX_SAMPLE_ROWS = 200_000_000
"""Maximum number of rows of a sample in memory; streams have no limit."""
BLOCK_ROWS = 65_536
"""Rows of a stream drawn at a time, each block by its own generator. The rows of a seed depend on it: do not change."""


def draw_sample(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    *,
    seed: int | None = None,
    given: Given = None,
    iid: bool = False,
    drawn: RowsProgress | None = None,
) -> tuple[SampledTable, float]:
    """Draw a sample in memory; return it with its effective sample size, which is smaller if conditions are rare.

    The same seed gives the same sample. By default totals vary less than those of independent rows (`iid`).
    """
    rows = whole_number(rows, "the number of rows")
    if rows > MAX_SAMPLE_ROWS:
        raise UsageError(f"a sample in memory has at most {MAX_SAMPLE_ROWS:,} rows; stream a larger one in batches.")
    conditions = read_conditions(schema, given)
    return draw_block(sampler, schema, rows, generator(seed), conditions, rounded=not iid, drawn=drawn)


@one_blas_thread()
def draw_block(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    rng: np.random.Generator,
    conditions: Conditions,
    *,
    rounded: bool = False,
    first_key: int = 1,
    drawn: RowsProgress | None = None,
) -> tuple[SampledTable, float]:
    """Draw rows that obey all conditions and rules, with keys from `first_key` on; return the effective size, too.

    Rows that are not independent are shuffled at the end, so that their order contains no information.
    """
    if isinstance(sampler, LinkedModel):
        if schema.person is not None and schema.person.parents is not None:
            raise UsageError("this model has two tables: draw whole persons with sample_persons")
        draw_view = _view_sampler(sampler, schema, rng, conditions, rounded)
        found = draw_rows_of_persons(sampler, schema, rows, draw_view, rng, rounded and _of_static(schema, conditions))
        return _keyed(schema, found, first_key), rows * found.effective / found.persons
    table, effective = _draw_rows(sampler, schema, rows, rng, conditions, rounded=rounded, progress=drawn)
    if totals := not conditions and any(isinstance(rule, Totals) for rule in schema.rules):

        def more(count: int, given: Mapping[str, Any]) -> SampledTable:
            return _draw_rows(sampler, schema, count, rng, read_conditions(schema, given))[0]

        table = meet_totals(schema, table, more, rng)
    if rounded or conditions or totals:
        table = take(table, rng.permutation(rows))
    return with_keys(schema, table, rows, first_key), effective


@one_blas_thread()
def sample_persons(
    sampler: LinkedModel,
    schema: Schema,
    persons: int,
    *,
    seed: int | None = None,
    given: Given = None,
    iid: bool = False,
) -> tuple[dict[str, SampledTable], float]:
    """Draw whole persons in memory, each with its rows in order; return tables by name and the effective size.

    With two tables these are the parents and their rows, which have the parents' keys; otherwise there is one.
    """
    rng, persons = generator(seed), whole_number(persons, "the number of persons")
    conditions = read_conditions(schema, given)
    if persons > MAX_SAMPLE_ROWS // sampler.parts[0].margins[-1].size:
        raise UsageError(f"a sample in memory has at most {MAX_SAMPLE_ROWS:,} rows; stream a larger one in batches.")
    draw_view = _view_sampler(sampler, schema, rng, conditions, not iid)
    found = draw_persons(sampler, schema, persons, draw_view, rng, not iid and _of_static(schema, conditions))
    return keyed_tables(schema, found), found.effective


def keyed_tables(schema: Schema, found: DrawnPersons) -> dict[str, SampledTable]:
    """Return the rows of persons with fresh keys, and the parents if they have a table of their own."""
    assert schema.person is not None
    names, rows = schema.person.parents, _keyed(schema, found)
    if names is None:
        return {"": rows}
    key = Values(data=np.arange(1, found.persons + 1, dtype=np.int64), null=np.zeros(found.persons, bool))
    return {names.table: {names.key: key, **found.heads}, names.rows: rows}


def _view_sampler(
    sampler: LinkedModel, schema: Schema, rng: np.random.Generator, conditions: Conditions, rounded: bool
) -> ViewSampler:
    """Return a function that draws rows of each view of longitudinal data, under the conditions on it."""
    wide, views = linked_views(schema)
    declared = {view.name: view.by.declared for view in views}
    by_table: dict[str, dict[str, Condition]] = {name: {} for name in declared}
    for name, condition in conditions.items():
        for table in declared if name in wide.static else (wide.begins.name,):
            by_table[table][wide.person_columns[name]] = condition
    return lambda name, rows: _draw_rows(sampler.part(name), declared[name], rows, rng, by_table[name], rounded=rounded)


def _of_static(schema: Schema, conditions: Conditions) -> bool:
    """Return whether conditions are on static columns only: then the expected counts of every view are known."""
    return set(conditions) <= set(linked_views(schema)[0].static)


def _keyed(schema: Schema, found: DrawnPersons, first_key: int = 1) -> SampledTable:
    """Return rows with fresh keys: of the person in the person's key, of the row in other id columns."""
    assert schema.person is not None
    table = with_keys(schema, found.table, len(found.person), first_key)
    key = Values(data=found.person + first_key, null=np.zeros(len(found.person), bool))
    return {name: key if name == schema.person.key else values for name, values in table.items()}


def _draw_rows(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    rng: np.random.Generator,
    conditions: Conditions,
    *,
    rounded: bool = False,
    progress: RowsProgress | None = None,
) -> tuple[SampledTable, float]:
    """Draw rows that obey all conditions and every rule on rows; return their effective sample size, too."""
    drawn = effective = 0.0
    by = fitted_coordinates(schema, (margin.column for margin in sampler.margins))
    sampler = in_proportion(sampler, by.schema.modelled, by.rows_of_person)
    wanted = on_coordinates(by, conditions)
    heaping = heaping_of(sampler.margins)

    def draw(count: int, first: bool = False) -> Drawn:
        nonlocal drawn, effective
        report = progress if first and progress is not None else _no_progress
        codes, found = _codes(sampler, by.schema, count, rng, wanted, rounded=rounded and first, report=report)
        drawn, effective = drawn + count, effective + found
        return assemble(by, decode(by.schema, codes, rng, list_restrictions(wanted), heaping), rng)

    meets_conditions = partial(conditions_hold, schema, conditions) if conditions else None
    return enforce(schema, draw(rows, first=True), draw, rng, meets_conditions), rows * effective / drawn


def _codes(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    rng: np.random.Generator,
    conditions: Conditions,
    *,
    rounded: bool,
    report: RowsProgress,
) -> tuple[Codes, float]:
    """Draw codes of rows; return their effective sample size, too."""
    if rounded and not conditions and isinstance(sampler, InParts):
        parts = _with_progress(sampler.rounded_parts(rows, rng), report)
        return join_proposals(parts, rows, len(sampler.margins)), float(rows)
    if conditions:
        found = simulate_given(sampler, rows, wanted_shares(schema, conditions, heaping_of(sampler.margins)), rng)
    else:
        found = (sampler.simulate_rounded if rounded else sampler.simulate)(rows, rng), float(rows)
    report(rows)
    return found


def _with_progress(parts: Iterator[Codes], report: RowsProgress) -> Iterator[Codes]:
    for part in parts:
        report(len(part))
        yield part


def _no_progress(more: int) -> None:
    """Ignore progress."""


def stream_tables(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    *,
    seed: int | None = None,
    batch_rows: int = BLOCK_ROWS,
    given: Given = None,
) -> Iterator[SampledTable]:
    """Yield independent rows in batches of `batch_rows` (the last may be shorter), in bounded memory.

    Arguments are validated at once, not at the first batch.
    """
    rows, batch_rows = whole_number(rows, "the number of rows"), whole_number(batch_rows, "batch_rows")
    conditions = read_conditions(schema, given)
    return _batches(blocks_of(sampler, schema, range(rows), seed_entropy(seed), conditions), batch_rows)


def blocks_of(
    sampler: TableModel, schema: Schema, rows: range, entropy: int, conditions: Conditions
) -> Iterator[SampledTable]:
    """Yield the blocks of some rows of an infinite stream; they depend on entropy and position alone.

    Rows are positions in the stream, the first at the start of a block; `entropy` comes from `seed_entropy`.
    """
    for start in range(rows.start, rows.stop, BLOCK_ROWS):
        count, rng = min(BLOCK_ROWS, rows.stop - start), substream(entropy, start // BLOCK_ROWS)
        yield draw_block(sampler, schema, count, rng, conditions, first_key=start + 1)[0]


def _batches(blocks: Iterator[SampledTable], batch_rows: int) -> Iterator[SampledTable]:
    """Regroup rows into batches."""
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
