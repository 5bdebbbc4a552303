"""Guess numbers that measure or count something, with round bounds and a suitable grid."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from sklar.lab.drafting.guess import Guess, known_range, rough_share
from sklar.lab.drafting.profile import Numbers, Profile, count_decimals, find_sentinels, frequent_numbers, parse_numbers
from sklar.schema.columns import INT64_MAX, INT64_MIN
from sklar.schema.grid import MAX_UNIT_CELLS
from sklar.schema.numbers import Integer, Real

BOUND_STEPS = 20
"""Bounds are multiples of a round step, of which about this number spans the values. More steps leave less of the range
unused, which costs accuracy and yields values that no row has; fewer steps quote the extremes less exactly."""
MIN_PILE_ROWS, MIN_PILE_SHARE = 10, 0.01
"""Rows, and share of the rows, at an extreme from which on it is the end of the scale: top codes and lowest grades."""
SMALLEST_SPAN = 1e-300
"""Values closer together than this get round bounds: their distance would underflow."""
MAX_BOUND = 5e307
"""Largest bound: the distance of larger bounds would overflow. Values beyond are clipped."""
USUAL_STEPS = (1000, 500, 100, 50, 25, 10, 5)
"""Steps to test, largest first."""
STEP_SIGNIFICANCE = 1e-6
"""A step is proposed if the probability that all values are multiples of it by chance is smaller."""
MIN_STEP_VALUES = 6
"""Minimum number of different values for a step: fewer are the values of a list."""
MIN_RANGE_SHARE = 0.25
"""A range suggested by the name is used if the values span this share of it: decades of age do not span 0 to 120."""
MAX_SCALE_SPAN = 20
"""Whole numbers without a gap that span at most this are a scale with exactly these ends."""
MAX_SKEWED_BULK = 0.01
"""Values are skewed if their middle half spans less than this share of the range."""
MAX_DECADES = 12
"""Decades that proportional edges span below the largest value: each takes 32 cells."""
MAX_SHARE_BELOW_EDGES = 0.02
"""Share of the non-zero values that may be smaller than the first proportional edge."""
EDGES_PER_DECADE = ("1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9",
         "2", "2.2", "2.4", "2.6", "2.8", "3", "3.2", "3.4", "3.6", "3.8",
         "4", "4.5", "5", "5.5", "6", "6.5", "7", "7.5", "8", "8.5", "9", "9.5")  # fmt: skip
"""Edges in each decade: 5 to 10 percent apart, and all with few digits."""


def guess_quantity(profile: Profile) -> Guess | None:
    """Guess an integer or real for any numeric column."""
    numbers = parse_numbers(profile)
    return None if numbers is None else draft_quantity(profile, numbers)


def draft_quantity(profile: Profile, numbers: Numbers, real: bool = False) -> Guess:
    """Draft a numeric column; with `real`, whole numbers become reals, too."""
    fits = numbers.whole and INT64_MIN <= numbers.values[0] <= numbers.values[-1] < INT64_MAX
    nullable = sum(int(c) for c in numbers.counts) < profile.rows
    build = _draft_integer if fits and not real else _draft_real
    return build(profile.name, numbers, nullable).with_notes(*_describe_numbers(profile, numbers))


def _draft_integer(name: str, numbers: Numbers, nullable: bool) -> Guess:
    ends = numbers.values[0], numbers.values[-1]
    known = _suggested_range(name, numbers)
    lower, upper = known or _integer_bounds(numbers)
    facts: dict[str, Any] = {}
    if upper - lower >= MAX_UNIT_CELLS and is_skewed(numbers, lower, upper):
        cuts = sorted({round(e) for e in proportional_edges(numbers, lower, upper)[:-1]})
        facts = {"edges": (*cuts, upper + 1)} if cuts else {}
    if upper - lower >= MAX_UNIT_CELLS:
        facts |= {"atoms": frequent_numbers(numbers)} if frequent_numbers(numbers) else {}
    facts |= _find_step(numbers)
    column = Integer(int(lower), int(upper), **facts, nullable=nullable)
    how = _describe_bounds(known is not None, ends == (lower, upper))
    return Guess(column=column, notes=(f"whole numbers from {lower} to {upper}, {how}", *_describe_grid(facts)))


def _draft_real(name: str, numbers: Numbers, nullable: bool) -> Guess:
    lowest, highest = float(numbers.values[0]), float(numbers.values[-1])
    known = _suggested_range(name, numbers)
    shares = (0.0, 1.0) if lowest >= 0 and 0.5 < highest <= 1 else None  # or probabilities
    lower, upper = known or shares or bounds_of(numbers)
    facts: dict[str, Any] = {}
    if is_skewed(numbers, lower, upper):
        edges = proportional_edges(numbers, lower, upper)
        facts = {"edges": edges} if edges else {}
    atoms = [v for v in frequent_numbers(numbers) if lower < v <= upper]
    facts |= {"atoms": tuple(atoms)} if atoms else {}
    free = ~np.isin(numbers.floats, atoms)  # atoms may have more decimals
    decimals = count_decimals(numbers.floats[free], numbers.counts[free])
    facts |= _find_step(numbers) or ({"decimals": decimals} if decimals is not None else {})
    column = Real(float(lower), float(upper), **facts, nullable=nullable)
    how = _describe_bounds(known is not None, (lowest, highest) == (lower, upper))
    return Guess(column=column, notes=(f"numbers from {lower:,.9g} to {upper:,.9g}, {how}", *_describe_grid(facts)))


def _integer_bounds(numbers: Numbers) -> tuple[int, int]:
    """Return round bounds, or the extremes themselves where many rows share them."""
    low, high = numbers.values[0], numbers.values[-1]
    lower, upper = round_integer_bounds(low, high, len(numbers.values))
    if max(abs(low), abs(high)) >= 2**53:
        return lower, upper
    piled = bounds_of(numbers)
    return max(lower, math.floor(piled[0])), min(upper, math.ceil(piled[1]))


def _find_step(numbers: Numbers) -> dict[str, Any]:
    """Find the largest usual step that divides all values, if that is significant."""
    if not numbers.whole or len(numbers.values) < MIN_STEP_VALUES:
        return {}
    significant = [s for s in USUAL_STEPS if s ** -float(len(numbers.values)) < STEP_SIGNIFICANCE]
    return next(({"step": s} for s in significant if all(v % s == 0 for v in numbers.values)), {})


def _suggested_range(name: str, numbers: Numbers) -> tuple[int, int] | None:
    """Return the range suggested by the name, if the values are within it and span enough of it."""
    known = known_range(name)
    if known is None or not known[0] <= numbers.values[0] <= numbers.values[-1] <= known[1]:
        return None
    return known if numbers.values[-1] - numbers.values[0] >= MIN_RANGE_SHARE * (known[1] - known[0]) else None


def _describe_bounds(known: bool, exact: bool) -> str:
    if known:
        return "as its name suggests. Is that its range?"
    if exact:
        return "the smallest and largest value in the rows. Is this the whole scale?"
    return "round numbers at or beyond those of the rows. What range can it have?"


def _describe_grid(facts: dict[str, Any]) -> list[str]:
    notes: list[str] = []
    if "edges" in facts:
        notes.append(
            "Most values are close together, so cells are finer there and grow with the size of the value. If you "
            "change a bound, or pay for the bounds, delete `edges`."
        )
    if "step" in facts:
        notes.append(f"All values are multiples of {facts['step']}: `step`. Is that a rule?")
    if "atoms" in facts:
        shown = ", ".join(f"{v:g}" for v in facts["atoms"])
        notes.append(f"Many rows have exactly {shown}: listed under `atoms`, so that they stay exact.")
    return notes


def _describe_numbers(profile: Profile, numbers: Numbers) -> list[str]:
    notes: list[str] = []
    coded = find_sentinels(numbers)
    if coded:
        shown = ", ".join(f"{v:g}" for v in coded)
        notes.append(
            f"{shown} may be a code for missing: if so, read the file with it as null (--null-value) and narrow the "
            "bounds."
        )
    if numbers.unread:
        notes.append(describe_unread(numbers.unread, profile.present))
    if numbers.padded:
        notes.append("Some numbers are written with leading zeros, which the output will not have.")
    return notes


def describe_unread(rows: int, present: int) -> str:
    """Return the note about texts that are no numbers."""
    return f"{rough_share(rows, present).capitalize()} of the texts are not numbers and become null."


def bounds_of(numbers: Numbers) -> tuple[float, float]:
    """Return round bounds, or the extremes themselves where many rows share them."""
    ends = max(float(numbers.values[0]), -MAX_BOUND), min(float(numbers.values[-1]), MAX_BOUND)
    needed = max(MIN_PILE_ROWS, MIN_PILE_SHARE * numbers.counts.sum())
    piled = [numbers.counts[at] >= needed for at in (0, -1)]
    lower, upper = round_bounds(*ends)
    if ends[1] - ends[0] <= SMALLEST_SPAN:
        return lower, upper
    return ends[0] if piled[0] else lower, ends[1] if piled[1] else upper


def round_bounds(lowest: float, highest: float) -> tuple[float, float]:
    """Return round numbers at or beyond both ends; a bound does not cross 0 if no value does."""
    lowest, highest = (min(max(end, -MAX_BOUND), MAX_BOUND) for end in (lowest, highest))
    span = highest - lowest or abs(highest) or 1.0
    step = nice_step(span / BOUND_STEPS)
    lower = round_to(lowest, step, ROUND_FLOOR)
    upper = round_to(highest, step, ROUND_CEILING)
    if lower == upper:
        lower, upper = lower - (0 if lower == 0 else step), upper + step
    # A side that barely crosses 0 is rounded at its own size.
    if -step < lowest < 0:
        lower = -nice_step(-lowest)
    if 0 < highest < step and lowest < 0:
        upper = nice_step(highest)
    return lower, upper


def round_integer_bounds(lowest: int, highest: int, distinct: int) -> tuple[int, int]:
    """Return round bounds for whole numbers; a short scale without a gap keeps its ends, and a count from 1 its 1."""
    if highest - lowest <= MAX_SCALE_SPAN and distinct == highest - lowest + 1:
        return lowest, highest
    if max(abs(lowest), abs(highest)) >= 2**53:  # beyond the precision of floats
        step = 10 ** max(len(str(highest - lowest)) - 2, 0)
        lower, upper = lowest // step * step - step, -(-highest // step) * step + step
        return max(lower, -(2**63)), min(upper, 2**63 - 2)
    lower, upper = round_bounds(float(lowest), float(highest))
    return (1 if lowest == 1 else math.floor(lower)), math.ceil(upper)


def nice_step(size: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least `size`."""
    if not size > 1e-300:
        return 1e-300
    power = Decimal(1).scaleb(math.floor(math.log10(size)))
    return float(next((m * power for m in (1, 2, 5) if m * power >= Decimal(size)), 10 * power))


def round_to(value: float, step: float, direction: str) -> float:
    """Round to a multiple of `step`, computed in decimals so that it prints as a round number."""
    unit = Decimal(repr(step))
    return float((Decimal(value) / unit).to_integral_value(rounding=direction) * unit)


def is_skewed(numbers: Numbers, lower: float, upper: float) -> bool:
    """Check whether equal cells would be too coarse for the bulk of the values."""
    return numbers.quantile(0.75) - numbers.quantile(0.25) < MAX_SKEWED_BULK * (upper - lower)


def proportional_edges(numbers: Numbers, lower: float, upper: float) -> tuple[float, ...]:
    """Return edges whose spacing is proportional to the distance from 0, on both sides, from the smallest values on.

    Empty if the range does not contain 0 or spans few decades, where such edges would not be finer.
    """
    sizes, reach = np.abs(numbers.floats), max(abs(lower), abs(upper))
    order = np.argsort(sizes)[np.count_nonzero(sizes == 0) :]
    seen = np.cumsum(numbers.counts[order])
    small = sizes[order][np.searchsorted(seen, MAX_SHARE_BELOW_EDGES * seen[-1])] if len(order) else reach
    last = math.ceil(math.log10(reach))
    first = max(math.floor(math.log10(small)), last - MAX_DECADES)
    ladder = [float(Decimal(s).scaleb(k)) for k in range(first, last + 1) for s in EDGES_PER_DECADE]
    inside = [e for e in (*ladder, 0.0, *(-x for x in ladder)) if lower < e < upper]
    edges = tuple(sorted({lower, *inside, upper}))
    return edges if len(ladder) > 2 * len(EDGES_PER_DECADE) and lower <= 0 <= upper else ()
