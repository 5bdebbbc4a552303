"""Gambs et al. 2021, figure 8: the number of trees.

python -m benchmarks.papers.shirley_truncation [--folds 5] [--quick]
"""

from __future__ import annotations

from benchmarks.papers.shirley_folds import run_ablation

if __name__ == "__main__":
    run_ablation(
        "truncation",
        __doc__,
        "its figure has no numbers to set beside ours",
    )
