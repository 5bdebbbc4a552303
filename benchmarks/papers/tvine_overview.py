"""Griesbauer et al. 2025, figure 2: MAB, utility and their trade-off on SUPPORT2 over truncation levels.

    python -m benchmarks.papers.tvine_overview [--levels 1,5,10,15,20,25] [--profile quick] [--sets 20]

Its membership part (privacy gain) takes longest and is `python -m benchmarks.attacks support2`.
"""

from __future__ import annotations

import sklar
from benchmarks.papers.tvine_levels import arguments, attributes, forest_auc, heading, line, support2, utility


def main() -> None:
    """Print the parts of the figure, and the level that the privacy-utility score picks."""
    tables = support2()
    asked = arguments(__doc__, tables.levels)
    print(line("real rows", forest_auc(tables.train, tables.test)), "(AUC from 0/1 predictions and from probabilities)")
    print(heading(asked.levels))
    useful = utility(tables, asked.levels, asked.sets)
    print(line("AUC, 0/1", [useful[level][0] for level in asked.levels]))
    print(line("AUC, prob", [useful[level][1] for level in asked.levels]), flush=True)
    found = attributes(tables, asked.levels, asked)
    for name, values in found.items():
        print(line(name, values))
    for name in tables.sensitive:
        privacy = {level: -mab for level, mab in zip(asked.levels, found[f"{name}.mab"], strict=True)}
        picked = [
            sklar.choose_level(privacy, {level: float(useful[level][at]) for level in asked.levels}) for at in (0, 1)
        ]
        print(
            f"level picked by PU_t with a = 1/2 for {name}: {picked[0]} (0/1 predictions), {picked[1]} (probabilities)"
        )
    print("paper: real rows 0.71; at level 10 or lower for totcst, 5 or lower for crea, ahead of all competitors.")
    print(
        "Why they differ: PU_t scales both scores to their range over the levels, so a hundredth of AUC counts as\n"
        "much as all of MAB. MAB falls again without truncation, as in the paper; AUC by probabilities is highest\n"
        "there, that of 0/1 predictions, the paper's, is not. Families, forest and reference samples are drawn anew."
    )


if __name__ == "__main__":
    main()
