"""Generators made for attacks only: two that stay close to real rows, and one that learns ranks and correlations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa


def interpolated(table: Any, rows: int, seed: int) -> pd.DataFrame:
    """A point between a real row and one of its five nearest ones (as SMOTE does); labels of either."""
    rng, real = np.random.default_rng(seed), _frame(table)
    first = rng.integers(len(real), size=rows)
    second = _nearest(real, 5)[first, rng.integers(5, size=rows)]
    along, numbers, out = rng.random(rows), _numbers(real), dict[str, Any]()
    for name in real:
        x = real[name].to_numpy()
        mixed = np.where(rng.random(rows) < 0.5, x[first], x[second])
        out[str(name)] = x[first] + along * (x[second] - x[first]) if name in numbers else mixed
    return pd.DataFrame(out)


def neighbor_bootstrap(table: Any, rows: int, seed: int) -> pd.DataFrame:
    """Each column from a row drawn anew among a real row and its three nearest ones."""
    rng, real = np.random.default_rng(seed), _frame(table)
    near = np.column_stack([np.arange(len(real)), _nearest(real, 3)])[rng.integers(len(real), size=rows)]
    at = np.arange(rows)
    return pd.DataFrame({name: real[name].to_numpy()[near[at, rng.integers(4, size=rows)]] for name in real})


def correlated_ranks(table: Any, rows: int, seed: int) -> pd.DataFrame:
    """Correlated normal scores of the ranks, put back on the sorted values: honest as far as it goes."""
    from scipy.special import ndtr, ndtri

    rng, real = np.random.default_rng(seed), _frame(table)
    numbers = _numbers(real)
    columns = {name: real[name] if name in numbers else real[name].astype(str) for name in real}
    ranks = np.column_stack([column.rank(method="first") for column in columns.values()])
    corr = np.corrcoef(ndtri(ranks / (len(real) + 1)).T)
    u = ndtr(rng.multivariate_normal(np.zeros(len(corr)), corr, rows))
    out: dict[str, Any] = {}
    for at, (name, column) in enumerate(columns.items()):
        values = np.sort(column.to_numpy())
        place = np.minimum((u[:, at] * len(values)).astype(int), len(values) - 1)
        middle = (np.arange(len(values)) + 0.5) / len(values)
        out[str(name)] = np.interp(u[:, at], middle, values.astype(float)) if name in numbers else values[place]
    return pd.DataFrame(out)


def _frame(table: Any) -> pd.DataFrame:
    return (table.to_pandas() if isinstance(table, pa.Table) else table).reset_index(drop=True)


def _numbers(real: pd.DataFrame) -> list[Any]:
    return [name for name in real.select_dtypes("number") if real[name].nunique() > 2]


def _nearest(real: pd.DataFrame, count: int) -> Any:
    from sklearn.neighbors import NearestNeighbors

    numbers = _numbers(real)
    blocks = [((real[numbers] - real[numbers].mean()) / real[numbers].std()).fillna(0.0).to_numpy()]
    blocks += [0.7 * pd.get_dummies(real[name]).to_numpy(float) for name in real if name not in numbers]
    space = np.column_stack(blocks)
    return NearestNeighbors(n_neighbors=count + 1).fit(space).kneighbors(space, return_distance=False)[:, 1:]


GENERATORS: dict[str, Callable[[Any, int, int], pd.DataFrame]] = {
    "interpolated": interpolated,
    "neighbor bootstrap": neighbor_bootstrap,
    "correlated ranks": correlated_ranks,
}
