"""Guesses of a sensitive column by gradient boosting learned on the release: numbers within a tolerance, labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.disclosed.attacks.result import Number
from sklar.disclosed.intervals import Estimate, clopper_pearson, delta_method_r2, exactly, newcombe_difference
from sklar.disclosed.learning.features import Examples, examples
from sklar.disclosed.learning.learners import learn
from sklar.disclosed.metrics.table import ExactTable


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
