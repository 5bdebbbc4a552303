"""G_eps and G_eps+ of two data frames, without the rest of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

import sklar
from sklar.lab.metrics.correlations.phik import phik_matrix
from sklar.lab.metrics.g_epsilon import PAPER_LEARNERS, GEpsilon, g_epsilon
from sklar.lab.metrics.tvd import margin_distance
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import coarse_grid


def g_scores(
    real: pd.DataFrame, other: pd.DataFrame, schema: sklar.Schema, target: str, learners: Sequence[str] = PAPER_LEARNERS
) -> GEpsilon:
    """Both scores and their parts, with the paper's weights of one."""
    one, two = (read_table(frame, schema, np.random.default_rng(0), role="real") for frame in (real, other))
    nu = margin_distance(one, two, coarse_grid(schema), 1, np.random.default_rng(0)).value
    matrices = (phik_matrix(one), phik_matrix(two))
    return g_epsilon(matrices, nu, (one, two), [target], np.random.default_rng(0), learners=learners)
