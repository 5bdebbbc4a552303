"""Attribute inference from one synthetic table: how well can an attacker guess a sensitive column?

Two attackers know all other columns of a person. One fits a linear regression (see `regression`), the other gradient
boosting, both on the release. Real rows are the targets and hold-out rows the control: a guess that works equally well
for people outside the table is knowledge about the population. An attacker without the release guesses the mean or the
most frequent label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklar.arrays import Mask
from sklar.errors import UsageError
from sklar.lab.attacks.regression import MAX_TARGETS, attack_by_regression
from sklar.lab.attacks.result import Attacked, AttackResult, Number
from sklar.lab.intervals import Estimate, clopper_pearson, delta_method_r2, exact_estimate, newcombe_difference
from sklar.lab.learning.features import Examples, select_examples, task_of
from sklar.lab.learning.learners import train_and_predict
from sklar.lab.tables.table import ExactTable

MIN_ROWS = 20
"""Minimum number of rows of every table: with fewer, regression and boosting give no usable estimate."""
NO_HOLDOUT = (
    "Without a hold-out table, guesses about '{}' may come from the release of these people's rows or hold for the "
    "whole population: compare with the baseline only."
)


def infer_attributes(
    tables: Attacked, *, sensitive: Sequence[str] | str | None = None, bootstraps: int = 50, tolerance: float = 0.05
) -> AttackResult:
    """Attack one or several sensitive columns.

    Args:
        tables: The tables.
        sensitive: The column or columns to guess.
        bootstraps: Bootstrap tables behind each interval.
        tolerance: A guess of a number is right within this share of its spread from the 1st to the 99th percentile.
    """
    names = validate_sensitive_columns(tables.real, sensitive)
    if min(table.rows for table in (tables.real, tables.synthetic, tables.holdout) if table is not None) < MIN_ROWS:
        raise UsageError(f"attribute inference needs at least {MIN_ROWS} rows in every table.")
    numbers: list[Number] = []
    details: dict[str, Any] = {}
    for at, name in enumerate(names):
        tables.done(name, at / len(names))
        if task_of(tables.real.schema, name) == "regression":
            found, details[name] = attack_by_regression(tables, name, bootstraps)
            numbers += [*found, *_guess_numbers(tables, name, tolerance)]
        else:
            found, details[name] = _guess_labels(tables, name)
            numbers += found
    return AttackResult(
        kind="attribute",
        title="Attribute inference",
        numbers=tuple(numbers),
        missing=tables.missing(*(NO_HOLDOUT.format(name) for name in names)),
        settings={"sensitive": list(names), "bootstraps": bootstraps, "tolerance": tolerance},
        details=details,
    )


def validate_sensitive_columns(real: ExactTable, sensitive: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return the columns to guess, each once; reject identifiers and ignored, unknown or constant columns."""
    names = (sensitive,) if isinstance(sensitive, str) else tuple(dict.fromkeys(sensitive or ()))
    if not names:
        raise UsageError("name the sensitive column: sensitive='income' (--sensitive income).")
    for name in names:
        if name in real.schema.names and name not in real.schema.modelled:
            raise UsageError(
                f"the column '{name}' is an identifier or ignored: it is never read, so there is nothing to infer."
            )
        if name not in real.schema.modelled:
            raise UsageError(f"the sensitive column '{name}' is not in the schema.")
        if len(np.unique(real.numbers.get(name, real.codes[name]))) < 2:  # nulls agree with each other
            raise UsageError(f"the sensitive column '{name}' has one value in all rows: there is nothing to guess.")
    if len(real.names) < 2:
        raise UsageError("attribute inference needs another column in addition to the sensitive one.")
    return names


def _guess_numbers(tables: Attacked, name: str, tolerance: float) -> list[Number]:
    """Report R2 of the guesses and the share of them within the tolerance."""
    train = select_examples(tables.synthetic, name)
    people = [table for table in (tables.real, tables.holdout) if table is not None]
    groups = [select_examples(table.sample(MAX_TARGETS, tables.rng), name) for table in people]
    if not len(train.truth) or not all(len(group.truth) > 1 for group in groups):
        return []
    own = select_examples(tables.real, name).truth
    low, high = np.quantile(own, [0.01, 0.99])
    width = tolerance * float(high - low)
    guesses = [train_and_predict("boosting", train, group, tables.rng).guess for group in groups]
    r2s = [delta_method_r2(group.truth, guess) for group, guess in zip(groups, guesses, strict=True)]
    hits = [_estimate_share(np.abs(guess - group.truth) <= width) for group, guess in zip(groups, guesses, strict=True)]
    held = tables.holdout is not None
    return [
        Number(
            name=f"{name}.boosting_r2", title=f"R2 of boosting guesses of '{name}'",
            says="Share of the variance of the column that is guessed right; guessing the mean gives 0.",
            attack=r2s[0], baseline=exact_estimate(0.0), control=r2s[1] if held else None,
            trials=len(guesses[0]),
        ),
        Number(
            name=f"{name}.boosting_hits", title=f"share of boosting guesses of '{name}' that are close",
            says=f"Within {tolerance:.0%} of the spread of the column; the baseline guesses the median.",
            attack=hits[0], baseline=_estimate_share(np.abs(groups[0].truth - np.median(own)) <= width),
            control=hits[1] if held else None, trials=len(guesses[0]),
        ),
    ]  # fmt: skip


def _guess_labels(tables: Attacked, name: str) -> tuple[list[Number], dict[str, Any]]:
    """Report the accuracy of the guesses and the attribute gain.

    Adv = P(guess right | in the table) - P(guess right | not in it). With access to the real table the first term is 1
    (a lookup) and the second is the accuracy of a classifier trained on it. The gain is Adv(real) - Adv(release): 0 if
    the release is as useful to the attacker as the table. Reference: Griesbauer et al. (2025), equations 48 and 49.
    """
    real, rng = tables.real, tables.rng
    train, mine = select_examples(tables.synthetic, name), select_examples(real.sample(MAX_TARGETS, rng), name)
    attack = _estimate_accuracy(train, mine, rng)
    labels, counts = np.unique(select_examples(real, name).truth, return_counts=True)
    blind = _estimate_share(mine.truth == labels[counts.argmax()])
    control = tables.control(
        lambda holdout: _estimate_accuracy(train, select_examples(holdout.sample(MAX_TARGETS, rng), name), rng)
    )
    numbers = [
        Number(
            name=f"{name}.accuracy", title=f"share of boosting guesses of '{name}' that are right",
            says="The baseline always guesses the most frequent label.", attack=attack, baseline=blind, control=control,
            trials=len(mine.truth),
        )
    ]  # fmt: skip
    if tables.holdout is None or control is None:
        return numbers, {}
    informed = _estimate_accuracy(
        select_examples(real, name), select_examples(tables.holdout.sample(MAX_TARGETS, rng), name), rng
    )
    real_advantage, advantage = newcombe_difference(exact_estimate(1.0), informed), newcombe_difference(attack, control)
    gain = newcombe_difference(real_advantage, advantage).clip(-1.0, 2.0)
    numbers.append(
        Number(
            name=f"{name}.gain", title=f"attribute gain of '{name}'",
            says="How much less membership in the table matters with the release than with the table itself.",
            attack=gain, baseline=real_advantage, ideal=None, worse="lower", trials=len(mine.truth),
        )
    )  # fmt: skip
    return numbers, {"advantage": advantage.to_dict(), "advantage_real": real_advantage.to_dict()}


def _estimate_accuracy(train: Examples, test: Examples, rng: np.random.Generator) -> Estimate:
    if not len(train.truth) or not len(test.truth):
        return exact_estimate(0.0)
    return _estimate_share(train_and_predict("boosting", train, test, rng).guess == test.truth)


def _estimate_share(right: Mask) -> Estimate:
    return clopper_pearson(int(right.sum()), len(right))
