"""Attribute inference from one synthetic table: how well does it let an attacker guess a sensitive column?

Two attackers who know all other columns of a person. The linear one regresses (see `regression`): MAB, WCAB and MR2
measure how much the other columns say about the sensitive one in the release, and the mean squared error (MSE) how far
its guesses are off, in units of the sensitive column's variance. The other one learns gradient boosting on the release
and guesses. Real rows are the targets, hold-out rows the control: what works equally well for people who are not in
the table is knowledge about the population. An attacker without the release guesses the mean or the commonest label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.lab.attacks.regression import (
    DesignLayout,
    filled,
    layout_of,
    predictors,
    regress,
    regress_table,
    standardized,
)
from sklar.lab.attacks.result import AttackResult, Number
from sklar.lab.intervals import (
    Estimate,
    clopper_pearson,
    delta_method_r2,
    exactly,
    newcombe_difference,
    normal_interval,
    student_mean,
)
from sklar.lab.learning.features import Examples, examples, task_of
from sklar.lab.learning.learners import learn
from sklar.lab.tables.table import ExactTable, ordered_values

ROWS = 5_000
"""Rows of each table in a regression, at most."""
TARGETS = 5_000
FEW = 20
NO_HOLDOUT = (
    "Without a hold-out it cannot be told whether guesses about '{}' come from the release of these people's rows or "
    "hold for everybody: compare with the baseline only."
)
Done = Callable[[str, float], None]


def infer_attributes(
    real: ExactTable,
    synthetic: ExactTable,
    rng: np.random.Generator,
    *,
    holdout: ExactTable | None,
    sensitive: Sequence[str] | str | None = None,
    bootstraps: int = 50,
    tolerance: float = 0.05,
    done: Done = lambda what, fraction: None,
) -> AttackResult:
    """Attack one or several sensitive columns.

    Args:
        real: The table the synthesizer learned from.
        synthetic: The table under attack.
        rng: Picks rows and bootstraps.
        holdout: Real rows the synthesizer never saw.
        sensitive: The column or columns to guess.
        bootstraps: Bootstrap tables behind each interval.
        tolerance: A guess of a number is right within this share of its spread from the 1st to the 99th percentile.
        done: Told what is being done, and the fraction that is done.
    """
    names = sensitive_columns(real, sensitive)
    if min(t.rows for t in (real, synthetic, *(() if holdout is None else (holdout,)))) < FEW:
        raise UsageError(f"attribute inference needs at least {FEW} rows in every table.")
    if bootstraps < 2 or not 0 < tolerance < 1:
        raise UsageError("bootstraps must be at least 2, and tolerance between 0 and 1.")
    numbers: list[Number] = []
    details: dict[str, Any] = {}
    for at, name in enumerate(names):
        done(name, at / len(names))
        if task_of(real.schema, name) == "regression":
            found, details[name] = _linear(real, synthetic, holdout, name, bootstraps, rng)
            numbers += [*found, *guess_numbers(real, synthetic, holdout, name, tolerance, TARGETS, rng)]
        else:
            found, details[name] = guess_labels(real, synthetic, holdout, name, TARGETS, rng)
            numbers += found
    return AttackResult(
        kind="attribute",
        title="Attribute inference",
        numbers=tuple(numbers),
        missing=() if holdout is not None else tuple(NO_HOLDOUT.format(name) for name in names),
        settings={"sensitive": list(names), "bootstraps": bootstraps, "tolerance": tolerance},
        details=details,
    )


def sensitive_columns(real: ExactTable, sensitive: Sequence[str] | str | None) -> tuple[str, ...]:
    """The columns to guess, each once; identifiers, ignored, unknown and constant columns are refused."""
    names = (sensitive,) if isinstance(sensitive, str) else tuple(dict.fromkeys(sensitive or ()))
    if not names:
        raise UsageError("say which column is sensitive: sensitive='income' (--sensitive income).")
    for name in names:
        if name in real.schema.names and name not in real.schema.modelled:
            raise UsageError(
                f"the column '{name}' is an identifier or ignored: it is never read, so there is nothing to infer."
            )
        if name not in real.schema.modelled:
            raise UsageError(f"the sensitive column '{name}' is not in the schema.")
        if _constant(real, name):
            raise UsageError(f"the sensitive column '{name}' is the same in every row: there is nothing to guess.")
    if len(real.names) < 2:
        raise UsageError("attribute inference needs another column besides the sensitive one.")
    return names


def _constant(table: ExactTable, name: str) -> bool:
    """Whether all rows agree; nulls agree with each other."""
    numbers = table.numbers.get(name)
    return len(np.unique(table.codes[name] if numbers is None else numbers)) < 2


def _linear(
    real: ExactTable, synthetic: ExactTable, holdout: ExactTable | None, name: str, count: int, rng: np.random.Generator
) -> tuple[list[Number], dict[str, Any]]:
    layout = layout_of(real)
    tables = {"attack": synthetic.sample(ROWS, rng), "real": real.sample(ROWS, rng)}
    if holdout is not None:
        tables["control"] = holdout.sample(ROWS, rng)
    found = {role: _summaries(table, layout, name, count, rng) for role, table in tables.items()}
    found["baseline"] = _summaries(_blind(tables["attack"], name, rng), layout, name, count, rng)
    numbers = [_coefficient_number(measure, name, found) for measure in MEASURES]
    numbers.append(_mse_number(real, synthetic, holdout, layout, name, count, rng))
    fit = regress_table(tables["attack"], layout, name)
    details = {
        "features": list(layout.features(name)), "coefficients": fit.coefficients.tolist(),
        "coefficients_real": regress_table(tables["real"], layout, name).coefficients.tolist(),
        "real_bootstraps": {measure: found["real"][measure].to_dict() for measure in MEASURES},
    }  # fmt: skip
    return numbers, details


MEASURES = {
    "mab": ("mean absolute coefficient (MAB)", "How much the other columns say about it; the intercept is left out."),
    "wcab": ("greatest absolute coefficient (WCAB)", "How much the most telling other column says about it."),
    "mr2": ("adjusted R2 of the regression (MR2)", "Share of its variance that the other columns explain."),
}


def _summaries(
    table: ExactTable, layout: DesignLayout, name: str, count: int, rng: np.random.Generator
) -> dict[str, Estimate]:
    """The measures on the table, with standard errors from bootstraps of its rows."""
    x, y = predictors(table, layout, name), filled(ordered_values(table, name))
    whole = _measures(standardized(x), standardized(y))
    draws = np.array([_bootstrap(x, y, rng) for _ in range(count)])
    spread = draws.std(axis=0, ddof=1)
    return {key: normal_interval(whole[at], float(spread[at])) for at, key in enumerate(MEASURES)}


def _bootstrap(x: Floats, y: Floats, rng: np.random.Generator) -> tuple[float, float, float]:
    rows = rng.integers(len(y), size=len(y))
    return _measures(standardized(x[rows]), standardized(y[rows]))


def _measures(x: Floats, y: Floats) -> tuple[float, float, float]:
    fit = regress(x, y)
    size = np.abs(fit.coefficients)
    return float(size.mean()), float(size.max()), fit.adjusted


def _blind(table: ExactTable, name: str, rng: np.random.Generator) -> ExactTable:
    """The table with its sensitive column shuffled: what an attacker sees who learns nothing about it."""
    order = rng.permutation(table.rows)
    codes = {**table.codes, name: table.codes[name][order]}
    numbers = {**table.numbers, **({name: table.numbers[name][order]} if name in table.numbers else {})}
    return ExactTable(schema=table.schema, codes=codes, numbers=numbers, total=table.total)


def _coefficient_number(measure: str, name: str, found: dict[str, dict[str, Estimate]]) -> Number:
    title, says = MEASURES[measure]
    return Number(
        name=f"{name}.{measure}", title=f"{title} of '{name}'", says=says, attack=found["attack"][measure],
        baseline=found["baseline"][measure], control=found["control"][measure] if "control" in found else None,
    )  # fmt: skip


def _mse_number(
    real: ExactTable, synthetic: ExactTable, holdout: ExactTable | None, layout: DesignLayout, name: str, count: int,
    rng: np.random.Generator,
) -> Number:  # fmt: skip
    attackers = [_bootstrapped(synthetic.sample(ROWS, rng), rng) for _ in range(max(2, count // 10))]
    attack = guess_errors(attackers, real.sample(TARGETS, rng), real, layout, name)
    control = None if holdout is None else guess_errors(attackers, holdout.sample(TARGETS, rng), real, layout, name)
    return Number(
        name=f"{name}.mse",
        title=f"mean squared error of linear guesses of '{name}'",
        says="In units of its variance: 1 is what guessing the mean gives.",
        attack=student_mean(attack.mean(axis=0)),
        baseline=exactly(1.0),
        control=None if control is None else student_mean(control.mean(axis=0)),
        worse="lower",
        trials=int(attack.shape[1]),
    )


def _bootstrapped(table: ExactTable, rng: np.random.Generator) -> ExactTable:
    return table.take(rng.integers(table.rows, size=table.rows))


def guess_errors(
    attackers: Sequence[ExactTable], targets: ExactTable, real: ExactTable, layout: DesignLayout, name: str
) -> Floats:
    """Squared errors of linear guesses: one row an attacker's table, one column a target.

    Targets are standardized by the real table, which the data holder does (paper, section 2.5); each attacker's table
    by itself.
    """
    x, whole = predictors(targets, layout, name), predictors(real, layout, name)
    center, spread = whole.mean(axis=0), whole.std(axis=0, ddof=1)
    truth, own = filled(ordered_values(targets, name)), filled(ordered_values(real, name))
    x = np.clip((x - center) / np.where(spread > 0, spread, 1.0), -20.0, 20.0)
    y = (truth - own.mean()) / (own.std(ddof=1) or 1.0)
    return np.array([(x @ regress_table(table, layout, name).coefficients - y) ** 2 for table in attackers])


def guess_numbers(
    real: ExactTable,
    synthetic: ExactTable,
    holdout: ExactTable | None,
    name: str,
    tolerance: float,
    targets: int,
    rng: np.random.Generator,
) -> list[Number]:
    """R2 of the guesses, and the share of them within the tolerance."""
    train = examples(synthetic, name)
    groups = [examples(t.sample(targets, rng), name) for t in (real, holdout) if t is not None]
    if not len(train.truth) or not all(len(g.truth) > 1 for g in groups):
        return []
    own = examples(real, name).truth
    low, high = np.quantile(own, [0.01, 0.99])
    width = tolerance * float(high - low)
    guesses = [learn("boosting", train, group, rng).guess for group in groups]
    errors = [np.abs(guess - group.truth) for guess, group in zip(guesses, groups, strict=True)]
    r2s = [delta_method_r2(g.truth, guess) for g, guess in zip(groups, guesses, strict=True)]
    hits = [clopper_pearson(int((e <= width).sum()), len(e)) for e in errors]
    blind = np.abs(groups[0].truth - np.median(own)) <= width
    return [
        Number(
            name=f"{name}.boosting_r2", title=f"R2 of boosting guesses of '{name}'",
            says="Share of the variance of the column that is guessed right; guessing the mean gives 0.",
            attack=r2s[0], baseline=exactly(0.0), control=r2s[1] if holdout is not None else None,
            trials=len(errors[0]),
        ),
        Number(
            name=f"{name}.boosting_hits", title=f"share of boosting guesses of '{name}' that are close",
            says=f"Within {tolerance:.0%} of the spread of the column; the baseline guesses the median.",
            attack=hits[0], baseline=clopper_pearson(int(blind.sum()), len(blind)),
            control=hits[1] if holdout is not None else None, trials=len(errors[0]),
        ),
    ]  # fmt: skip


def guess_labels(
    real: ExactTable,
    synthetic: ExactTable,
    holdout: ExactTable | None,
    name: str,
    targets: int,
    rng: np.random.Generator,
) -> tuple[list[Number], dict[str, Any]]:
    """Accuracy of the guesses, and the attribute gain.

    Adv = P(guess right | in the table) - P(guess right | not in it). With the real table at hand the first is 1, a
    lookup, and the second the accuracy of a classifier learned on it; the gain is Adv(real) - Adv(release), 0 if the
    release lets one guess as if one had the table. Reference: Griesbauer et al. (2025), equations 48 and 49.
    """
    train, mine = examples(synthetic, name), examples(real.sample(targets, rng), name)
    attack = _accuracy(train, mine, rng)
    labels, counts = np.unique(examples(real, name).truth, return_counts=True)
    blind = clopper_pearson(int((mine.truth == labels[counts.argmax()]).sum()), len(mine.truth))
    control = None if holdout is None else _accuracy(train, examples(holdout.sample(targets, rng), name), rng)
    numbers = [
        Number(
            name=f"{name}.accuracy", title=f"share of boosting guesses of '{name}' that are right",
            says="The baseline always guesses the commonest label.", attack=attack, baseline=blind, control=control,
            trials=len(mine.truth),
        )
    ]  # fmt: skip
    if holdout is None or control is None:
        return numbers, {}
    informed = _accuracy(examples(real, name), examples(holdout.sample(targets, rng), name), rng)
    real_advantage, advantage = newcombe_difference(exactly(1.0), informed), newcombe_difference(attack, control)
    gain = newcombe_difference(real_advantage, advantage).clip(-1.0, 2.0)
    numbers.append(
        Number(
            name=f"{name}.gain", title=f"attribute gain of '{name}'",
            says="How much less being in the table matters with the release than with the table itself at hand.",
            attack=gain, baseline=real_advantage, ideal=None, worse="lower", trials=len(mine.truth),
        )
    )  # fmt: skip
    return numbers, {"advantage": advantage.to_dict(), "advantage_real": real_advantage.to_dict()}


def _accuracy(train: Examples, test: Examples, rng: np.random.Generator) -> Estimate:
    if not len(train.truth) or not len(test.truth):
        return exactly(0.0)
    right = learn("boosting", train, test, rng).guess == test.truth
    return clopper_pearson(int(right.sum()), len(right))
