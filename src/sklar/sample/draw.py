"""One block of a sample: codes from the model, values inside their cells, and the rules and conditions on rows."""

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
from sklar.model.proportion import in_proportion
from sklar.model.protocol import Codes, InParts, TableModel, joined
from sklar.sample.assemble import assemble
from sklar.sample.conditions import Condition, Conditions, conditions_hold, read_conditions, restrictions, wanted_shares
from sklar.sample.decode import SampledTable, Values, concatenate, decode, row_count, take, with_keys
from sklar.sample.persons import DrawnPersons, draw_persons, draw_rows_of_persons
from sklar.sample.raking import Law
from sklar.sample.rng import generator, seed_entropy, substream
from sklar.sample.rules.enforce import Drawn, enforce
from sklar.sample.rules.totals import meet_totals
from sklar.sample.translate import on_coordinates
from sklar.schema.coordinates import fitted_coordinates, linked_views
from sklar.schema.rules import Totals
from sklar.schema.table import Schema

Given = Mapping[str, Any] | None
"""Conditions on columns, as read by `read_conditions`."""
Told = Callable[[int], None]
"""Told how many more rows there are."""

MOST_ROWS_AT_ONCE = 200_000_000
"""A sample in memory is refused beyond this; streams have no limit."""
BLOCK_ROWS = 65_536
"""Rows of a stream drawn at a time, each block by its own generator. Part of what a seed means: do not change it."""


def sample_with_worth(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    *,
    seed: int | None = None,
    given: Given = None,
    iid: bool = False,
    drawn: Told | None = None,
) -> tuple[SampledTable, float]:
    """A sample in memory, and how many independent rows it is worth (fewer if conditions are rare).

    The same seed gives the same sample. Rows are independent if so asked (`iid`); by default totals vary less than
    those of independent rows would. `drawn` is told how many more rows there are.
    """
    rows = whole_number(rows, "the number of rows")
    if rows > MOST_ROWS_AT_ONCE:
        raise UsageError(f"a sample in memory has at most {MOST_ROWS_AT_ONCE:,} rows; stream a larger one in batches.")
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
    drawn: Told | None = None,
) -> tuple[SampledTable, float]:
    """Rows that obey all conditions and rules, with keys from `first_key` on, and what they are worth.

    Their order tells nothing: rows that were chosen together, each in view of those before, are shuffled at the end.
    """
    if isinstance(sampler, LinkedModel):
        if schema.person is not None and schema.person.parents is not None:
            raise UsageError("this model tells two tables: draw whole persons with sample_persons")
        law = _law(sampler, schema, rng, conditions, rounded)
        found = draw_rows_of_persons(sampler, schema, rows, law, rng, rounded and _of_static(schema, conditions))
        return _keyed(schema, found, first_key), rows * found.worth / found.persons
    table, worth = _draw_rows(sampler, schema, rows, rng, conditions, rounded=rounded, told=drawn)
    if totals := not conditions and any(isinstance(rule, Totals) for rule in schema.rules):

        def more(count: int, given: Mapping[str, Any]) -> SampledTable:
            return _draw_rows(sampler, schema, count, rng, read_conditions(schema, given))[0]

        table = meet_totals(schema, table, more, rng)
    if rounded or conditions or totals:
        table = take(table, rng.permutation(rows))
    return with_keys(schema, table, rows, first_key), worth


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
    """So many whole persons in memory, each with its rows one after the other, and what they are worth.

    The tables are by name: of two, the parents and the rows that belong to them, which have their keys; else one.
    """
    rng, persons = generator(seed), whole_number(persons, "the number of persons")
    conditions = read_conditions(schema, given)
    if persons > MOST_ROWS_AT_ONCE // sampler.parts[0].margins[-1].size:
        raise UsageError(f"a sample in memory has at most {MOST_ROWS_AT_ONCE:,} rows; stream a larger one in batches.")
    law = _law(sampler, schema, rng, conditions, not iid)
    found = draw_persons(sampler, schema, persons, law, rng, not iid and _of_static(schema, conditions))
    return keyed_tables(schema, found), found.worth


def keyed_tables(schema: Schema, found: DrawnPersons) -> dict[str, SampledTable]:
    """Rows of persons with fresh keys, and where these have a table of their own, the persons."""
    assert schema.person is not None
    names, rows = schema.person.parents, _keyed(schema, found)
    if names is None:
        return {"": rows}
    key = Values(data=np.arange(1, found.persons + 1, dtype=np.int64), null=np.zeros(found.persons, bool))
    return {names.table: {names.key: key, **found.heads}, names.rows: rows}


def _law(sampler: LinkedModel, schema: Schema, rng: np.random.Generator, conditions: Conditions, rounded: bool) -> Law:
    """What draws rows of the tables that tell persons, with what is asked of each."""
    wide, views = linked_views(schema)
    declared = {view.name: view.by.declared for view in views}
    asked: dict[str, dict[str, Condition]] = {name: {} for name in declared}
    for name, condition in conditions.items():
        for table in declared if name in wide.static else (wide.begins.name,):
            asked[table][wide.asked[name]] = condition
    return lambda name, rows: _draw_rows(sampler.part(name), declared[name], rows, rng, asked[name], rounded=rounded)


def _of_static(schema: Schema, conditions: Conditions) -> bool:
    """Whether all that is asked of persons is what never changes: then every table that tells them tells it too, so
    that what is expected of their rows is known."""
    return set(conditions) <= set(linked_views(schema)[0].static)


def _keyed(schema: Schema, found: DrawnPersons, first_key: int = 1) -> SampledTable:
    """The rows with fresh keys: of the person in the key of the schema, of the row in its other id columns."""
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
    told: Told | None = None,
) -> tuple[SampledTable, float]:
    """Rows that obey all conditions and every rule on rows, and what they are worth."""
    drawn = worth = 0.0
    by = fitted_coordinates(schema, (margin.column for margin in sampler.margins))
    sampler = in_proportion(sampler, by.schema.modelled, by.rows_of_person)
    asked = on_coordinates(by, conditions)
    heaps = {margin.column: margin.heaps for margin in sampler.margins if margin.heaps}

    def draw(count: int, first: bool = False) -> Drawn:
        nonlocal drawn, worth
        tell = told if first and told is not None else _tell_nobody
        codes, found = _codes(sampler, by.schema, count, rng, asked, rounded=rounded and first, tell=tell)
        drawn, worth = drawn + count, worth + found
        return assemble(by, decode(by.schema, codes, rng, restrictions(asked), heaps), rng)

    as_asked = partial(conditions_hold, schema, conditions) if conditions else None
    return enforce(schema, draw(rows, first=True), draw, rng, as_asked), rows * worth / drawn


def _codes(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    rng: np.random.Generator,
    conditions: Conditions,
    *,
    rounded: bool,
    tell: Told,
) -> tuple[Codes, float]:
    """Codes of rows, and how many independent rows they are worth."""
    if rounded and not conditions and isinstance(sampler, InParts):
        parts = _telling(sampler.rounded_parts(rows, rng), tell)
        return joined(parts, rows, len(sampler.margins)), float(rows)
    if conditions:
        found = simulate_given(sampler, rows, wanted_shares(schema, conditions), rng)
    else:
        found = (sampler.simulate_rounded if rounded else sampler.simulate)(rows, rng), float(rows)
    tell(rows)
    return found


def _telling(parts: Iterator[Codes], tell: Told) -> Iterator[Codes]:
    for part in parts:
        tell(len(part))
        yield part


def _tell_nobody(more: int) -> None:
    """Where nobody asked."""


def stream_tables(
    sampler: TableModel,
    schema: Schema,
    rows: int,
    *,
    seed: int | None = None,
    batch_rows: int = BLOCK_ROWS,
    given: Given = None,
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

    Rows are places in the stream, the first at the start of a block; `seed_entropy` gives what fixes the stream.
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
