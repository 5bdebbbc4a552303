"""A made-up table of hospital patients for demonstrations: skewed and spiky numbers, rare categories, dates, nulls.

No person in it exists. Its columns depend strongly on each other, so that it is a fair test of a synthesizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints, Mask
from sklar.sample.decode import SampledTable, Values
from sklar.sample.rng import generator
from sklar.schema.columns import Boolean, Category, Id, Ordinal
from sklar.schema.grid import to_ticks
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.rules import Never
from sklar.schema.table import Schema

if TYPE_CHECKING:
    import pyarrow as pa


REGIONS = ("Northport", "Eastmoor", "Midvale", "Westbrook", "Southlake", "Highfells", "Isle of Sund")
REGION_SHARES = (0.30, 0.22, 0.17, 0.13, 0.10, 0.06, 0.02)
EDUCATION = ("primary", "secondary", "vocational", "bachelor", "master", "doctorate")
OCCUPATIONS = ("manual", "service", "office", "technical", "professional", "manager", "student", "retired", "none")
DIAGNOSES: dict[str, tuple[float, float, float, float]] = {
    "injury": (-0.2, -0.010, 2.2, 7.6),
    "heart": (-2.8, 0.048, 4.6, 8.9),
    "lung": (-2.0, 0.026, 4.1, 8.2),
    "digestive": (-0.4, 0.004, 2.8, 7.8),
    "cancer": (-2.4, 0.036, 5.4, 9.4),
    "mental health": (-0.3, -0.016, 7.5, 8.1),
    "pregnancy and birth": (1.2, -0.030, 2.4, 7.9),
    "kidney": (-2.6, 0.028, 3.6, 8.4),
    "nerves": (-2.2, 0.018, 3.9, 8.6),
    "infection": (-1.1, 0.010, 3.4, 8.0),
    "skin": (-2.2, 0.002, 1.6, 7.1),
    "eye": (-4.0, 0.036, 0.7, 7.3),
    "poisoning": (-3.2, -0.012, 1.5, 7.2),
    "rare disease": (-5.0, 0.000, 8.5, 10.2),
}
"""Log odds at age 0, slope with age, mean nights and mean log cost of each diagnosis."""
FIRST_DAY, LAST_DAY = "2019-01-01", "2023-12-31"
MINUTES_PER_DAY = 1440


def people_schema() -> Schema:
    """Return the public facts about the table."""
    known = "public"
    return Schema(
        {
            "person": Id(prefix="P", source=known),
            "age": Integer(18, 100, source=known),
            "sex": Category(("F", "M"), source=known),
            "region": Category(REGIONS, source=known),
            "education": Ordinal(EDUCATION, nullable=True, source=known),
            "occupation": Category(OCCUPATIONS, source=known),
            "hours": Integer(0, 80, source=known),
            "income": Integer(0, 400_000, source=known),
            "smoker": Boolean(nullable=True, source=known),
            "bmi": Real(12, 60, decimals=1, bins=480, nullable=True, source=known),
            "admitted": Datetime(f"{FIRST_DAY}T00:00", f"{LAST_DAY}T23:59", resolution="minute", source=known),
            "diagnosis": Category(tuple(DIAGNOSES), source=known),
            "nights": Integer(0, 120, source=known),
            "cost": Real(0, 250_000, decimals=2, source=known),
        },
        rules=[Never(values={"sex": "M", "diagnosis": "pregnancy and birth"})],
    )


def people_table(rows: int, seed: int = 1) -> pa.Table:
    """Generate the table as Arrow; the same seed gives the same people."""
    from sklar.export.arrow import to_arrow

    return to_arrow(people_schema(), people_values(rows, seed))


def people_values(rows: int, seed: int = 1) -> SampledTable:
    """Generate the table as numpy values, in the order of `people_schema`."""
    rng = generator(seed)
    age = _draw_ages(rows, rng)
    female = rng.random(rows) < 0.53
    region = rng.choice(len(REGIONS), rows, p=REGION_SHARES)
    education = _draw_education(age, region, rng)
    occupation = _draw_occupation(age, education, rng)
    hours = _draw_hours(occupation, female, rng)
    income = _draw_income(age, female, education, occupation, hours, rng)
    smoker = rng.random(rows) < _apply_logistic(0.2 - 0.45 * education + 0.3 * ~female - 0.012 * np.abs(age - 45))
    bmi = _draw_bmi(age, female, smoker, education, rng)
    diagnosis = _draw_diagnosis(age, female, smoker, bmi, rng)
    nights = _draw_nights(diagnosis, age, rng)
    no_smoking = rng.random(rows) < _apply_logistic(
        -3.2 + 1.3 * (region == 5) + 0.03 * (age - 50) + 1.0 * (education <= 1)
    )
    no_bmi = rng.random(rows) < _apply_logistic(-3.0 + 2.2 * np.isin(diagnosis, [0, 12]) + 0.9 * (nights == 0))
    no_education = rng.random(rows) < _apply_logistic(-4.5 + 0.035 * (age - 40) + 1.2 * (region == 6))
    return {
        "person": _make_values(np.arange(1, rows + 1)),
        "age": _make_values(age),
        "sex": _make_values(~female, labels=("F", "M")),
        "region": _make_values(region, labels=REGIONS),
        "education": _make_values(education, null=no_education, labels=EDUCATION),
        "occupation": _make_values(occupation, labels=OCCUPATIONS),
        "hours": _make_values(hours),
        "income": _make_values(income),
        "smoker": _make_values(smoker, null=no_smoking),
        "bmi": _make_values(np.round(bmi, 1), null=no_bmi),
        "admitted": _make_values(_draw_admission(diagnosis, rng)),
        "diagnosis": _make_values(diagnosis, labels=tuple(DIAGNOSES)),
        "nights": _make_values(nights),
        "cost": _make_values(_draw_cost(diagnosis, nights, age, rng)),
    }


def _draw_ages(rows: int, rng: np.random.Generator) -> Ints:
    """Draw ages: many older patients, and a second mode of young adults."""
    young = rng.normal(31, 7, rows)
    old = rng.normal(69, 13, rows)
    return np.clip(np.round(np.where(rng.random(rows) < 0.36, young, old)), 18, 100).astype(np.int64)


def _draw_education(age: Ints, region: Ints, rng: np.random.Generator) -> Ints:
    """Draw education: higher for the young and in the first regions."""
    level = 2.4 - 0.025 * (age - 50) - 0.12 * region + rng.normal(0, 1.15, len(age))
    return np.clip(np.round(level), 0, np.minimum((age - 15) // 3, 5)).astype(np.int64)  # study takes years


def _draw_occupation(age: Ints, education: Ints, rng: np.random.Generator) -> Ints:
    up, rows = education[:, None] - 2.0, len(age)
    odds = np.array([0.6, 0.8, 0.9, 0.4, -0.2, -0.8]) + up * np.array([-0.9, -0.5, 0.1, 0.3, 1.0, 0.8])
    work = _draw_choice(odds, rng)
    retired = rng.random(rows) < _apply_logistic((age - 65.5) / 1.8)
    student = rng.random(rows) < _apply_logistic((24.5 - age) / 1.5 + 0.4 * (education - 2))
    without = rng.random(rows) < _apply_logistic(-1.9 - 0.5 * up[:, 0])
    return np.select([retired, student, without], [7, 6, 8], work)


def _draw_hours(occupation: Ints, female: Mask, rng: np.random.Generator) -> Ints:
    """Draw working hours: 0 without work, and spikes at 40, 38 and 20."""
    rows = len(occupation)
    usual = rng.choice([40, 38, 20, 0], rows, p=[0.42, 0.16, 0.12, 0.30])
    half_time = female & (rng.random(rows) < 0.25)
    free = np.round(rng.normal(37, 9, rows) + 8 * (occupation == 5))
    hours = np.where(half_time, 20, np.where(usual > 0, usual, free))
    jobs = np.where(rng.random(rows) < 0.35, np.round(rng.gamma(4, 3, rows)), 0)
    return np.clip(np.select([occupation == 6, occupation >= 7], [jobs, 0], hours), 0, 80).astype(np.int64)


def _draw_income(
    age: Ints, female: Mask, education: Ints, occupation: Ints, hours: Ints, rng: np.random.Generator
) -> Ints:
    """Draw skewed incomes: 0 for some, and often a round number."""
    by_job = np.array([10.15, 10.0, 10.3, 10.5, 10.7, 10.95, 8.6, 9.85, 9.0])[occupation]
    logarithm = by_job + 0.09 * education - 0.1 * female + 0.006 * (np.minimum(age, 60) - 40)
    logarithm += np.where(occupation < 6, 0.75 * np.log(np.maximum(hours, 5) / 40), 0) + rng.normal(0, 0.38, len(age))
    income = np.exp(logarithm)
    nothing = rng.random(len(age)) < np.array([0, 0, 0, 0, 0, 0, 0.45, 0.03, 0.5])[occupation]
    rounded = rng.random(len(age)) < 0.5
    step = np.where(income < 20_000, 500, np.where(income < 80_000, 1000, 5000))
    reported = np.where(rounded, np.round(income / step) * step, np.round(income))
    return np.clip(np.where(nothing, 0, reported), 0, 400_000).astype(np.int64)


def _draw_bmi(age: Ints, female: Mask, smoker: Mask, education: Ints, rng: np.random.Generator) -> Floats:
    middle = 25.2 + 0.06 * (np.minimum(age, 65) - 45) - 0.5 * education - 0.7 * female - 0.9 * smoker
    return np.clip(middle * np.exp(rng.normal(0, 0.15, len(age)) + 0.02 * rng.exponential(1, len(age))), 12, 60)


def _draw_diagnosis(age: Ints, female: Mask, smoker: Mask, bmi: Floats, rng: np.random.Generator) -> Ints:
    start, slope = (np.array([facts[i] for facts in DIAGNOSES.values()]) for i in (0, 1))
    odds = start + slope * age[:, None]
    odds[:, 1] += 0.7 * smoker + 0.07 * (bmi - 26) - 0.4 * female
    odds[:, 2] += 1.3 * smoker
    odds[:, 4] += 0.5 * smoker
    odds[:, 6] = np.where(female & (age < 46), 1.4 - 0.004 * (age - 30.0) ** 2, -np.inf)
    return _draw_choice(odds, rng)


def _draw_nights(diagnosis: Ints, age: Ints, rng: np.random.Generator) -> Ints:
    """Draw nights: many have none, some are very long."""
    mean = np.array([facts[2] for facts in DIAGNOSES.values()])[diagnosis] * (0.6 + age / 120)
    day_case = rng.random(len(age)) < _apply_logistic(0.6 - 0.45 * mean)
    nights = rng.poisson(mean * rng.gamma(1.1, 1 / 1.1, len(age)))
    return np.clip(np.where(day_case, 0, nights), 0, 120).astype(np.int64)


def _draw_cost(diagnosis: Ints, nights: Ints, age: Ints, rng: np.random.Generator) -> Floats:
    """Draw heavy-tailed costs that increase with every night."""
    base = np.array([facts[3] for facts in DIAGNOSES.values()])[diagnosis]
    spread = 0.45 * np.maximum(rng.standard_t(4, len(age)), -2.5)
    cost = np.exp(base - 1.1 + 0.35 * np.log1p(nights) + 0.003 * age + spread) + 310.0 * nights
    return np.asarray(np.round(np.clip(cost, 0, 250_000), 2), dtype=np.float64)


def _draw_admission(diagnosis: Ints, rng: np.random.Generator) -> Ints:
    """Draw admissions: more in winter for lungs and infections, else fewer at weekends, and at usual hours."""
    first, last = (to_ticks(day, "minute") for day in (FIRST_DAY, LAST_DAY))
    days = (last - first) // MINUTES_PER_DAY + 1
    season = 1 + 0.6 * np.cos(2 * np.pi * (np.arange(days) - 15) / 365.25)
    weekday = np.where((np.arange(days) + 1) % 7 >= 5, 0.45, 1.0)
    seasonal = np.isin(diagnosis, [2, 9])
    day = np.empty(len(diagnosis), np.int64)
    for mask, weight in ((seasonal, season), (~seasonal, weekday)):
        day[mask] = rng.choice(days, int(mask.sum()), p=weight / weight.sum())
    minute = np.clip(rng.normal(11 * 60, 190, len(day)) + 240 * (diagnosis == 0), 0, MINUTES_PER_DAY - 1)
    return first + day * MINUTES_PER_DAY + minute.astype(np.int64)


def _draw_choice(odds: npt.NDArray[Any], rng: np.random.Generator) -> Ints:
    """Draw one choice per row with probabilities proportional to exp(odds), by the Gumbel-max trick."""
    return np.argmax(odds + rng.gumbel(size=odds.shape), axis=1).astype(np.int64)


def _apply_logistic(log_odds: Any) -> Floats:
    return 1 / (1 + np.exp(-np.asarray(log_odds, dtype=np.float64)))


def _make_values(data: npt.NDArray[Any], null: Mask | None = None, labels: tuple[str, ...] | None = None) -> Values:
    plain = data.astype(np.int32) if labels else data
    return Values(data=plain, null=np.zeros(len(data), bool) if null is None else null, labels=labels)
