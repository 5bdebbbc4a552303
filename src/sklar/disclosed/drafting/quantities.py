"""Guess: numbers that measure or count something, with round bounds and a grid to match."""

from __future__ import annotations

from typing import Any

from sklar.disclosed.drafting.atoms import sentinels, shared_values
from sklar.disclosed.drafting.bounds import round_bounds, round_integer_bounds
from sklar.disclosed.drafting.guess import Guess, rough_share
from sklar.disclosed.drafting.names import known_range
from sklar.disclosed.drafting.numerals import Numbers, decimals_of, numbers_of
from sklar.disclosed.drafting.profile import Profile
from sklar.disclosed.drafting.skew import growing_edges, is_skewed
from sklar.schema.columns import INT64_MAX, INT64_MIN
from sklar.schema.grid import UNIT_RANGE
from sklar.schema.numbers import Integer, Real


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
    column = Integer(int(lower), int(upper), **facts, nullable=nullable)
    how = _how(known is not None, ends == (lower, upper))
    return Guess(column=column, notes=(f"whole numbers from {lower} to {upper}, {how}", *_grid_notes(facts)))


def _real(name: str, numbers: Numbers, nullable: bool) -> Guess:
    lowest, highest = float(numbers.values[0]), float(numbers.values[-1])
    known = _known(name, numbers)
    lower, upper = known or _unit_range(lowest, highest) or round_bounds(lowest, highest)
    facts: dict[str, Any] = {}
    if is_skewed(numbers, lower, upper):
        edges = growing_edges(numbers, lower, upper)
        facts = {"edges": edges} if edges else {}
    atoms = [v for v in shared_values(numbers) if lower < v < upper]
    facts |= {"atoms": tuple(atoms)} if atoms else {}
    decimals = decimals_of(numbers.floats)
    facts |= {"decimals": decimals} if decimals is not None else {}
    column = Real(float(lower), float(upper), **facts, nullable=nullable)
    how = _how(known is not None, False)
    return Guess(column=column, notes=(f"numbers from {lower:,.9g} to {upper:,.9g}, {how}", *_grid_notes(facts)))


def _known(name: str, numbers: Numbers) -> tuple[int, int] | None:
    """The range that the name stands for, if the values keep to it."""
    known = known_range(name)
    inside = known is not None and known[0] <= numbers.values[0] and numbers.values[-1] <= known[1]
    return known if inside and numbers.values[-1] > 1 else None


def _unit_range(lowest: float, highest: float) -> tuple[float, float] | None:
    """From 0 to 1 for what looks like shares and probabilities."""
    return (0.0, 1.0) if lowest >= 0 and 0.5 < highest <= 1 else None


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
