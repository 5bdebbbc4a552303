"""Griesbauer et al. 2025, figures 11, 12, 20 and 21: attribute inference on the simulated table, vines and competitors.

python -m benchmarks.papers.tvine_attribute [--levels 1,5,10,12,16,17,20] [--quick]
"""

from __future__ import annotations

from benchmarks.papers.beside import Beside
from benchmarks.papers.competitors import of_tvine
from benchmarks.papers.figures import draw_lines
from benchmarks.papers.tvine_levels import arguments, attributes, competing_attributes, heading, line, simulated

PAPER = (
    "paper (charts): for the C-vine MAB of X1 is low and flat up to level 16 and rises from 17 on, that of X6 rises\n"
    "from 12 on and that of X11 from 2 on; the R-vine gives all of them away at every level, R-vine star1 from 2 on.\n"
    "PrivBayes at epsilon 0.1 is as low as the C-vine; CTGAN, TVAE and PrivPGD lie above it."
)


def main() -> None:
    """Print MAB and WCAB by level and sensitive column."""
    tables = simulated()
    asked = arguments(__doc__, tables.levels)
    drawn: dict[str, dict[str, list[float]]] = {}
    for method in ("tvine", "rvine", "rvine-star1"):
        print(f"{method}\n{heading(asked.levels)}")
        for name, values in attributes(tables, asked.levels, asked, method).items():
            print(line(name, values), flush=True)
            drawn.setdefault(name, {})[method] = list(values)
    print(f"{'':14s} " + " ".join(f"{name:>8s}" for name in drawn))
    for competitor in of_tvine("simulated", asked.quick):
        found = competing_attributes(tables, asked, competitor)
        print(f"{competitor.label:14s} " + " ".join(f"{value:8.3f}" for value in found.values()), flush=True)
        for name, value in found.items():
            drawn[name][competitor.label] = [value] * len(asked.levels)
    beside = Beside()
    for name in (f"{column}.mab" for column in tables.sensitive):
        for at, level in enumerate(asked.levels):
            beside.add(f"{name} of the C-vine at level {level}", "chart", drawn[name]["tvine"][at])
    beside.show()
    draw_lines(asked.out, "tvine_attribute", drawn, "truncation level", "", asked.levels)
    print(PAPER)
    print("Why they differ: reference samples and pair families are drawn and chosen anew; the pattern is what counts.")


if __name__ == "__main__":
    main()
