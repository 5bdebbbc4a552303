"""Gambs et al. 2021, figure 4: ordinal, one-hot, weight of evidence and GLMM.

python -m benchmarks.papers.shirley_encoder [--folds 5] [--quick]
"""

from __future__ import annotations

from benchmarks.papers.shirley_folds import run_ablation

if __name__ == "__main__":
    run_ablation(
        "encoder",
        __doc__,
        "its figure has no numbers; ordinal classifies worst there, one-hot has a bad KS, WOE classifies best",
    )
