"""Griesbauer et al. 2025, figures 15 and 16: utility over truncation levels, C-vine and R-vines, simulated table.

python -m benchmarks.papers.tvine_utility [--levels 1,5,10,20] [--sets 20]
"""

from __future__ import annotations

from benchmarks.papers.beside import Beside
from benchmarks.papers.competitors import of_tvine
from benchmarks.papers.figures import draw_lines
from benchmarks.papers.tvine_levels import arguments, competing_auc, forest_auc, heading, line, simulated, utility

PAPER = (
    "paper: real rows 0.908; the C-vine between about 0.7 and 0.8 at every level, off the chart (0/1 predictions);\n"
    "the R-vines as useful, and star1 more than the R-vine at level 1; ahead of CTGAN and by far of PrivBayes"
)

FITS = (
    ("C-vine", "tvine", {}), ("given Y", "tvine", {"conditional_root": True}), ("R-vine", "rvine", {}),
    ("star1", "rvine-star1", {}),
)  # fmt: skip


def main() -> None:
    """Print AUC by level, from 0/1 predictions and from probabilities."""
    tables = simulated()
    asked = arguments(__doc__, tables.levels)
    real = forest_auc(tables.train, tables.test)
    print(line("real rows", real), "(AUC from 0/1 predictions and from probabilities)")
    print(heading(asked.levels))
    drawn: dict[str, dict[str, list[float]]] = {"0/1 predictions": {}, "probabilities": {}}
    for label, method, more in FITS:
        found = utility(tables, asked.levels, asked.sets, method, **more)
        for at, (kind, short) in enumerate((("0/1 predictions", "0/1"), ("probabilities", "prob"))):
            drawn[kind][label] = [float(found[level][at]) for level in asked.levels]
            print(line(f"{label}, {short}", drawn[kind][label]), flush=True)
    for competitor in of_tvine("simulated", asked.quick):
        values = competing_auc(tables, asked, competitor)
        print(line(competitor.label, values), "(0/1 predictions, probabilities)", flush=True)
        for kind, value in zip(drawn, values, strict=True):
            drawn[kind][competitor.label] = [float(value)] * len(asked.levels)
    beside, lines = Beside(), drawn["0/1 predictions"]
    beside.add("AUC of 0/1 predictions, real rows", 0.908, real[0], real[0])
    for at, level in enumerate(asked.levels):
        beside.add(f"C-vine, level {level}", "0.7 to 0.8", lines["C-vine"][at], lines["given Y"][at])
    beside.show()
    draw_lines(asked.out, "tvine_utility", drawn, "truncation level", "AUC", asked.levels)
    print(PAPER)
    print("'given Y' is ours: a vine for each value of the response, which keeps what separates the classes.")
    print("Why they differ: another random forest, other starting values of the families, and the draw of the tables.")


if __name__ == "__main__":
    main()
