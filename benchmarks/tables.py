"""The yardstick's tables with what is public about them: schema and target. Real ones come from `benchmarks.data`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks.data import prepare
from benchmarks.data.made_up import DOMAIN, gauss8, tail6
from benchmarks.data.simulated import simulated

APPENDIX_N = {
    "totcst": (0, 500_000), "crea": (0, 13), "totmcst": (0, 500_000), "charges": (0, 500_000), "slos": (0, 180),
    "bun": (0, 120), "age": (18, 115), "num.co": (0, 9), "scoma": (0, 15), "sps": (0, 163), "aps": (0, 299),
    "surv2m": (0, 1), "surv6m": (0, 1), "hday": (0, 180), "prg2m": (0, 1), "dnrday": (-30, 180), "meanbp": (0, 180),
    "wblc": (0, 100), "hrt": (0, 200), "resp": (0, 40), "temp": (27, 42), "pafi": (0, 500), "alb": (0, 5),
    "bili": (0, 21), "sod": (120, 160), "ph": (6.9, 7.8),
}  # fmt: skip
"""Public ranges of SUPPORT2 as TVineSynth states them (Griesbauer et al. 2025, appendix N)."""
WIDER = {
    "scoma": (0, 100), "resp": (0, 60), "pafi": (0, 700), "alb": (0, 10), "bili": (0, 50), "sod": (110, 180),
    "ph": (6.8, 7.8),
}  # fmt: skip
"""What the yardstick takes instead: appendix N would clip 306 of the 1,449 complete coma scores, which run to 100 and
not to 15 as Glasgow's do, and the tails of the others."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Yard:
    """A table, its public schema, and the column to predict, if any."""

    frame: pd.DataFrame
    schema: sklar.Schema
    target: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split(Yard):
    """A table whose `frame` is to learn from, and unseen rows to test on."""

    test: pd.DataFrame


def facts(frame: pd.DataFrame, numbers: Mapping[str, Any]) -> sklar.Schema:
    """The stated numbers; all other columns are categories, whose labels are public knowledge."""
    labels = {name: sorted(frame[name].astype(str).unique()) for name in frame if name not in numbers}
    return sklar.Schema({name: numbers[name] if name in numbers else sklar.Category(labels[name]) for name in frame})


def adult() -> Yard:
    """Adult (Gambs et al. 2021, Asghar et al. 2020, Galloni et al. 2023)."""
    frame = prepare.adult()
    whole = {
        "age": (16, 100), "education-num": (0, 17), "capital-gain": (0, 100_000), "capital-loss": (0, 5_000),
        "hours-per-week": (0, 100),
    }  # fmt: skip
    return Yard(frame=frame, schema=facts(frame, _integers(whole)), target="salary")


def compas() -> Yard:
    """COMPAS (Gambs et al. 2021)."""
    frame = prepare.compas()
    whole = {
        "age": (16, 100), "juv_fel_count": (0, 24), "decile_score": (-1, 10), "juv_misd_count": (0, 24),
        "juv_other_count": (0, 24), "priors_count": (0, 48), "days_b_screening_arrest": (-1000, 1100),
    }  # fmt: skip
    return Yard(frame=frame, schema=facts(frame, _integers(whole)), target="is_violent_recid")


def support2_schema(frame: pd.DataFrame, ranges: Mapping[str, tuple[float, float]] = APPENDIX_N) -> sklar.Schema:
    """SUPPORT2's columns with public ranges, by default those of the paper."""
    numbers: dict[str, Any] = {name: sklar.Real(*ends) for name, ends in ranges.items()}
    low, high = ranges["num.co"]
    return facts(frame, {**numbers, "num.co": sklar.Integer(int(low), int(high))})


def support2() -> Yard:
    """SUPPORT2, training and test rows of TVineSynth together."""
    frame = pd.concat(prepare.support2(), ignore_index=True)
    return Yard(frame=frame, schema=support2_schema(frame, {**APPENDIX_N, **WIDER}), target="Y")


def sim20() -> Yard:
    """TVineSynth's simulated table, training and test rows together."""
    frame = pd.concat([simulated("train"), simulated("test")], ignore_index=True)
    return Yard(frame=frame, schema=facts(frame, {f"X{i}": sklar.Real(-40, 60) for i in range(1, 21)}), target="Y")


def gaussian8() -> Yard:
    """DPCopula's synthetic table: 50,000 x 8, Gaussian margins and dependence."""
    frame = gauss8()
    return Yard(frame=frame, schema=facts(frame, {name: sklar.Integer(0, DOMAIN - 1) for name in frame}))


def tails6() -> Yard:
    """Pairs that no Gaussian copula fits."""
    ends = {"claim": (0, 40), "loss": (0, 40), "a": (-5, 5), "f": (-12, 12), "h": (-20, 20), "b": (0, 60)}
    frame = tail6()
    return Yard(frame=frame, schema=facts(frame, {name: sklar.Real(*pair) for name, pair in ends.items()}))


def hmeq() -> Yard:
    """Home equity loans: a table of middle size and mixed columns."""
    frame = prepare.hmeq()
    whole = {"LOAN": (0, 100_000), "DEROG": (0, 20), "DELINQ": (0, 20), "NINQ": (0, 30), "CLNO": (0, 100)}
    real = {"MORTDUE": (0, 500_000), "VALUE": (0, 1_000_000), "YOJ": (0, 60), "CLAGE": (0, 1500), "DEBTINC": (0, 250)}
    numbers = {**_integers(whole), **{name: sklar.Real(*ends) for name, ends in real.items()}}
    return Yard(frame=frame, schema=facts(frame, numbers), target="BAD")


def _some(table: Callable[[], Yard], rows: int = 3_750) -> Callable[[], Yard]:
    """A random part, for what happens at middle size (3,000 rows to learn from)."""

    def load_some() -> Yard:
        whole = table()
        some = whole.frame.sample(rows, random_state=7).reset_index(drop=True)
        return Yard(frame=some, schema=whole.schema, target=whole.target)

    return load_some


def _integers(ends: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    return {name: sklar.Integer(*pair) for name, pair in ends.items()}


TABLES: dict[str, Callable[[], Yard]] = {
    "hmeq": hmeq, "adult3k": _some(adult), "compas3k": _some(compas), "adult": adult, "compas": compas,
    "support2": support2, "sim20": sim20, "gauss8": gaussian8, "tail6": tails6,
}  # fmt: skip


def as_stated(frame: pd.DataFrame, schema: sklar.Schema) -> pd.DataFrame:
    """Labels as text, and numbers clipped to their public ranges."""
    out: dict[str, Any] = {}
    for name in schema.modelled:
        column: Any = schema[name]
        if column.numeric:
            out[name] = frame[name].astype(float).clip(column.lower, column.upper)
        else:
            out[name] = frame[name].astype(str).where(frame[name].notna())
    return pd.DataFrame(out)


def load(name: str, seed: int = 0, test_share: float = 0.2) -> Split:
    """A table split at random into rows to learn from and rows to test on."""
    yard = TABLES[name]()
    frame = as_stated(yard.frame, yard.schema)
    order, held = np.random.default_rng(seed).permutation(len(frame)), int(len(frame) * test_share)
    train, test = (frame.iloc[at].reset_index(drop=True) for at in (order[held:], order[:held]))
    return Split(frame=train, test=test, schema=yard.schema, target=yard.target)
