"""Gambs et al. 2021, figures 5 and 6: Adult and COMPAS over epsilon.

python -m benchmarks.papers.shirley_comparison [--folds 5] [--quick]
"""

from __future__ import annotations

from benchmarks.papers.shirley_folds import run_ablation

if __name__ == "__main__":
    run_ablation(
        "epsilon",
        __doc__,
        "its figures have no numbers; it finds COPULA-SHIRLEY good in distributions, behind PrivBayes in classes",
    )
