"""How often intervals of `model.estimate` hold the truth of groups of persons, over panels drawn from a known law.

    python -m benchmarks.coverage --persons 545 2000 --epsilon 1 2 --tables 200

Each panel has persons with eight rows. How far wages and union membership of a group are off those of all is drawn
anew for each panel, with the mean squared correlation that numbers and groups have in tables of people (0.015); wages
depend on sex by 0.04. It also counts intervals that are narrower than the sampling error of their group allows, and
effective sizes above the size of the group.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd

import sklar

GROUPS, SHARES = ("a", "b", "c"), np.array([0.12, 0.16, 0.72])
SQUARED_CORRELATION = 0.015
WOMEN, SEX_EFFECT, SPREAD, UNION, ROWS = 0.5, -0.4, 0.5, 0.25, 8
"""Share of women, their wage in standard deviations, the standard deviation of wages, members of a union, and rows."""
JOBS = ("office", "shop", "field", "plant", "road")
QUESTIONS = (
    "mean(first wage)", "mean(first wage) by group", "median(first wage) by group", "share(first union) by group",
    "difference(first wage) by sex", "difference(first union=true) by sex", "share(group=a)", "mean(school) by group",
)  # fmt: skip


def schema() -> sklar.Schema:
    """The public facts of a panel."""
    columns = {
        "year": sklar.Integer(1980, 1987), "group": sklar.Category(list(GROUPS)), "sex": sklar.Category(["F", "M"]),
        "school": sklar.Integer(0, 20), "wage": sklar.Real(-4, 5), "union": sklar.Boolean(),
        "job": sklar.Category(list(JOBS)),
    }  # fmt: skip
    person = sklar.Person(key="id", rows=ROWS, order="year", static=["group", "sex", "school"])
    return sklar.Schema(columns, person=person)


def drawn_effects(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """How far the mean wage of each group is off, and its share of union members.

    With variances D / p of independent effects, the deviation of a group of share p from the mean of all has variance
    D (1 - p) / p: its squared correlation with being in the group is D on average.
    """
    spread = np.sqrt(SQUARED_CORRELATION / SHARES)
    union = UNION + (UNION * (1 - UNION)) ** 0.5 * spread * rng.standard_normal(len(GROUPS))
    return SPREAD * spread * rng.standard_normal(len(GROUPS)), np.clip(union, 0.02, 0.98)


def panel(persons: int, effects: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> pd.DataFrame:
    """Rows of persons of the law."""
    group, woman = rng.choice(len(GROUPS), persons, p=SHARES), rng.random(persons) < WOMEN
    first = 1.4 + effects[0][group] + SPREAD * (SEX_EFFECT * woman + rng.standard_normal(persons))
    union = rng.random(persons) < effects[1][group]
    place, of = np.tile(np.arange(ROWS), persons), np.repeat(np.arange(persons), ROWS)
    later = place > 0
    wage = first[of] + later * (0.05 * place + 0.3 * rng.standard_normal(len(of)))
    job = rng.integers(0, len(JOBS), persons)[of]
    moved = later & (rng.random(len(of)) < 0.2)
    return pd.DataFrame(
        {
            "id": of, "year": 1980 + place, "group": np.array(GROUPS)[group[of]], "sex": np.where(woman[of], "F", "M"),
            "school": np.clip(np.rint(12 + 2 * rng.standard_normal(persons)), 0, 20).astype(int)[of],
            "wage": wage, "union": np.where(later & (rng.random(len(of)) < 0.1), ~union[of], union[of]),
            "job": np.array(JOBS)[np.where(moved, rng.integers(0, len(JOBS), len(of)), job)],
        }
    )  # fmt: skip


def truths(effects: tuple[np.ndarray, np.ndarray]) -> dict[tuple[str, Any], tuple[float, float]]:
    """By question and group: what the law answers, and the standard deviation within the group (0 if not of one)."""
    wages = 1.4 + effects[0] + WOMEN * SPREAD * SEX_EFFECT  # also medians: the law of a group is symmetric
    spread = SPREAD * float(np.hypot(1.0, SEX_EFFECT * np.sqrt(WOMEN * (1 - WOMEN))))
    found: dict[tuple[str, Any], tuple[float, float]] = {
        ("mean(first wage)", None): (float(SHARES @ wages), 0.0),
        ("difference(first wage)", "F - M"): (SPREAD * SEX_EFFECT, 0.0),
        ("difference(first union=True)", "F - M"): (0.0, 0.0),
        ("share(group=a)", None): (float(SHARES[0]), 0.0),
    }
    for group, wage, union in zip(GROUPS, wages.tolist(), effects[1].tolist(), strict=True):
        found["mean(first wage)", group] = (wage, spread)
        found["quantile(first wage, 0.5)", group] = (wage, 0.0)
        found["share(first union=True)", group] = (union, (union * (1 - union)) ** 0.5)
        found["mean(school)", group] = (12.0, 2.0)
    return found


def run_persons(persons: int, epsilon: float, panels: int, seed: int) -> list[dict[str, Any]]:
    """One cell of the grid."""
    held, widths = defaultdict[Any, list[bool]](list), defaultdict[Any, list[float]](list)
    narrow = large = 0
    for number in range(panels):
        rng = np.random.default_rng([seed, persons, round(1000 * epsilon), number])
        effects = drawn_effects(rng)
        known, frame = truths(effects), panel(persons, effects, rng)
        sizes = frame.groupby("group")["id"].nunique()
        model = sklar.fit(frame, schema(), epsilon=epsilon, delta=1e-6)
        for text in QUESTIONS:
            found = model.estimate(text)
            for one in found if isinstance(found, tuple) else (found,):
                truth, spread = known[one.name, one.group]
                assert one.low is not None and one.high is not None
                held[one.name, one.group].append(one.low <= truth <= one.high)
                widths[one.name, one.group].append((one.high - one.low) / 2)
                group = one.group in sizes.index
                # Both ends of a share may be cut off at 0 and 1; spreads are estimated, so a third is left for them.
                narrow += bool(group and spread and (one.error or 0.0) < 0.67 * spread / sizes[one.group] ** 0.5)
                large += bool((one.effective_rows or 0) > (1.5 * sizes[one.group] if group else 1.1 * persons))
        print(f"\r{number + 1} of {panels}", end="", file=sys.stderr, flush=True)
        if (number + 1) % 20 == 0 or number + 1 == panels:
            print(f"\n{persons:,} persons, epsilon {epsilon:g}, {number + 1} panels")
            print(f"  {narrow} intervals are too narrow for their group, {large} effective sizes too large")
            for (name, group), several in held.items():
                width = np.mean(widths[name, group])
                print(f"  {name:30s} {group or '':6} covers {np.mean(several):.3f}  half width {width:.3f}", flush=True)
    return [
        {"question": at[0], "group": at[1], "coverage": float(np.mean(several)), "width": float(np.mean(widths[at]))}
        for at, several in held.items()
    ]
