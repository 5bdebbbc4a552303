"""Gambs et al. 2021, figure 7: Laplace, geometric and Gaussian noise on the histograms.

python -m benchmarks.papers.shirley_mechanism [--folds 5] [--quick]
"""

from __future__ import annotations

from benchmarks.papers.shirley_folds import run_ablation

if __name__ == "__main__":
    run_ablation(
        "mechanism",
        __doc__,
        "its figure has no numbers; the three mechanisms are much alike there, geometric a little ahead in KS",
    )
