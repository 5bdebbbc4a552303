"""Whether rows can be believed (tails, nulls together, tied amounts, rules): `python -m benchmarks.plausibility`.

Prints what was found in whole fits at epsilon 1 beside its goal: of HMEQ, whose gaps are kept, of eight lognormal
columns whose public bounds are three times too wide, and of a made table with rules, whose samples are a million rows.
HMEQ is fetched once, see `benchmarks.data`. Needs the extra dev.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

import sklar
from benchmarks.data import prepare
from benchmarks.tables import facts
from sklar.schema.columns import Column
from tests.contracts import stays

WHOLE = {"LOAN": 100_000, "DEROG": 20, "DELINQ": 20, "NINQ": 30, "CLNO": 100}
REAL = {"MORTDUE": 500_000, "VALUE": 1_000_000, "YOJ": 60, "CLAGE": 1500, "DEBTINC": 250}
FAR = 1.3
"""A tail begins at this multiple of the real .9995 quantile;"""
WILD_SHARE, WILD_EXCESS = 0.004, 0.0034
"""it is wild with more of the rows than this, and by this much more than in reality."""
OFF = np.log(1.18)
"""A standard deviation is off by more than 18%."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A table to fit, its public facts, and what is looked at in every synthetic table, beside its goal."""

    frame: pd.DataFrame
    schema: sklar.Schema
    look: Callable[[pd.DataFrame, pd.DataFrame], dict[str, float]]
    goals: Mapping[str, str]
    rows: int | None = None


def hmeq() -> Trial:
    """Home equity loans with their gaps: 5,960 rows, 11 of 13 columns with nulls."""
    frame = prepare.hmeq(complete=False)
    frame = frame.assign(BAD=frame["BAD"].astype(str))
    columns: dict[str, Column] = {
        **{name: sklar.Integer(0, top, nullable=name != "LOAN") for name, top in WHOLE.items()},
        **{name: sklar.Real(0, top, nullable=True) for name, top in REAL.items()},
        "BAD": sklar.Category(["0", "1"]),
        "REASON": sklar.Category(["DebtCon", "HomeImp"], nullable=True),
        "JOB": sklar.Category(["Mgr", "Office", "Other", "ProfExe", "Sales", "Self"], nullable=True),
    }
    schema = sklar.Schema({name: columns[name] for name in frame})
    goals = {
        "mean error, sd": "<= .045",
        "|log sd ratio|": "<= .10",
        "wild tails": "0 in all",
        "VALUE null (.0188)": ".01 to .03",
        "CLNO null | CLAGE null": f"{_both_null(frame):.2f} +- .15",
        "MORTDUE > VALUE": "<= .03",
    }
    return Trial(frame=frame, schema=schema, look=_look_at_loans, goals=goals)


def lognormals(rows: int = 6_000) -> Trial:
    """Eight lognormal columns with one factor in common, and bounds three times too wide."""
    rng = np.random.default_rng(0)
    z = 0.5 * rng.normal(size=(rows, 1)) + np.sqrt(0.75) * rng.normal(size=(rows, 8))
    frame = pd.DataFrame(np.exp(np.linspace(0.3, 1.0, 8) * z), columns=[f"x{i}" for i in range(8)])
    schema = facts(frame, {name: sklar.Real(0, 3 * float(frame[name].max())) for name in frame})
    goals = {"mean error, sd": "", "|log sd ratio|": "", "wild tails": "", "sd off by 18%, of 8": "<= .6 (3 of 40)"}
    return Trial(frame=frame, schema=schema, look=_look_at_numbers, goals=goals)


def ruled(rows: int = 6_000) -> Trial:
    """Stays with every rule that shapes a fit, of which a million rows are drawn."""
    goals = {"rows that break a rule": "0", "nights, median": "", "nights, 90%": ""}
    frame = stays.stays(rows)
    nights = (frame["left"] - frame["admitted"]).dt.days.quantile([0.5, 0.9])
    goals["nights, median"], goals["nights, 90%"] = (f"{real:g} +- 1" for real in nights)
    return Trial(frame=frame, schema=stays.schema(), look=_look_at_rules, goals=goals, rows=1_000_000)


TRIALS: dict[str, Callable[[], Trial]] = {"hmeq": hmeq, "lognormals": lognormals, "rules": ruled}


def _look_at_rules(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """Counted from the rows that people get, not by the code that makes them."""
    nights = (pd.to_datetime(made["left"]) - pd.to_datetime(made["admitted"])).dt.days
    dummies = made["walks"].astype(int) + made["rides"] + made["carried"]
    broken = (nights < 0) | (made["region"] != made["town"].map({**stays.REGIONS, "other": "other"})) | (dummies != 1)
    broken |= (made["room"] + made["meals"] - made["bill"]).abs() > 1e-6
    broken |= (made["owed"] - made["room"] - 0.5 * made["meals"] - 2.5).abs() > 0.005 + 1e-9
    broken |= (made["paid"] < 0.2 * made["room"]) | (made["paid"] > made["room"])
    broken |= made["cigarettes"].isna() != made["since"].isna()
    broken |= made["cigarettes"].notna() & ~made["smoker"]
    return {
        "rows that break a rule": float(broken.sum()),
        "nights, median": float(nights.median()),
        "nights, 90%": float(nights.quantile(0.9)),
    }


def _look_at_loans(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    return {
        **_look_at_numbers(real, made),
        "VALUE null (.0188)": float(made["VALUE"].isna().mean()),
        "CLNO null | CLAGE null": _both_null(made),
        "MORTDUE > VALUE": _above(made),
    }


def _look_at_numbers(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """Means over the numeric columns; tails and deviations that are off are counted."""
    names = [name for name in real if pd.api.types.is_numeric_dtype(real[name])]
    mean, log_sd, wild = np.array([_margin(real[name].dropna(), made[name].dropna()) for name in names]).T
    return {
        "mean error, sd": float(mean.mean()),
        "|log sd ratio|": float(log_sd.mean()),
        "wild tails": float(wild.sum()),
        "sd off by 18%, of 8": float((log_sd > OFF).sum()),
    }


def _margin(real: pd.Series, made: pd.Series) -> tuple[float, float, bool]:
    """(error of the mean in standard deviations, |log ratio| of these, whether the upper tail is wild)."""
    far = FAR * real.quantile(0.9995)
    tail, reality = float((made > far).mean()), float((real > far).mean())
    ratio = max(float(made.std()), 1e-9) / float(real.std())
    wild = tail > WILD_SHARE and tail > reality + WILD_EXCESS
    return abs(float(made.mean() - real.mean())) / float(real.std()), abs(float(np.log(ratio))), wild


def _both_null(frame: pd.DataFrame) -> float:
    """Share of null CLNO among rows whose CLAGE is null; 0 if there is none."""
    missing = frame["CLAGE"].isna()
    return float((missing & frame["CLNO"].isna()).sum() / max(int(missing.sum()), 1))


def _above(frame: pd.DataFrame) -> float:
    """Share of rows that owe more than their house is worth, among those that tell both."""
    known = frame[["MORTDUE", "VALUE"]].dropna().astype(float)
    return float((known["MORTDUE"] > known["VALUE"]).mean())


def run(trial: Trial, fits: int, epsilon: float) -> pd.DataFrame:
    """What was found in every fit, one a row, and the CPU seconds that fit and sample took."""
    found: list[dict[str, float]] = []
    for seed in range(fits):
        began = time.process_time()
        model = sklar.fit(trial.frame, trial.schema, method="vine", epsilon=epsilon, delta=1e-9)
        made = model.sample(trial.rows or len(trial.frame), seed=seed).to_pandas()
        found.append({**trial.look(trial.frame, made), "CPU seconds": time.process_time() - began})
    return pd.DataFrame(found)


def main() -> None:
    """Fit, and print means over the fits, their extremes and the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default=",".join(TRIALS))
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    for name in given.tables.split(","):
        trial = TRIALS[name]()
        found = run(trial, given.fits, given.epsilon)
        print(f"{name}, epsilon {given.epsilon:g}, {given.fits} fits", flush=True)
        for what in [*trial.goals, "CPU seconds"]:
            ends = f"{found[what].min():.4f} to {found[what].max():.4f}"
            print(f"  {what:26s} {found[what].mean():8.4f}   ({ends})   {trial.goals.get(what, '')}", flush=True)


if __name__ == "__main__":
    main()
