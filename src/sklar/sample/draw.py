"""One block of a sample: codes from the model, values inside their cells, and the rules and conditions on rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sklar.errors import UnsupportedConditionError, UsageError
from sklar.sample.conditions import Conditions, allowed_codes, conditions_hold, read_conditions, restrictions
from sklar.sample.constraints import enforce
from sklar.sample.decode import decode, with_keys
from sklar.sample.rng import generator
from sklar.sample.values import Mask, SampledTable
from sklar.schema.table import Schema

Codes = npt.NDArray[np.int32]

MOST_ROWS_AT_ONCE = 200_000_000
"""A sample in memory is refused beyond this; streams have no limit."""


THINNING_ROUNDS = 20


class Sampler(Protocol):
    """What sampling needs of a model: base codes of the modelled columns, one row a record."""

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent draws."""
        ...

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Draws of the same law whose totals vary less."""
        ...

    def simulate_given(self, rows: int, allowed: Mapping[int, Mask], rng: np.random.Generator) -> tuple[Codes, float]:
        """Draws whose codes are all allowed, and how many independent draws they are worth."""
        ...


def sample_table(
    sampler: Sampler,
    schema: Schema,
    rows: int,
    *,
    seed: int | None = None,
    given: Mapping[str, Any] | None = None,
    iid: bool = False,
) -> SampledTable:
    """A sample in memory.

    Args:
        sampler: The fitted model.
        schema: The public facts and rules it was fitted with.
        rows: How many rows.
        seed: Any whole number; the same seed gives the same sample.
        given: Conditions on columns, as read by `read_conditions`.
        iid: Independent rows. By default totals vary less than those of independent rows would.
    """
    return sample_with_worth(sampler, schema, rows, seed=seed, given=given, iid=iid)[0]


def sample_with_worth(
    sampler: Sampler,
    schema: Schema,
    rows: int,
    *,
    seed: int | None = None,
    given: Mapping[str, Any] | None = None,
    iid: bool = False,
) -> tuple[SampledTable, float]:
    """As `sample_table`, and how many independent rows the sample is worth (fewer if conditions are rare)."""
    rows = whole_number(rows, "the number of rows")
    if rows > MOST_ROWS_AT_ONCE:
        raise UsageError(f"a sample in memory has at most {MOST_ROWS_AT_ONCE:,} rows; stream a larger one in batches.")
    conditions = read_conditions(schema, given)
    return draw_block(sampler, schema, rows, generator(seed), conditions, rounded=not iid)


def draw_block(
    sampler: Sampler,
    schema: Schema,
    rows: int,
    rng: np.random.Generator,
    conditions: Conditions,
    *,
    rounded: bool = False,
    first_key: int = 1,
) -> tuple[SampledTable, float]:
    """Rows that obey all conditions and rules, with keys from `first_key` on, and what they are worth."""
    worths: list[float] = []

    def draw(count: int, first: bool = False) -> SampledTable:
        codes, worth = _codes(sampler, schema, count, rng, conditions, rounded=rounded and first)
        worths.append(worth / count)
        return decode(schema, codes, rng, restrictions(conditions))

    def as_asked(table: SampledTable) -> Mask:
        return conditions_hold(schema, conditions, table)

    table = enforce(schema, draw(rows, first=True), draw, rng, as_asked if conditions else None)
    return with_keys(schema, table, rows, first_key), rows * min(1.0, float(np.mean(worths)))


def whole_number(value: Any, what: str) -> int:
    """A whole number of at least one, or a plain refusal."""
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise UsageError(f"{what} must be a whole number of at least 1; found {value!r}.")
    return number


def _codes(
    sampler: Sampler, schema: Schema, rows: int, rng: np.random.Generator, conditions: Conditions, *, rounded: bool
) -> tuple[Codes, float]:
    """Codes of rows, and how many independent rows they are worth."""
    if not conditions:
        return (sampler.simulate_rounded if rounded else sampler.simulate)(rows, rng), float(rows)
    shares = {schema.modelled.index(n): c.share for n, c in conditions.items() if c.share is not None}
    if all((share == 1).all() for share in shares.values()):
        return _given_codes(sampler, schema, rows, rng, conditions)
    return _thinned(lambda count: _given_codes(sampler, schema, count, rng, conditions), rows, shares, rng)


def _given_codes(
    sampler: Sampler, schema: Schema, rows: int, rng: np.random.Generator, conditions: Conditions
) -> tuple[Codes, float]:
    codes, worth = sampler.simulate_given(rows, allowed_codes(schema, conditions), rng)
    if len(codes) != rows or not worth >= 1:
        named = ", ".join(f"'{name}'" for name in conditions)
        raise UnsupportedConditionError(
            f"the model has next to no rows with what was asked of {named}; ask for wider ranges or fewer columns."
        )
    return codes, worth


def _thinned(
    draw: Callable[[int], tuple[Codes, float]],
    rows: int,
    shares: Mapping[int, npt.NDArray[np.float64]],
    rng: np.random.Generator,
) -> tuple[Codes, float]:
    """Codes kept with the share of their cell that is asked for; if that takes too long, picked with that weight."""
    kept: list[Codes] = []
    missing, worth = rows, 0.0
    codes, weights = np.empty((0, 0), np.int32), np.empty(0)
    for _ in range(THINNING_ROUNDS):
        codes, worth_of_draw = draw(2 * missing + 16)
        weights = np.prod([share[codes[:, j]] for j, share in shares.items()], axis=0)
        accepted = np.flatnonzero(rng.random(len(codes)) < weights)[:missing]
        kept.append(codes[accepted])
        missing -= len(accepted)
        worth += worth_of_draw * len(accepted) / len(codes)
        if not missing:
            return np.asfortranarray(np.concatenate(kept)), worth
    kept.append(codes[rng.choice(len(codes), missing, p=weights / weights.sum())])
    return np.asfortranarray(np.concatenate(kept)), max(worth, 1.0)
