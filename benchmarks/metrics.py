"""The yardstick's metrics: the same public grid, queries and learner for every synthesizer, ours or not.

They stand apart from `sklar.evaluate` on purpose: what judges us should not be what we ship.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

import sklar
from benchmarks.tables import Split

BINS = 32
TRIPLES = 100
QUERIES = 1_000
SANITY = 0.001


def codes(table: pd.DataFrame, schema: sklar.Schema, bins: int = BINS) -> pd.DataFrame:
    """Labels as listed (unlisted ones as the first), numbers in at most `bins` cells of equal width; nulls last."""
    out: dict[str, np.ndarray] = {}
    for name in schema.modelled:
        column: Any = schema[name]
        if not column.numeric:
            place, cells = {str(value): i for i, value in enumerate(column.values)}, len(column.values)
            code = table[name].astype(str).map(place).fillna(0).astype(int).to_numpy()
        else:
            whole = column.kind == "integer"
            cells = min(bins, int(column.upper - column.lower + 1)) if whole else bins
            width = (column.upper - column.lower + whole) / cells
            code = np.clip(((_numbers(table[name], column.lower) - column.lower) / width).astype(int), 0, cells - 1)
        out[name] = np.where(table[name].isna(), cells, code) if column.nullable else code
    return pd.DataFrame(out)


def tvd(one: pd.DataFrame, two: pd.DataFrame, names: Sequence[str]) -> float:
    """Total variation distance of the joint distribution of some columns."""
    sizes = [int(max(one[name].max(), two[name].max())) + 1 for name in names]
    cells = [np.ravel_multi_index([table[name].to_numpy() for name in names], sizes) for table in (one, two)]
    _, place = np.unique(np.concatenate(cells), return_inverse=True)
    first, second = place[: len(one)], place[len(one) :]
    most = int(place.max()) + 1
    gap = np.bincount(first, minlength=most) / len(one) - np.bincount(second, minlength=most) / len(two)
    return 0.5 * float(np.abs(gap).sum())


def fidelity(train: pd.DataFrame, made: pd.DataFrame, schema: sklar.Schema, seed: int = 0) -> dict[str, float]:
    """Distances of single columns, pairs and triples; moments, tails, rank correlations and ranges of numbers."""
    one, two = codes(train, schema), codes(made, schema)
    names, rng = list(schema.modelled), np.random.default_rng(seed)
    triples = [tuple(rng.choice(names, 3, replace=False)) for _ in range(TRIPLES)] if len(names) > 2 else []
    out = {
        "tvd1": _mean(tvd(one, two, [name]) for name in names),
        "tvd2": _mean(tvd(one, two, pair) for pair in combinations(names, 2)),
        "tvd3": _mean(tvd(one, two, triple) for triple in triples),
    }
    numeric = [name for name in names if schema[name].numeric]
    pairs = [(train[name].astype(float), pd.to_numeric(made[name], errors="coerce").astype(float)) for name in numeric]
    if pairs:
        out |= {
            "mean_err": _mean(abs(a.mean() - b.mean()) / max(a.std(), 1e-9) for a, b in pairs),
            "sd_err": _mean(abs(np.log(max(b.std(), 1e-9) / max(a.std(), 1e-9))) for a, b in pairs),
            "tail": _mean((b > _far(a)).mean() for a, b in pairs),
            "ks": _mean(ks_2samp(a.dropna(), b.dropna(), method="asymp").statistic for a, b in pairs),
        }
    if len(pairs) > 1:
        ranks = [pd.concat(side, axis=1).rank().corr().fillna(0).to_numpy() for side in zip(*pairs, strict=True)]
        out["rho_delta"] = float(np.abs(ranks[0] - ranks[1])[np.triu_indices(len(pairs), 1)].mean())
        out["range_rel"], out["range_abs"] = range_errors(train[numeric], made[numeric])
    return out


def range_errors(train: pd.DataFrame, made: pd.DataFrame, seed: int = 0) -> tuple[float, float]:
    """Relative (sanity bound SANITY) and absolute error of shares in random ranges of two to four columns."""
    rng, real, other = np.random.default_rng(seed), train.to_numpy(float), made.astype(float).to_numpy()
    ends = np.nanquantile(real, np.linspace(0, 1, 101), axis=0)
    relative, absolute = np.empty(QUERIES), np.empty(QUERIES)
    for q in range(QUERIES):
        some = rng.integers(2, min(4, real.shape[1]) + 1)
        chosen = rng.choice(real.shape[1], some, replace=False)
        inside = [np.ones(len(table), dtype=bool) for table in (real, other)]
        for j in chosen:
            low, high = (ends[i, j] for i in np.sort(rng.integers(0, 101, 2)))
            for mask, table in zip(inside, (real, other), strict=True):
                mask &= (table[:, j] >= low) & (table[:, j] <= high)
        truth, found = (mask.mean() for mask in inside)
        absolute[q] = abs(truth - found)
        relative[q] = absolute[q] / max(truth, SANITY)
    return float(relative.mean()), float(absolute.mean())


def transfer(split: Split, made: pd.DataFrame) -> dict[str, float]:
    """AUC and MCC on unseen rows of gradient boosting trained on synthetic and on real rows.

    150 trees of depth 5, rate 0.1, by scikit-learn. The AUCs in RESULTS.md that are older than this file are XGBoost's
    with the same settings.
    """
    if split.target is None:
        return {}
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import matthews_corrcoef, roc_auc_score

    column: Any = split.schema[split.target]
    classes = {str(value): i for i, value in enumerate(column.values)}
    truth, out = _classes(split.test[split.target], classes), dict[str, float]()
    for tag, table in (("synth", made), ("real", split.frame)):
        known = _classes(table[split.target], classes)
        if len(np.unique(known)) < 2:
            out |= {f"auc_{tag}": 0.5, f"mcc_{tag}": 0.0}
            continue
        learner = HistGradientBoostingClassifier(
            max_iter=150, max_depth=5, learning_rate=0.1, early_stopping=False, random_state=0
        )
        chance = learner.fit(_features(table, split), known).predict_proba(_features(split.test, split))[:, 1]
        out[f"auc_{tag}"] = float(roc_auc_score(truth, chance))
        out[f"mcc_{tag}"] = float(matthews_corrcoef(truth, chance > 0.5))
    return out


def all_scores(split: Split, made: pd.DataFrame, seed: int = 0) -> dict[str, float]:
    """Fidelity and transfer."""
    return {**fidelity(split.frame, made, split.schema, seed), **transfer(split, made)}


def _features(table: pd.DataFrame, split: Split) -> np.ndarray:
    out: list[np.ndarray] = []
    for name in split.schema.modelled:
        column: Any = split.schema[name]
        if name == split.target:
            continue
        place = {} if column.numeric else {str(value): i for i, value in enumerate(column.values)}
        values = table[name] if column.numeric else table[name].astype(str).map(place).fillna(-1)
        out.append(values.astype(float).to_numpy())
    return np.column_stack(out)


def _classes(values: pd.Series, classes: dict[str, int]) -> np.ndarray:
    return values.astype(str).map(classes).fillna(0).astype(int).to_numpy()


def _numbers(values: pd.Series, missing: float) -> np.ndarray:
    return pd.to_numeric(values, errors="coerce").fillna(missing).to_numpy(float)


def _far(values: pd.Series) -> float:
    """Beyond it lies next to no real row: 30% further out than all but one in 2,000."""
    most = values.quantile(0.9995)
    return float(most + 0.3 * (most - values.min()))


def _mean(values: Any) -> float:
    listed = [float(value) for value in values]
    return float(np.mean(listed)) if listed else 0.0
