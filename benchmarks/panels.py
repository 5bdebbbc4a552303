"""Rows that follow one another, and two tables: `python -m benchmarks.panels [--persons N] [--parents N] [--seeds N]`.

1. The made panel at epsilon 3: transitions, rows two apart, what lies between persons and single rows, of linked rows
   and of rows that stand alone, which are given to persons at random; rules across rows that are broken.
2. The made hospital at epsilon 1: tables across the key, beside rows given to parents at random; rows without a parent.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pyarrow as pa

import sklar
from sklar.lab.families import evaluate_tables
from sklar.lab.made.hospital import hospital_schemas, hospital_tables
from sklar.lab.made.panel import panel_schema, panel_table
from sklar.lab.metrics.trajectories import trajectories
from sklar.lab.metrics.tvd import distances
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import coarse_codes, coarse_grid
from sklar.sample.rng import generator

PANEL_EPSILON, TABLES_EPSILON = 3.0, 1.0


def main() -> None:
    """Run both, and print means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--persons", type=int, default=5_000)
    parser.add_argument("--parents", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    for title, run, size in (("panel", panel, given.persons), ("two tables", two_tables, given.parents)):
        found = [run(size, seed) for seed in range(1, given.seeds + 1)]
        print(f"{title}, {size:,} persons, {given.seeds} seeds")
        for name in found[0]:
            values = [one[name] for one in found]
            print(f"  {name}: {np.mean(values):.4f} ({', '.join(f'{value:.4f}' for value in values)})", flush=True)


def panel(persons: int, seed: int) -> dict[str, float]:
    """What is found of one panel."""
    real, facts, alone = panel_table(persons, seed), panel_schema(), panel_schema(linked=False)
    linked = sklar.fit(real, facts, epsilon=PANEL_EPSILON).sample_persons(persons, seed=seed)
    flat = sklar.fit(real, alone, epsilon=PANEL_EPSILON).sample(real.num_rows, seed=seed)
    mixed = flat.set_column(0, "person", pa.array(generator(seed).permutation(real["person"].to_numpy())))
    told, chance = trajectories(real, linked, facts), trajectories(real, mixed, facts)
    single = {name: single_rows(real, table, alone) for name, table in (("linked", linked), ("flat", flat))}
    off = {name: abs(other / own - 1) for name, (own, other) in told.between.items()}
    return {
        "lag 1, linked": mean(told.transitions), "lag 1, flat rows matched at random": mean(chance.transitions),
        "lag 2, linked": mean(told.second), "lag 2, flat rows matched at random": mean(chance.second),
        "share between persons, mean relative error": mean(off),
        **{f"share between persons, relative error of {name}": value for name, value in off.items()},
        "number of rows": told.rows, "broken steps": broken_steps(linked),
        **{f"tvd{ways} of single rows, {name}": found[ways] for name, found in single.items() for ways in (1, 2)},
    }  # fmt: skip


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
    return {ways: float(np.mean(list(distances(one, two, sizes, chosen)))) for ways, chosen in sets.items()}


def broken_steps(table: pa.Table) -> int:
    """Steps back in time, and rows after death."""
    person, year = (table[name].to_numpy() for name in ("person", "year"))
    died = np.array(table["vital"].to_pylist()) == "died"
    same = person[1:] == person[:-1]
    return int((same & ((year[1:] <= year[:-1]) | died[:-1])).sum())


def mean(values: Mapping[str, float]) -> float:
    """Over columns."""
    return float(np.mean(list(values.values())))


if __name__ == "__main__":
    main()
