"""Made-up tables with every oddity that drafting should recognize."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

ROWS = 2000
DAY = dt.date(2019, 1, 5)
NOON = dt.datetime(2021, 3, 5, 12, tzinfo=dt.UTC)


def days(rng: np.random.Generator, form: str, count: int = 1500) -> list[str]:
    return [(DAY + dt.timedelta(days=int(x))).strftime(form) for x in rng.integers(0, count, ROWS)]


def stamps(rng: np.random.Generator) -> list[str]:
    return [
        f"{t} {x // 60:02d}:{x % 60:02d}:00"
        for t, x in zip(days(rng, "%Y-%m-%d"), rng.integers(0, 1440, ROWS), strict=True)
    ]


def odd_columns(seed: int = 1) -> dict[str, Any]:
    """Columns by what they should become: the key is 'kind name'."""
    rng = np.random.default_rng(seed)
    letters = random.Random(seed)

    def pick(values: Sequence[Any], weights: Sequence[float] | None = None) -> list[Any]:
        return [values[i] for i in rng.choice(len(values), ROWS, p=weights)]

    return {
        "id uuid": [str(uuid.UUID(int=letters.getrandbits(128))) for _ in range(ROWS)],
        "id patient_id": [f"P{x:05d}" for x in rng.integers(0, 700, ROWS)],
        "id row": list(range(1, ROWS + 1)),
        "id customerNumber": [int(x) for x in rng.permutation(10**6)[:ROWS]],
        "ignore Full Name": [f"A{x} B{y}" for x, y in rng.integers(0, 900, (ROWS, 2))],
        "ignore contact": [f"u{x}@example.org" for x in rng.integers(0, 900, ROWS)],
        "ignore remarks": [f"came in with complaint number {x}, was seen and went home" for x in rng.permutation(ROWS)],
        "ignore empty": [None] * ROWS,
        "ignore blank": ["  "] * ROWS,
        "ignore nested": [[1, 2]] * ROWS,
        "real price": [f"${x:,.2f}" for x in rng.lognormal(7, 1, ROWS)],
        "real euro": [f"{x:,.2f} €".translate(str.maketrans(",.", ".,")) for x in rng.lognormal(7, 1, ROWS)],
        "real distance": [f"{x:.1f} km" for x in rng.gamma(2, 5, ROWS)],
        "real comma": [f"{x:.2f}".replace(".", ",") for x in rng.normal(20, 5, ROWS)],
        "real share": [f"{x:.1f}%" for x in rng.uniform(0, 100, ROWS)],
        "category zip": [f"{x:05d}" for x in rng.choice([1002, 2139, 90210, 60601, 501], ROWS)],
        "category q1": pick([1, 2, 9], [0.5, 0.4, 0.1]),
        "category region": pick([3, 4, 5]),
        "category constant": ["x"] * ROWS,
        "category number": [3.5] * ROWS,
        "category sex": pick(["F", "M"]),
        "category job": [f"job{min(x, 4000)}" for x in rng.zipf(1.5, ROWS)],
        "ordinal often": pick(["Never", "Sometimes", "Often", "always"]),
        "ordinal band": pick(["<18", "18-25", "26-40", "41-65", "65+"]),
        "ordinal pay": pick(["under $11k", "$11-$25k", "$25-$50k", ">$50k"]),
        "ordinal month": [f"{y}-{m:02d}" for y, m in rng.integers((2015, 1), (2018, 13), (ROWS, 2))],
        "ordinal stage": pick(["Stage I", "Stage II", "Stage III"]),
        "ordinal grade": pick(["Grade 1", "Grade 2", "Grade 10"]),
        "ordinal pain": pick(["none", "mild", "moderate", "severe"]),
        "ordinal education": pick(["HS-grad", "Bachelors", "1st-4th", "Doctorate"]),
        "boolean flag": pick(["TRUE", "FALSE", ""]),
        "boolean yes": pick(["Y", "N"]),
        "boolean zero": [None if rng.random() < 0.1 else float(x) for x in rng.integers(0, 2, ROWS)],
        "boolean arrow": pick([True, False, None]),
        "datetime iso": days(rng, "%Y-%m-%d"),
        "datetime some": [t if i % 5 else "unknown" for i, t in enumerate(days(rng, "%Y-%m-%d"))],
        "datetime us": days(rng, "%m/%d/%Y"),
        "datetime german": days(rng, "%d.%m.%Y"),
        "datetime words": days(rng, "%d %b %Y"),
        "datetime dense_date": [int(t) for t in days(rng, "%Y%m%d")],
        "datetime stamp": stamps(rng),
        "datetime zoned": pa.array([NOON + dt.timedelta(hours=int(x)) for x in rng.integers(0, 999, ROWS)]),
        "datetime date": [DAY + dt.timedelta(days=int(x)) for x in rng.integers(0, 30, ROWS)],
        "integer rating": pick([1, 2, 3, 4, 5]),
        "id running": [str(x) for x in rng.permutation(ROWS)],
        "integer household": pick([1, 2, 3, 4, 5, 6, 8]),
        "integer signed": pick([-1, 0, 1, 2, 3]),
        "integer age": [int(x) for x in rng.integers(18, 97, ROWS)],
        "integer text age": [str(x) if x < 90 else "NA" for x in rng.integers(18, 97, ROWS)],
        "integer count": [int(x) for x in rng.poisson(2, ROWS)],
        "integer big": [int(2**60 + x) for x in rng.integers(0, 900, ROWS)],
        "integer wide": [int(x) for x in rng.lognormal(12, 2, ROWS)],
        "integer junk": pick(["12", "13", "14", "abc"], [0.4, 0.3, 0.27, 0.03]),
        "integer nulls": [float(x) if x else None for x in rng.integers(0, 300, ROWS)],
        "real income": [round(float(x), 2) for x in rng.lognormal(9, 2.2, ROWS)],
        "real zeros": [0.0 if rng.random() < 0.3 else float(x) for x in rng.normal(0, 9, ROWS)],
        "real balance": [float(x) for x in rng.choice([-1, 1], ROWS) * rng.lognormal(3, 3, ROWS)],
        "real weight": [float(round(x, 1)) if rng.random() > 0.2 else 999.0 for x in rng.normal(70, 12, ROWS)],
        "real tiny": [float(x) for x in rng.gamma(2, 1e-9, ROWS)],
        "real negative": [float(x) for x in -rng.gamma(2, 3, ROWS)],
        "real probability": [float(x) for x in rng.uniform(0, 0.97, ROWS)],
        "real text": [f" {x:.3e}" for x in rng.normal(5, 2, ROWS)],
        "real huge": [float(x) for x in rng.normal(0, 1, ROWS) * 1e280],
    }  # fmt: skip


def odd_table(seed: int = 1) -> pa.Table:
    return pa.table(odd_columns(seed))
