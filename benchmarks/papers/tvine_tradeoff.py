"""Griesbauer et al. 2025, figures 1, 17, 18 and 27: privacy against utility, one point a truncation level.

python -m benchmarks.papers.tvine_tradeoff [--table simulated|support2] [--attack attribute|shadow] [--quick]

A method of ours with a guarantee, `vine` at epsilon 1, stands beside the vines without one.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import sklar
from benchmarks.papers.competitors import of_tvine
from benchmarks.papers.tvine_levels import (
    QUICK_GAMES,
    TABLES,
    Tables,
    arguments,
    attributes,
    competing_attributes,
    competing_auc,
    competing_gains,
    forest_auc,
    heading,
    line,
    privacy_gains,
    utility,
)

LEVELS = {"simulated": (1, 11, 12, 18, 20), "support2": (1, 5, 10, 15, 20, 25)}
PAPER = {
    (
        "simulated",
        "attribute",
    ): "levels 11 to 18 are best for X1, 11 for X6, 1 for X11 (its axes: MAB 0.04 to 0.12, AUC 0.5 to 0.8)",
    ("simulated", "shadow"): "PG around 1 at every level; of all that protect, the C-vine has the highest utility",
    ("support2", "attribute"): "level 10 or lower is best for totcst, 5 or lower for crea",
    ("support2", "shadow"): "PG around 1 at every level",
}


def private_point(tables: Tables, asked: argparse.Namespace, kind: str, column: str) -> tuple[float, float]:
    """AUC and risk of our DP vine at epsilon 1."""
    settings: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-9}
    fewer: dict[str, Any] = {"changes": QUICK_GAMES} if asked.quick and kind == "shadow" else {}
    found = sklar.lab.attack_method(
        kind, "vine", tables.train, tables.schema, profile=asked.profile, sensitive=[column], settings=settings,
        workers=asked.workers, **fewer,
    )  # fmt: skip
    made = [
        sklar.fit(tables.train, tables.schema, **settings).sample(len(tables.train), seed=s) for s in range(asked.sets)
    ]
    auc = float(np.median([forest_auc(table.to_pandas(), tables.test)[0] for table in made]))
    return auc, found[f"{column}.mab" if kind == "attribute" else "pg_outlying"].attack.value


def main() -> None:
    """Print utility and risk by level, the level that PU_t picks, and draw one plot a sensitive column."""
    asked = arguments(__doc__, LEVELS["support2" if "support2" in sys.argv else "simulated"])
    tables, kind = TABLES[asked.table](), asked.attack
    useful = {level: float(found[0]) for level, found in utility(tables, asked.levels, asked.sets).items()}
    print(f"{heading(asked.levels)}\n{line('AUC, 0/1', list(useful.values()))}", flush=True)
    found = attributes(tables, asked.levels, asked) if kind == "attribute" else {}
    name, better = ("MAB", "lower") if kind == "attribute" else ("PG", "higher")
    asked.out.mkdir(parents=True, exist_ok=True)
    rivals = of_tvine(asked.table, asked.quick, (1.0,) if asked.quick else (0.1, 1.0, 5.0))
    rival_auc = {rival: float(competing_auc(tables, asked, rival)[0]) for rival in rivals}
    rival_mab = {rival: competing_attributes(tables, asked, rival) for rival in rivals if kind == "attribute"}
    for column in tables.sensitive[: 1 if asked.quick and kind == "shadow" else None]:
        if kind == "attribute":
            risk = dict(zip(asked.levels, found[f"{column}.mab"], strict=True))
        else:
            risk = {
                level: float(np.median(g)) for level, g in privacy_gains(tables, asked.levels, asked, column).items()
            }
        print(line(f"{name}, {column}", list(risk.values())), flush=True)
        best = sklar.lab.choose_level({level: r if better == "higher" else -r for level, r in risk.items()}, useful)
        auc, private = private_point(tables, asked, kind, column)
        print(f"  PU_t with a = 1/2 picks level {best}; our `vine` at epsilon 1: AUC {auc:.3f}, {name} {private:.3f}")
        points = [sklar.lab.tradeoff_point(f"C-vine {t}", useful[t], risk[t], group="C-vine") for t in asked.levels]
        points.append(sklar.lab.tradeoff_point("vine, epsilon 1", auc, private))
        for rival in rivals:
            given_away = (
                rival_mab[rival][f"{column}.mab"]
                if kind == "attribute"
                else float(np.median(competing_gains(tables, asked, column, rival)))
            )
            print(f"  {rival.label}: AUC {rival_auc[rival]:.3f}, {name} {given_away:.3f}", flush=True)
            points.append(sklar.lab.tradeoff_point(rival.label, rival_auc[rival], given_away))
        path = asked.out / f"tvine_tradeoff_{asked.table}_{kind}_{column}.svg"
        sklar.lab.tradeoff(
            points, utility="AUC (0/1 predictions)", risk=f"{name} of {column}", better_risk=better, path=path
        )
        print(f"drawn: {path}", flush=True)
    print(f"paper: {PAPER[asked.table, kind]}.")
    print("Why they differ: forest, families and reference samples are drawn anew; PrivPGD is not run.")


if __name__ == "__main__":
    main()
