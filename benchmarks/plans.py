"""What `sklar.plan` expects against what fits then give: `python -m benchmarks.plans --tables tail6,hmeq --fits 3`.

For every table and epsilon the expected errors, those measured in whole fits (mean of the fits), and the ratio of the
two; a loss of AUC is expected to lie below a bound. The first six tables are those that the expectations were chosen
on; hmeq, adult3k, loans (HMEQ with its gaps) and mixed (made here) were not looked at. Real tables are fetched once,
see `benchmarks.data`. Needs the extra dev.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd

import sklar
from benchmarks import plausibility
from benchmarks.metrics import transfer
from benchmarks.tables import Split, as_stated, load

CHOSEN_ON = ("adult", "compas", "tail6", "gauss8", "support2", "sim20")
UNSEEN = ("hmeq", "adult3k", "loans", "mixed")
EPSILONS = (0.5, 1.0, 3.0)
FACTOR = 1.5
"""An expectation is right if it is within this factor."""
BOUND = "auc_loss"
"""What is expected to lie below, not near."""


def mixed(rows: int = 8_000, seed: int = 11) -> Split:
    """Labels, counts, amounts and a normal column with one factor in common; three columns have nulls."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=rows)
    amount = np.exp(9 + 0.7 * (0.6 * common + 0.8 * rng.normal(size=rows)))
    frame = pd.DataFrame(
        {
            "region": rng.choice(list("abcdefgh"), rows, p=np.arange(8, 0, -1) / 36),
            "grade": np.digitize(common + rng.normal(size=rows), [-1, 0, 1.2]).astype(str),
            "visits": np.minimum(rng.poisson(np.exp(0.5 * common)), 30).astype(float),
            "age": np.clip(np.round(45 + 16 * (0.5 * common + 0.85 * rng.normal(size=rows))), 0, 110),
            "amount": np.clip(amount, 0, 200_000),
            "score": np.clip(rng.normal(size=rows) - 0.4 * common, -6, 6),
        }
    )
    for name, share in {"visits": 0.02, "amount": 0.08, "score": 0.2}.items():
        frame.loc[rng.random(rows) < share, name] = np.nan
    schema = sklar.Schema(
        {
            "region": sklar.Category(list("abcdefgh")),
            "grade": sklar.Ordinal(list("0123")),
            "visits": sklar.Integer(0, 30, nullable=True),
            "age": sklar.Integer(0, 110),
            "amount": sklar.Real(0, 200_000, nullable=True),
            "score": sklar.Real(-6, 6, nullable=True),
        }
    )
    return Split(frame=frame, test=frame, schema=schema)


def table_of(name: str, seed: int) -> Split:
    """A table with its public facts."""
    if name == "mixed":
        return mixed()
    if name == "loans":
        loans = plausibility.hmeq()
        return Split(frame=loans.frame, test=loans.frame, schema=loans.schema)
    return load(name, seed=seed)


def share_errors(real: pd.Series, made: pd.Series, *, numeric: bool) -> np.ndarray:
    """Absolute errors of the share of each label, or of each tenth of the real values."""
    if not numeric:
        one, two = (values.astype(str).value_counts(normalize=True) for values in (real, made))
        return np.abs(one - two.reindex(one.index, fill_value=0.0)).to_numpy()
    known, drawn = (values.dropna().to_numpy(float) for values in (real, made))
    cuts = np.unique(np.quantile(known, np.arange(1, 10) / 10, method="inverted_cdf"))
    one, two = (np.bincount(np.searchsorted(cuts, x), minlength=len(cuts) + 1) for x in (known, drawn))
    return np.abs(one / len(real) - two / len(made))


def measured(real: pd.DataFrame, made: pd.DataFrame, schema: sklar.Schema) -> dict[str, float]:
    """The errors that a plan speaks of, under the same names."""
    numbers = [name for name in schema.modelled if schema[name].numeric]
    shares = [share_errors(real[n], made[n], numeric=schema[n].numeric).mean() for n in schema.modelled]
    found = {"shares": float(np.median(shares))}
    if numbers:
        one, two = real[numbers].astype(float), made[numbers].astype(float)
        found["means"] = float((np.abs(one.mean() - two.mean()) / one.std()).mean())
        if len(numbers) > 1:
            gaps = np.abs(one.corr("spearman").fillna(0.0) - two.corr("spearman").fillna(0.0)).to_numpy()
            found["correlations"] = float(gaps[np.triu_indices(len(numbers), 1)].mean())
        gaps = np.abs(one.isna().mean() - two.isna().mean())[[bool(one[name].isna().any()) for name in numbers]]
        if len(gaps):
            found["nulls"] = float(2.0 * gaps.mean())
    return found


def compared(name: str, epsilon: float, fits: int, *, target: bool) -> pd.DataFrame:
    """Expected and measured errors of one table at one epsilon."""
    rows: list[dict[str, float]] = []
    first = table_of(name, 0)
    declared = first.target if target else None
    planned = sklar.plan(first.schema, epsilon=epsilon, rows=len(first.frame), target=declared).fits[0].expected
    assert planned is not None
    for seed in range(fits):
        split = table_of(name, seed)
        model = sklar.fit(split.frame, split.schema, epsilon=epsilon, target=declared)
        made = model.sample(seed=seed).to_pandas()
        found = measured(split.frame, made, split.schema)
        if declared is not None:
            scores = transfer(split, as_stated(made, split.schema))
            found["auc_loss"] = scores["auc_real"] - scores["auc_synth"]
        rows.append(found)
    told = pd.DataFrame({"expected": pd.Series(planned.to_dict()), "measured": pd.DataFrame(rows).mean()}).dropna()
    told = told.astype(float)
    told["ratio"] = told["expected"] / told["measured"]
    return told


def right(what: str, ratios: pd.Series) -> pd.Series:
    """Which expectations came true; nothing lost, or less than nothing, is below any bound."""
    return (ratios >= 1) | (ratios <= 0) if what == BOUND else ratios.between(1 / FACTOR, FACTOR)


def main(given: Sequence[str] | None = None) -> None:
    """Compare, and count how often the expectation is within the factor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default=",".join((*CHOSEN_ON, *UNSEEN)))
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--fits", type=int, default=3)
    parser.add_argument("--target", action="store_true", help="declare the table's target")
    options = parser.parse_args(given)
    ratios: list[pd.Series] = []
    for name in options.tables.split(","):
        for epsilon in map(float, options.epsilons.split(",")):
            told = compared(name, epsilon, options.fits, target=options.target)
            for what, line in told.iterrows():
                marked = "" if right(str(what), pd.Series([line["ratio"]])).all() else " *"
                print(
                    f"{name:9s} {epsilon:4g} {what!s:13s} expected {line['expected']:.4f} "
                    f"measured {line['measured']:.4f} ratio {line['ratio']:.2f}{marked}",
                    flush=True,
                )
            ratios.append(told["ratio"])
    every = pd.concat(ratios)
    for what in dict.fromkeys(every.index):
        part = every[every.index == what]
        told = "below the bound" if what == BOUND else f"within a factor of {FACTOR}"
        print(f"{what}: {right(what, part).sum()} of {len(part)} {told}; from {part.min():.2f} to {part.max():.2f}")


if __name__ == "__main__":
    main()
