"""A made-up panel: persons asked year after year, with carry-over, drift, missed years, dropout and death.

Nobody in it exists. What a person says depends on what they said before and on what never changes about them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.sample.decode import SampledTable, Values
from sklar.sample.rng import generator
from sklar.schema.columns import Boolean, Category, Id, Ordinal
from sklar.schema.numbers import Integer
from sklar.schema.persons.person import Person
from sklar.schema.rules import AtMost, Never
from sklar.schema.table import Schema

if TYPE_CHECKING:
    import pyarrow as pa

WAVES = tuple(range(2015, 2021))
REGIONS = ("north", "east", "south", "west")
EDUCATION = ("primary", "secondary", "vocational", "higher")
WORK = ("employed", "unemployed", "student", "retired", "at home")
HEALTH = ("poor", "fair", "good", "very good")


def panel_schema(linked: bool = True) -> Schema:
    """What anyone may know about the panel; with rows that follow one another, or that stand alone."""
    said: dict[str, Any] = {
        "static": ["born", "sex", "region", "education"],
        "steps": [
            AtMost(low="previous year", high="year", at_least=1, source="public"),
            Never(values={"previous vital": "died"}, source="public"),
        ],
    }
    person = Person(
        key="person", rows=len(WAVES), order="year", linked=linked, source="public", **said if linked else {}
    )
    known = "public"
    return Schema(
        {
            "person": Id(source=known),
            "year": Integer(WAVES[0], WAVES[-1], source=known),
            "born": Integer(1930, 1997, source=known),
            "sex": Category(("M", "F"), source=known),
            "region": Category(REGIONS, source=known),
            "education": Ordinal(EDUCATION, source=known),
            "work": Category(WORK, source=known),
            "income": Integer(0, 200_000, source=known),
            "health": Ordinal(HEALTH, source=known),
            "smokes": Boolean(source=known),
            "vital": Category(("alive", "died"), source=known),
        },
        person=person,
    )


def panel_values(persons: int, seed: int = 1) -> SampledTable:
    """The panel as numpy values: all rows of a person together, in the order of years."""
    rng = generator(seed)
    fixed = _Fixed(persons, rng)
    state = _first(fixed, rng)
    here = np.arange(persons)
    parts: list[dict[str, Ints]] = []
    for year in WAVES:
        missed = rng.random(len(here)) < 0.08 if year > WAVES[0] else np.zeros(len(here), bool)
        rows = {"person": here + 1, "year": np.full(len(here), year), **{name: state[name] for name in state}}
        parts.append({name: values[~missed] for name, values in rows.items()})
        stays = (state["vital"] == 0) & (rng.random(len(here)) >= _dropout(state))
        here, state = here[stays], {name: values[stays] for name, values in state.items()}
        state = _next(fixed, here, state, rng)
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((rows["year"], rows["person"]))
    rows = {name: values[order] for name, values in rows.items()}
    who = rows["person"] - 1
    return {
        "person": _values(rows["person"]),
        "year": _values(rows["year"]),
        "born": _values(fixed.born[who]),
        "sex": _values(fixed.female[who], labels=("M", "F")),
        "region": _values(fixed.region[who], labels=REGIONS),
        "education": _values(fixed.education[who], labels=EDUCATION),
        "work": _values(rows["work"], labels=WORK),
        "income": _values(rows["income"]),
        "health": _values(rows["health"], labels=HEALTH),
        "smokes": _values(rows["smokes"].astype(bool)),
        "vital": _values(rows["vital"], labels=("alive", "died")),
    }


def panel_table(persons: int, seed: int = 1) -> pa.Table:
    """The panel as Arrow; the same seed gives the same persons."""
    from sklar.export.arrow import to_arrow

    return to_arrow(panel_schema(), panel_values(persons, seed))


class _Fixed:
    """What never changes about a person."""

    def __init__(self, persons: int, rng: np.random.Generator):
        self.born = rng.integers(1930, 1998, persons)
        self.female = (rng.random(persons) < 0.52).astype(np.int64)
        self.region = rng.choice(4, persons, p=(0.4, 0.3, 0.2, 0.1))
        score = 0.02 * (self.born - 1960) + 0.3 * (self.region == 0) + rng.normal(0, 1, persons)
        self.education = np.searchsorted(np.array([-0.9, 0.2, 0.9]), score)


def _first(fixed: _Fixed, rng: np.random.Generator) -> dict[str, Ints]:
    persons, age = len(fixed.born), WAVES[0] - fixed.born
    work = np.where(age > 64, 3, np.where(age < 25, np.where(rng.random(persons) < 0.6, 2, 0), 0))
    free = rng.random(persons)
    work = np.where((work == 0) & (free < 0.12), 1, np.where((work == 0) & (free > 0.9), 4, work))
    well = 1.2 - 0.03 * (age - 40) + 0.35 * fixed.education - 0.4 * (work == 1) + rng.normal(0, 1, persons)
    health = np.searchsorted(np.array([-1.0, 0.3, 1.8]), well)
    smokes = (rng.random(persons) < _share(-0.6 - 0.4 * fixed.education)).astype(np.int64)
    return {
        "work": work,
        "income": _income(fixed, np.arange(persons), age, work, rng.normal(0, 0.45, persons)),
        "health": health,
        "smokes": smokes,
        "vital": np.zeros(persons, np.int64),
    }


def _next(fixed: _Fixed, here: Ints, before: dict[str, Ints], rng: np.random.Generator) -> dict[str, Ints]:
    """A year later: most of what was, some of what is usual for such a person, and chance."""
    rows, age = len(here), WAVES[0] - fixed.born[here]
    chance, work = rng.random(rows), before["work"].copy()
    work = np.where((before["work"] == 0) & (chance < 0.06), 1, work)
    work = np.where((before["work"] == 1) & (chance < 0.45), 0, work)
    work = np.where((before["work"] == 2) & (chance < 0.25), 0, work)
    work = np.where((age > 58) & (before["work"] != 3) & (chance < 0.3), 3, work)
    drop = -0.25 + 0.02 * (55 - age) + 0.2 * fixed.education[here] - 0.5 * (work == 1) - 0.3 * before["smokes"]
    level = before["health"] - 1.5 + 0.35 * drop + rng.normal(0, 0.55, rows)
    health = np.clip(np.round(level + 1.5), 0, 3).astype(np.int64)
    quit_ = rng.random(rows) < 0.10
    smokes = np.where(quit_, 0, np.where(rng.random(rows) < 0.02, 1, before["smokes"]))
    died = rng.random(rows) < _share(-5.6 + 0.07 * (age - 40) + 1.1 * (health == 0))
    usual = _income(fixed, here, age, work, np.zeros(rows))
    same = work == before["work"]
    log = np.where(same, 0.8, 0.25) * np.log1p(before["income"]) + np.where(same, 0.2, 0.75) * np.log1p(usual)
    income = np.clip(np.expm1(log + 0.02 + rng.normal(0, 0.12, rows)), 0, 200_000).astype(np.int64)
    return {"work": work, "income": income, "health": health, "smokes": smokes, "vital": died.astype(np.int64)}


def _income(fixed: _Fixed, who: Ints, age: Ints, work: Ints, chance: Floats) -> Ints:
    usual = np.array([10.2, 9.0, 8.3, 9.6, 7.5])[work] + 0.22 * fixed.education[who] - 0.12 * fixed.female[who]
    return np.clip(np.exp(usual + 0.006 * (age - 40) + chance), 0, 200_000).astype(np.int64)


def _dropout(state: dict[str, Ints]) -> Floats:
    return 0.05 + 0.10 * (state["health"] == 0) + 0.05 * (state["work"] == 1)


def _share(log_odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-log_odds))


def _values(data: Ints | Mask, labels: tuple[str, ...] | None = None) -> Values:
    return Values(data=data, null=np.zeros(len(data), bool), labels=labels)
