"""SDNist's k-marginal score on NIST's survey excerpts: `python -m benchmarks.nist family --epsilons 1,10 --workload`.

The folder of SKLAR_DATA holds `nist/national2019.csv` (or another excerpt, `--state`) and `nist/data_dictionary.json`
of NIST's Collaborative Research Cycle. The score is 1000 (1 - the mean total variation distance) over all pairs of
columns; where a set has areas (PUMA), over all pairs within areas, so that each table has three columns. `--workload`
states that to the fit. Kinds, ranges and labels are those of NIST's data dictionary and of public lists of codes.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import combinations

import numpy as np
import pandas as pd

import sklar
from benchmarks.data.sources import folder
from benchmarks.yardstick import scripted_fit

SETS = {
    "demographic": "AGEP SEX MSP RAC1P HOUSING_TYPE OWN_RENT EDU PINCP_DECILE DVET DEYE",
    "industry": "PUMA SEX MSP HISP RAC1P OWN_RENT INDP_CAT EDU PINCP_DECILE",
    "family": "PUMA AGEP SEX MSP HISP RAC1P NOC NPF OWN_RENT PINCP_DECILE POVPIP",
    "simple": "PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT INDP_CAT EDU PINCP PINCP_DECILE POVPIP DVET "
    "DREM DPHY DEYE DEAR DENSITY",
}
"""Sets of columns that NIST's archive scores."""
NUMBERS = {
    "AGEP": sklar.Integer(0, 99),
    "PINCP": sklar.Integer(-9_000, 1_341_000, nullable=True),
    "POVPIP": sklar.Integer(0, 501, nullable=True),
    "NOC": sklar.Integer(0, 19, nullable=True),
    "NPF": sklar.Integer(2, 20, nullable=True),
    "DENSITY": sklar.Real(0, 53_000),
}
RANKED = ("AGEP", "POVPIP", "PINCP")
"""Numbers that the score cuts at twentieths of the real ranks."""
LISTED = ("PUMA", "INDP")
"""Columns whose codes are on public lists; they form no pairs of their own."""
MISSING, CAPPED_RATIO, MAX_DENSITY = "N", "501", 53_364.7


def load_excerpt(state: str, names: list[str]) -> pd.DataFrame:
    """Return an excerpt as text, whole numbers without a decimal point; N stands for a missing value."""
    frame = pd.read_csv(folder() / "nist" / f"{state}.csv", dtype=str)[names]
    for name in {"PINCP", "AGEP"} & set(names):
        frame[name] = frame[name].map(lambda text: text if text == MISSING else str(int(float(text))))
    return frame


def make_schema(frame: pd.DataFrame) -> sklar.Schema:
    """Return the public facts about the columns."""
    words = json.loads((folder() / "nist" / "data_dictionary.json").read_text())
    labels = {name: sorted(frame[name].unique()) if name in LISTED else list(words[name]["values"])
              for name in frame if name not in NUMBERS}  # fmt: skip
    return sklar.Schema(
        {name: NUMBERS[name] if name in NUMBERS else sklar.Category(labels[name], other="?") for name in frame}
    )


def to_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Return numbers as numbers, missing ones as null."""
    known = {name: pd.to_numeric(frame[name], errors="coerce") for name in frame if name in NUMBERS}
    return frame.assign(**known)


def to_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return synthetic rows as the excerpts write them."""

    def written(value: object) -> str:
        return MISSING if pd.isna(value) else str(int(value)) if isinstance(value, float) else str(value)

    return frame.apply(lambda own: own.astype(str) if own.name == "DENSITY" else own.map(written))


def cut_columns(real: pd.DataFrame, made: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables in SDNist's bins: numbers by twentieths of the real ranks, density by its logarithm."""
    real, made = real.copy(), made.copy()
    for name in {*RANKED} & {*real}:
        skipped = (MISSING, CAPPED_RATIO) if name == "POVPIP" else (MISSING,)
        inside, others = ~real[name].isin(skipped), ~made[name].isin(skipped)
        values = real.loc[inside, name].astype(float)
        bins = (values.rank(pct=True) * 20).astype(int).clip(upper=19)
        tops = values.groupby(bins).max().sort_index()
        place = np.searchsorted(tops.to_numpy(), made.loc[others, name].astype(float)).clip(max=len(tops) - 1)
        real.loc[inside, name] = bins.astype(str)
        made.loc[others, name] = tops.index.to_numpy()[place].astype(str)
    if "DENSITY" in real:
        edges = [0, 150, *np.logspace(1, np.log10(MAX_DENSITY), 21)[8:]]
        for frame in (real, made):
            density = frame["DENSITY"].astype(float).clip(0, MAX_DENSITY - 100)
            frame["DENSITY"] = pd.cut(density, edges, labels=False).astype(str)
    return real, made


def k_marginal(real: pd.DataFrame, made: pd.DataFrame) -> float:
    """Return SDNist's score, from 0 to 1000."""
    real, made = cut_columns(real, made)
    area = ["PUMA"] if "PUMA" in real else []
    distances: list[float] = []
    for pair in combinations(sorted(set(real) - set(LISTED)), 2):
        one, two = (frame.groupby([*area, *pair]).size() / len(frame) for frame in (real, made))
        distances.append(float(one.sub(two, fill_value=0).abs().sum()) / 2)
    return 1000 * (1 - float(np.mean(distances)))


def main() -> None:
    """Print the score of fits with scripted noise, for every epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--state", default="national2019")
    parser.add_argument("--epsilons", default="1,10")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--workload", action="store_true", help="state that tables with the area matter")
    parser.add_argument("--iid", action="store_true", help="independent rows")
    given = parser.parse_args()
    real = load_excerpt(given.state, SETS[given.set].split())
    options = {"workload": ("PUMA * *",)} if given.workload else {}
    for epsilon in map(float, given.epsilons.split(",")):
        scores, began = [], time.process_time()
        for seed in map(int, given.seeds.split(",")):
            model = scripted_fit(seed, to_types(real), make_schema(real), None, epsilon=epsilon, delta=1e-9, **options)
            made = model.sample(len(real), seed=seed, iid=given.iid).to_pandas()
            scores.append(k_marginal(real, to_texts(made)))
        cpu = (time.process_time() - began) / len(scores)
        listed = " ".join(f"{score:.1f}" for score in scores)
        print(f"{given.set} epsilon {epsilon:g}: {np.mean(scores):.1f} ({listed}), {cpu:.0f} s of CPU each", flush=True)


if __name__ == "__main__":
    main()
