"""Gambs et al. 2021, figure 3: the share of rows that the vine gets, the histograms having the others.

python -m benchmarks.papers.shirley_split [--folds 5] [--quick]
"""

from __future__ import annotations

from benchmarks.papers.shirley_folds import run_ablation

if __name__ == "__main__":
    run_ablation(
        "split",
        __doc__,
        "its figure has no numbers; most metrics are stable there, and KS grows as the histograms get fewer rows",
    )
