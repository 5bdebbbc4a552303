"""Two made-up tables of a hospital: patients, and their stays, of which some patients have none and some have many.

Nobody in them exists. A stay depends on its patient and on the stay before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sklar.sample.rng import generator
from sklar.schema.columns import Category, Id
from sklar.schema.numbers import Integer
from sklar.schema.persons.person import Person
from sklar.schema.persons.tables import Tables
from sklar.schema.rules import Never
from sklar.schema.table import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Column = npt.NDArray[Any]
REGIONS = ("north", "east", "south", "west")
ILLNESSES = ("none", "heart", "lung", "diabetes")
WARDS = ("surgery", "cardiology", "pneumology", "general", "maternity")
OUTCOMES = ("home", "care", "died")
LAST_DAY = 5 * 365
MOST_STAYS = 5


def hospital_schemas() -> Tables:
    """What anyone may know about the tables."""
    known = "public"
    patients = Schema(
        {
            "patient": Id(source=known),
            "born": Integer(1930, 1999, source=known),
            "sex": Category(("M", "F"), source=known),
            "region": Category(REGIONS, source=known),
            "illness": Category(ILLNESSES, source=known),
        }
    )
    stays = Schema(
        {
            "patient": Id(source=known),
            "day": Integer(0, LAST_DAY, source=known),
            "ward": Category(WARDS, source=known),
            "nights": Integer(1, 60, source=known),
            "outcome": Category(OUTCOMES, source=known),
        },
        person=Person(
            key="patient", rows=MOST_STAYS, order="day", source=known,
            steps=[Never(values={"previous outcome": "died"}, source=known)],
        ),
    )  # fmt: skip
    return Tables({"patients": patients, "stays": stays}, keys={"stays": ("patient", "patients")}, person="patients")


def hospital_tables(patients: int, seed: int = 1) -> dict[str, pa.Table]:
    """Patients and stays as Arrow tables; the same seed gives the same ones."""
    import pyarrow as pa

    rng = generator(seed)
    born, female = rng.integers(1930, 2000, patients), rng.random(patients) < 0.53
    region = rng.choice(4, patients, p=(0.4, 0.3, 0.2, 0.1))
    ill = (rng.random(patients) < _share(-1.2 + 0.03 * (1970 - born))) * rng.choice((1, 2, 3), patients)
    key = rng.permutation(patients) + 100_000
    heads = {"patient": key, "born": born, "sex": _labels(female, ("M", "F")), "region": _labels(region, REGIONS),
             "illness": _labels(ill, ILLNESSES)}  # fmt: skip
    stays = rng.poisson(0.5 + 0.9 * (ill > 0) + 0.015 * np.maximum(1975 - born, 0)).clip(0, MOST_STAYS)
    parts: list[dict[str, Column]] = []
    here, day, ward = np.flatnonzero(stays > 0), np.zeros(patients, np.int64), np.full(patients, -1)
    number = 0
    while len(here):
        number += 1
        day[here] += 1 + rng.exponential(LAST_DAY / 7, len(here)).astype(np.int64)
        ward[here] = _ward(born[here], female[here], ill[here], ward[here], rng)
        here = here[day[here] <= LAST_DAY]
        nights = 1 + rng.poisson(1.5 + 2.5 * (ward[here] == 1) + 0.04 * np.maximum(1980 - born[here], 0))
        died = rng.random(len(here)) < _share(-5.0 + 0.05 * (1980 - born[here]) + 0.8 * (ill[here] > 0))
        care = rng.random(len(here)) < _share(-3.0 + 0.06 * (1970 - born[here]))
        parts.append({"patient": key[here], "day": day[here], "ward": ward[here], "nights": nights.clip(1, 60),
                      "outcome": np.where(died, 2, care.astype(np.int64))})  # fmt: skip
        here = here[~died & (stays[here] > number)]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    mixed = rng.permutation(len(rows["day"]))
    rows = {name: values[mixed] for name, values in rows.items()}
    labels = {"ward": WARDS, "outcome": OUTCOMES}
    told = {name: _labels(values, labels[name]) if name in labels else values for name, values in rows.items()}
    return {"patients": pa.table(heads), "stays": pa.table(told)}


def _ward(born: Column, female: Column, ill: Column, before: Column, rng: np.random.Generator) -> Column:
    """Half of the time the ward of the stay before; else one that suits the patient."""
    young = female.astype(bool) & (born > 1978)
    suits = np.where(ill == 1, 1, np.where(ill == 2, 2, np.where(young, 4, 3)))
    fresh = np.where(rng.random(len(born)) < 0.65, suits, rng.choice((0, 3), len(born)))
    return np.where((before >= 0) & (rng.random(len(born)) < 0.5), before, fresh)


def _share(log_odds: Column) -> Column:
    return 1 / (1 + np.exp(-log_odds))


def _labels(codes: Column, labels: tuple[str, ...]) -> list[str]:
    return [labels[code] for code in codes.astype(int).tolist()]
