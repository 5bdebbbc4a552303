"""OpenDP's AIM (its mbi extra) on the public grid: run.py TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
from public_grid import read_task

PROMISE = "(epsilon, delta)-DP by zCDP, OpenDP's mechanisms; discrete domains from the schema"


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho of zCDP that implies (epsilon, delta)-DP (Canonne et al. 2020, proposition 12).

    delta(rho) = min over a > 1 of exp((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1/a)^a
    """
    low, high = 0.0, epsilon + 1.0
    orders = 1.0 + np.geomspace(1e-2, 1e4, 20_000)
    for _ in range(60):
        rho = (low + high) / 2
        logs = (orders - 1) * (orders * rho - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
        low, high = (rho, high) if logs.min() <= np.log(delta) else (low, rho)
    return low


def main() -> None:
    """Fit and write."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    task = read_task()
    names = {name: f"c{at}" for at, name in enumerate(task.sizes)}
    frame = pl.from_pandas(task.codes.rename(columns=names).astype("int64")).lazy()
    context = dp.Context.compositor(
        data=frame, privacy_unit=dp.make_unit(contributions=1),
        privacy_loss=dp.loss_of(rho=rho_of(task.epsilon, task.delta)), split_evenly_over=1,
    )  # fmt: skip
    keys = {names[name]: list(range(size)) for name, size in task.sizes.items()}
    table = context.query().contingency_table(keys=keys, algorithm=dp.mbi.AIM()).release()
    # Independent rows: the default rounds to the model's tables, and makes children of one parent move together.
    frame = table.synthesize(rows=task.rows, method="sample").to_pandas()
    # It keeps a place for values that are not listed, which comes out as null; there are none, so draw others instead.
    known = frame.dropna()
    frame = pd.concat([known, known.sample(len(frame) - len(known), replace=True)], ignore_index=True)
    codes = frame.rename(columns={short: name for name, short in names.items()})
    task.write(codes, PROMISE)


if __name__ == "__main__":
    main()
