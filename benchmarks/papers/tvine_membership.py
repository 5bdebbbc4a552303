"""Griesbauer et al. 2025, figures 13 and 14: membership inference (privacy gain) over levels, C-vine and R-vines.

python -m benchmarks.papers.tvine_membership [--levels 1,10,20] [--quick]
"""

from __future__ import annotations

import numpy as np

from benchmarks.papers.beside import Beside
from benchmarks.papers.competitors import of_tvine
from benchmarks.papers.figures import draw_boxes
from benchmarks.papers.tvine_levels import arguments, competing_gains, privacy_gains, simulated

METHODS = {"C-vine": "tvine", "R-vine": "rvine", "R-vine star1": "rvine-star1"}


def main() -> None:
    """Print and draw the privacy gain of every sensitive column, by level."""
    tables = simulated()
    asked = arguments(__doc__, (1, 10, 20))
    columns = tables.sensitive[:1] if asked.quick else tables.sensitive
    print(f"{'median PG (least, largest)':26s} " + " ".join(f"{level:>19d}" for level in asked.levels))
    beside = Beside()
    for column in columns:
        boxes: dict[str, dict[str, list[float]]] = {}
        for label, method in METHODS.items():
            gains = privacy_gains(tables, asked.levels, asked, column, method)
            told = [f"{np.median(g):5.2f} ({min(g):5.2f}, {max(g):5.2f})" for g in gains.values()]
            print(f"{label + ', ' + column:26s} " + " ".join(told), flush=True)
            for level, of_level in gains.items():
                error = np.std(of_level) / np.sqrt(len(of_level))
                told = f"{np.mean(of_level):.2f} +- {error:.2f} ({len(of_level)} games)"
                beside.add(f"mean PG of {label}, {column}, level {level}", "about 1", told)
            boxes[label] = {str(level): gain for level, gain in gains.items()}
        boxes["competitors"] = {}
        for competitor in of_tvine("simulated", asked.quick, (1.0,) if asked.quick else (0.1, 1.0, 5.0)):
            gain = competing_gains(tables, asked, column, competitor)
            if np.isnan(gain).any():
                print(f"{competitor.label}: left out of a quick run, since its fits take longest")
                continue
            told = f"{np.median(gain):5.2f} ({min(gain):5.2f}, {max(gain):5.2f})"
            print(f"{competitor.label + ', ' + column:26s} {told}", flush=True)
            boxes["competitors"][competitor.label] = gain
        draw_boxes(asked.out, f"tvine_membership_{column}", boxes, "truncation level", f"PG, {column}")
    beside.show()
    print("paper: about 1 at every level, for outlying and for random targets, also for the R-vines and PrivBayes.")
    print("Why they differ: reference samples are drawn anew (targets are the paper's); the best feature set is shown.")


if __name__ == "__main__":
    main()
