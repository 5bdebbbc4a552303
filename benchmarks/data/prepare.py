"""Published files made into the tables that the papers use. What is public about them is in `benchmarks.tables`."""

from __future__ import annotations

import hashlib
import sys

import pandas as pd

from benchmarks.data.r_stream import RStream
from benchmarks.data.sources import SOURCES, find

ADULT = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary",
)  # fmt: skip
COMPAS = (
    "sex", "age", "race", "juv_fel_count", "decile_score", "juv_misd_count", "juv_other_count", "priors_count",
    "days_b_screening_arrest", "is_recid", "is_violent_recid", "score_text", "c_charge_degree",
)  # fmt: skip
SUPPORT2 = (
    "totcst", "crea", "totmcst", "charges", "slos", "bun", "age", "num.co", "scoma", "sps", "aps", "surv2m", "surv6m",
    "hday", "prg2m", "dnrday", "meanbp", "wblc", "hrt", "resp", "temp", "pafi", "alb", "bili", "sod", "ph",
)  # fmt: skip
"""Covariates of TVineSynth, in the order of its C-vine."""
SUPPORT2_SEED = 3527
"""With which its authors drew the 220 of 1,104 rows to test on."""


def adult() -> pd.DataFrame:
    """Adult: 32,561 rows without the sampling weight; salary is 1 above 50,000 dollars."""
    path = find("adult")
    if path.name == "adult.csv":
        return pd.read_csv(path)
    raw = pd.read_csv(path, names=list(ADULT), skipinitialspace=True, keep_default_na=False)
    return _as_published("adult", prepare_adult(raw))


def prepare_adult(raw: pd.DataFrame) -> pd.DataFrame:
    """From the columns of adult.data."""
    return raw.drop(columns="fnlwgt").assign(salary=(raw["salary"] == ">50K").astype(int))


def compas() -> pd.DataFrame:
    """COMPAS: the 10,568 rows of compas-scores.csv without a gap in 13 of its columns."""
    path = find("compas")
    return (
        pd.read_csv(path) if path.name == "compas.csv" else _as_published("compas", prepare_compas(pd.read_csv(path)))
    )


def prepare_compas(raw: pd.DataFrame) -> pd.DataFrame:
    """From the columns of compas-scores.csv."""
    whole = raw[list(COMPAS)].dropna().reset_index(drop=True)
    return whole.rename(columns={"c_charge_degree": "charge_degree"}).astype({"days_b_screening_arrest": int})


def support2() -> tuple[pd.DataFrame, pd.DataFrame]:
    """SUPPORT2 of TVineSynth: the 884 rows to learn from and the 220 to test on, as published."""
    return prepare_support2(pd.read_csv(find("support2")))


def prepare_support2(raw: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """From the raw table: complete rows, also in the activities of daily living (`adls`), which are then left out."""
    whole = raw.dropna(subset=[*SUPPORT2, "death", "adls"])[[*SUPPORT2, "death"]].rename(columns={"death": "Y"})
    tested = RStream(SUPPORT2_SEED).sample(len(whole), len(whole) // 5)
    rest = whole.drop(index=whole.index[tested])
    return rest.reset_index(drop=True), whole.iloc[tested].reset_index(drop=True)


def hmeq(*, complete: bool = True) -> pd.DataFrame:
    """Home equity loans: complete rows (3,364), or all 5,960 with their gaps."""
    table = pd.read_csv(find("hmeq"))
    return table.dropna().reset_index(drop=True) if complete else table


def _as_published(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The prepared table, if it is the one that every number of this repository was measured on."""
    known = SOURCES[name].prepared
    found = hashlib.sha256(table.to_csv(index=False).encode()).hexdigest()
    if known is not None and found != known[1]:
        sys.exit(f"the prepared table '{name}' is not the expected one: SHA-256 {found}, expected {known[1]}")
    return table
