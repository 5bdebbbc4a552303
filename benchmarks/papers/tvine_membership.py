"""Griesbauer et al. 2025, figure 13: membership inference (privacy gain) over truncation levels, simulated table.

python -m benchmarks.papers.tvine_membership [--levels 1,10,20] [--profile quick]
"""

from __future__ import annotations

import sklar
from benchmarks.papers.tvine_levels import arguments, simulated


def main() -> None:
    """Print the privacy gain of every target, by level."""
    tables = simulated()
    asked = arguments(__doc__, (1, 10, 20))
    found = sklar.attack_method(
        "shadow", "tvine", tables.train, tables.schema, profile=asked.profile, levels=asked.levels,
        sensitive=["X1"], settings=tables.settings(), workers=asked.workers,
    )  # fmt: skip
    for number in found.numbers:
        low, high = number.attack.low, number.attack.high
        print(f"{number.name:40s} {number.attack.value:6.3f} ({low:.3f} to {high:.3f})")
    print("paper: about 1 at every level, for outlying and for random targets.")
    print("Why they differ: targets and reference samples are drawn anew.")


if __name__ == "__main__":
    main()
