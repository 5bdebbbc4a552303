"""Guess: numbers that measure or count something, with round bounds and a grid to match."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from sklar.lab.drafting.guess import Guess, known_range, rough_share
from sklar.lab.drafting.profile import Numbers, Profile, decimals_of, numbers_of, sentinels, shared_values
from sklar.schema.columns import INT64_MAX, INT64_MIN
from sklar.schema.grid import UNIT_RANGE
from sklar.schema.numbers import Integer, Real

MARGIN = 0.05
"""Share of the span by which bounds go beyond what was seen: wider ones clip fewer unseen values, in coarser cells."""
LARGEST = 5e307
"""Bounds beyond this would be further apart than a real can tell; values beyond are clipped."""
USUAL_STEPS = (1000, 500, 100, 50, 25, 10, 5)
"""Steps that are looked for, largest first."""
CHANCE = 1e-6
"""A step is believed if so many different values are multiples of it by chance with less than this probability."""
STEP_VALUES = 6
"""And only from so many different values on: fewer are the values of a list."""
FILLED = 0.25
"""A range that a name suggests is used if the values span this share of it: decades of age do not fill 0 to 120."""
EXACT_SPAN = 20
"""Whole numbers without a gap that span at most this many are taken to be a scale with exactly these ends."""
BULK = 0.01
"""Skewed: the middle half of the values spans less than this share of the range."""
MOST_DECADES = 12
"""Decades that growing edges span below the largest value: each takes 32 cells."""
SMALL = 0.02
"""Share of the values other than 0 that may be smaller than where growing edges begin."""
STEPS = ("1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9",
         "2", "2.2", "2.4", "2.6", "2.8", "3", "3.2", "3.4", "3.6", "3.8",
         "4", "4.5", "5", "5.5", "6", "6.5", "7", "7.5", "8", "8.5", "9", "9.5")  # fmt: skip
"""Edges in each decade: 5 to 10 percent apart, and all short numbers."""


def guess_quantity(profile: Profile) -> Guess | None:
    """Integer or real, for any column of numbers."""
    numbers = numbers_of(profile)
    return None if numbers is None else quantity(profile, numbers)


def quantity(profile: Profile, numbers: Numbers, real: bool = False) -> Guess:
    """The drafted column of numbers; `real` if whole numbers are to be taken as reals too."""
    fits = numbers.whole and INT64_MIN <= numbers.values[0] <= numbers.values[-1] < INT64_MAX
    nullable = sum(int(c) for c in numbers.counts) < profile.rows
    build = _integer if fits and not real else _real
    return build(profile.name, numbers, nullable).with_notes(*_number_notes(profile, numbers))


def _integer(name: str, numbers: Numbers, nullable: bool) -> Guess:
    ends = numbers.values[0], numbers.values[-1]
    known = _known(name, numbers)
    lower, upper = known or round_integer_bounds(*ends, len(numbers.values))
    facts: dict[str, Any] = {}
    if upper - lower >= UNIT_RANGE and is_skewed(numbers, lower, upper):
        cuts = sorted({round(e) for e in growing_edges(numbers, lower, upper)[:-1]})
        facts = {"edges": (*cuts, upper + 1)} if cuts else {}
    if upper - lower >= UNIT_RANGE:
        facts |= {"atoms": shared_values(numbers)} if shared_values(numbers) else {}
    facts |= _step(numbers)
    column = Integer(int(lower), int(upper), **facts, nullable=nullable)
    how = _how(known is not None, ends == (lower, upper))
    return Guess(column=column, notes=(f"whole numbers from {lower} to {upper}, {how}", *_grid_notes(facts)))


def _real(name: str, numbers: Numbers, nullable: bool) -> Guess:
    lowest, highest = float(numbers.values[0]), float(numbers.values[-1])
    known = _known(name, numbers)
    shares = (0.0, 1.0) if lowest >= 0 and 0.5 < highest <= 1 else None  # or probabilities
    lower, upper = known or shares or round_bounds(lowest, highest)
    facts: dict[str, Any] = {}
    if is_skewed(numbers, lower, upper):
        edges = growing_edges(numbers, lower, upper)
        facts = {"edges": edges} if edges else {}
    atoms = [v for v in shared_values(numbers) if lower < v < upper]
    facts |= {"atoms": tuple(atoms)} if atoms else {}
    free = ~np.isin(numbers.floats, atoms)  # declared values have digits of their own
    decimals = decimals_of(numbers.floats[free], numbers.counts[free])
    facts |= _step(numbers) or ({"decimals": decimals} if decimals is not None else {})
    column = Real(float(lower), float(upper), **facts, nullable=nullable)
    how = _how(known is not None, False)
    return Guess(column=column, notes=(f"numbers from {lower:,.9g} to {upper:,.9g}, {how}", *_grid_notes(facts)))


def _step(numbers: Numbers) -> dict[str, Any]:
    """The largest usual step of which all values are multiples, if many different ones tell."""
    if not numbers.whole or len(numbers.values) < STEP_VALUES:
        return {}
    sure = [s for s in USUAL_STEPS if s ** -float(len(numbers.values)) < CHANCE]
    found = (s for s in sure if all(v % s == 0 for v in numbers.values))
    step = next(found, None)
    return {} if step is None else {"step": step}


def _known(name: str, numbers: Numbers) -> tuple[int, int] | None:
    """The range that the name stands for, if the values keep to it and fill it."""
    known = known_range(name)
    if known is None or not known[0] <= numbers.values[0] <= numbers.values[-1] <= known[1]:
        return None
    return known if numbers.values[-1] - numbers.values[0] >= FILLED * (known[1] - known[0]) else None


def _how(known: bool, exact: bool) -> str:
    if known:
        return "as its name suggests. Is that its range?"
    if exact:
        return "the ends seen in the rows. Is this the whole scale?"
    return "rounded outward from the rows. What range can it have?"


def _grid_notes(facts: dict[str, Any]) -> list[str]:
    notes: list[str] = []
    if "edges" in facts:
        notes.append(
            "Most values lie close together, so the cells are finer there and grow with the size of the value. If you "
            "change a bound, or pay for the bounds, delete `edges`."
        )
    if "step" in facts:
        notes.append(f"All values are multiples of {facts['step']}: `step`. Is that so by rule?")
    if "atoms" in facts:
        shown = ", ".join(f"{v:g}" for v in facts["atoms"])
        notes.append(f"Many rows have exactly {shown}: listed under `atoms`, so that they stay exact.")
    return notes


def _number_notes(profile: Profile, numbers: Numbers) -> list[str]:
    notes: list[str] = []
    coded = sentinels(numbers)
    if coded:
        shown = ", ".join(f"{v:g}" for v in coded)
        notes.append(
            f"{shown} may be a code for missing: if so, read the file with it as null (--null-value) and narrow the "
            "bounds."
        )
    if numbers.unread:
        share = rough_share(numbers.unread, profile.present)
        notes.append(f"{share.capitalize()} of the texts are not numbers and become null.")
    if numbers.padded:
        notes.append("Some numbers are written with leading zeros, which the output will not have.")
    return notes


def round_bounds(lowest: float, highest: float) -> tuple[float, float]:
    """Round numbers a little below and above; 0 as the lower one if no value is negative and they reach near it."""
    lowest, highest = (min(max(end, -LARGEST), LARGEST) for end in (lowest, highest))
    span = highest - lowest or abs(highest) or 1.0
    step = nice_step(span / 10)
    lower = round_to(lowest - MARGIN * span, step, ROUND_FLOOR)
    upper = round_to(highest + MARGIN * span, step, ROUND_CEILING)
    if lowest >= 0 and (lowest <= highest / 2 or lower < 0):
        lower = 0.0
    if highest <= 0 and lowest < 0 and (highest >= lowest / 2 or upper > 0):
        upper = 0.0
    # A side that barely crosses 0 is rounded at its own size.
    if -step < lowest < 0:
        lower = -nice_step(-lowest * (1 + MARGIN))
    if 0 < highest < step and lowest < 0:
        upper = nice_step(highest * (1 + MARGIN))
    return lower, upper


def round_integer_bounds(lowest: int, highest: int, distinct: int) -> tuple[int, int]:
    """The same for whole numbers; a short scale without a gap keeps its ends."""
    if highest - lowest <= EXACT_SPAN and distinct == highest - lowest + 1:
        return lowest, highest
    if max(abs(lowest), abs(highest)) >= 2**53:
        return _around(lowest, highest)
    lower, upper = round_bounds(float(lowest), float(highest))
    return math.floor(lower), math.ceil(upper)


def nice_step(size: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least `size`."""
    if not size > 1e-300:
        return 1e-300
    power = Decimal(1).scaleb(math.floor(math.log10(size)))
    return float(next((m * power for m in (1, 2, 5) if m * power >= Decimal(size)), 10 * power))


def round_to(value: float, step: float, direction: str) -> float:
    """The multiple of `step` next to `value`, computed in decimals so that it prints as a round number."""
    unit = Decimal(repr(step))
    return float((Decimal(value) / unit).to_integral_value(rounding=direction) * unit)


def _around(lowest: int, highest: int) -> tuple[int, int]:
    """Exact integer arithmetic for numbers beyond the precision of reals."""
    step = 10 ** max(len(str(highest - lowest)) - 2, 0)
    lower, upper = lowest // step * step - step, -(-highest // step) * step + step
    return max(lower, -(2**63)), min(upper, 2**63 - 2)


def is_skewed(numbers: Numbers, lower: float, upper: float) -> bool:
    """Whether equal cells would be too coarse for the bulk of the values."""
    return numbers.quantile(0.75) - numbers.quantile(0.25) < BULK * (upper - lower)


def growing_edges(numbers: Numbers, lower: float, upper: float) -> tuple[float, ...]:
    """Edges that grow in proportion to the distance from 0, on both sides of it, from the size of the small values on.

    Empty if the range does not reach down to the size of 0, where such edges would not be finer.
    """
    sizes, reach = np.abs(numbers.floats), max(abs(lower), abs(upper))
    order = np.argsort(sizes)[np.count_nonzero(sizes == 0) :]
    seen = np.cumsum(numbers.counts[order])
    small = sizes[order][np.searchsorted(seen, SMALL * seen[-1])] if len(order) else reach
    first = max(math.floor(math.log10(small)), math.ceil(math.log10(reach)) - MOST_DECADES)
    ladder = [float(Decimal(s).scaleb(k)) for k in range(first, math.ceil(math.log10(reach)) + 1) for s in STEPS]
    inside = [e for e in (*ladder, 0.0, *(-x for x in ladder)) if lower < e < upper]
    edges = tuple(sorted({lower, *inside, upper}))
    return edges if len(ladder) > 2 * len(STEPS) and lower <= 0 <= upper else ()
