"""Intervals around spikes: columns in which many rows have one value, at the upper, lower and inner end of the others.

Run by `benchmarks.coverage --spikes 0.02 0.2 0.6`. Three whole numbers from 0 to 120 are normal, but for a part of the
rows: `top` is 90 there and never above (top-coded), `low` is 30 and never below, `inner` is 40 in the middle of others.
Each line also states how often the same statistic of 20,000 rows drawn from the model lies inside its interval: rows
and estimates of one model should not contradict each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import sklar

SCHEMA = sklar.Schema(
    {**{name: sklar.Integer(0, 120) for name in ("top", "low", "inner")}, "g": sklar.Category(["F", "M"])}
)
SPIKES = {"top": 90, "low": 30, "inner": 40}
TRUTH_ROWS, DRAWN = 2**21, 20_000
Answer = Callable[[pd.DataFrame], float]


def draw_rows(rows: int, share: float, rng: np.random.Generator) -> pd.DataFrame:
    """Rows of the law; the second group has higher numbers in two of the columns."""
    g, normal, spiked = rng.random(rows) < 0.3, rng.normal(size=(rows, 3)), rng.random((rows, 3)) < share
    high = np.rint(60 + 12 * normal[:, 0] + 5 * g)
    low = np.rint(60 + 12 * normal[:, 1] - 5 * g)
    inner = np.rint(45 + 12 * (0.5 * normal[:, 0] + 0.87 * normal[:, 2]))
    free = {"top": np.clip(high, 0, 90), "low": np.clip(low, 30, 120), "inner": np.clip(inner, 0, 120)}
    columns = {
        name: np.where(at, SPIKES[name], x).astype(int) for at, (name, x) in zip(spiked.T, free.items(), strict=True)
    }
    return pd.DataFrame({**columns, "g": np.where(g, "F", "M")})


def _median(x: pd.Series) -> float:
    return float(np.quantile(x, 0.5, method="inverted_cdf"))


def questions() -> dict[str, dict[Any, Answer]]:
    """Each question with its answers from rows, by group."""
    found: dict[str, dict[Any, Answer]] = {}
    for name, value in SPIKES.items():
        found[f"share({name}={value})"] = {None: lambda f, n=name, v=value: float(np.mean(f[n] == v))}
        found[f"mean({name})"] = {None: lambda f, n=name: float(f[n].mean())}
        found[f"median({name})"] = {None: lambda f, n=name: _median(f[n])}
    found["quantile(top, 0.9)"] = {None: lambda f: float(np.quantile(f["top"], 0.9, method="inverted_cdf"))}
    found["mean(top) by g"] = {g: lambda f, g=g: float(f["top"][f["g"] == g].mean()) for g in "FM"}
    found["median(top) by g"] = {g: lambda f, g=g: _median(f["top"][f["g"] == g]) for g in "FM"}
    for name in ("top", "inner"):
        means = {None: lambda f, n=name: float(f[n][f["g"] == "F"].mean() - f[n][f["g"] == "M"].mean())}
        found[f"difference({name}) by g"] = means
    return found


def run_spikes(rows: int, epsilon: float, share: float, tables: int, replicas: int, seed: int) -> list[dict[str, Any]]:
    """One cell of the grid: how often intervals hold the truth, and the rows of their own model."""
    asked = questions()
    truth = draw_rows(TRUTH_ROWS, share, np.random.default_rng(seed))
    held, own, widths = (defaultdict[str, list[float]](list) for _ in range(3))
    for number in range(tables):
        rng = np.random.default_rng([seed, rows, round(1000 * epsilon), round(1000 * share), number])
        model = sklar.fit(draw_rows(rows, share, rng), SCHEMA, epsilon=epsilon, delta=1e-6)
        drawn = model.sample(DRAWN, seed=1).to_pandas().astype(dict.fromkeys(SPIKES, int))
        for text, answers in asked.items():
            found = model.estimate(text, replicas=replicas)
            for one in found if isinstance(found, tuple) else (found,):
                answer = answers[one.group if one.group in answers else None]
                place = text if one.group not in answers or one.group is None else f"{text} [{one.group}]"
                if one.low is None or one.high is None:
                    held[place].append(0.0)
                    continue
                held[place].append(float(one.low <= answer(truth) <= one.high))
                own[place].append(float(one.low <= answer(drawn) <= one.high))
                widths[place].append((one.high - one.low) / 2)
    print(f"\n{rows:,} rows, epsilon {epsilon:g}, spikes of {share:.0%}, {tables} tables")
    lines = [
        {"question": q, "coverage": np.mean(held[q]), "rows_inside": np.mean(own[q]), "half_width": np.mean(widths[q])}
        for q in held
    ]
    for line in lines:
        print(
            f"  {line['question']:24s} covers {line['coverage']:.3f}  own rows inside {line['rows_inside']:.3f}  "
            f"half width {line['half_width']:.4f}",
            flush=True,
        )
    return lines
