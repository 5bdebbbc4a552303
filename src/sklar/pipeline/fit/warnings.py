"""Warnings of a fit: margins below the noise level, weak guarantees, changed rows."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeGuard

import numpy as np

from sklar.accounting.budget import Budget
from sklar.accounting.composition.zcdp import rho_to_epsilon
from sklar.arrays import Ints
from sklar.errors import NewMomentWarning, NoSignalWarning, WeakPromiseWarning, warn_user
from sklar.model.significance import critical_deviations
from sklar.release.counts import Counts
from sklar.release.measurements import Measurement, Recorded, Release
from sklar.schema.prior import PublicPrior

LARGE_EPSILON = 10.0
"""Above this a single person may be e^10, about 22,000, times as likely to have caused an output as not."""
COPY_STDS = 4.0
"""Standard deviations of pure noise by which the squared differences from a copy may exceed their mean: noise alone
exceeds that in about one fit of 30,000."""
MIN_SAMPLING_EXCESS = 3.0
"""Factor by which another sample of the same size must be expected to exceed that limit; otherwise there is no warning.
With 3, none of 54 other samples was taken for a copy (5 columns, 300 to 5,000 rows, epsilon 0.3 to 3), and all 12
copies were detected for which it permits a decision (1,200 rows and more at epsilon 3)."""


def weak_margins(recorded: Iterable[Recorded]) -> tuple[tuple[str, ...], int]:
    """Return columns without a significant histogram, and the number of columns with a histogram.

    The total of a histogram of k cells with noise of standard deviation s has standard deviation s sqrt(k). Only
    released values are used.
    """
    found: dict[str, bool] = {}
    for step in recorded:
        for release in step.releases:
            if _is_histogram(release) and release.values.size > 1:
                noise = release.noise.std * np.sqrt(release.values.size)
                significant = release.values.sum() > critical_deviations() * noise
                name = release.query.columns[0]
                found[name] = found.get(name, False) or bool(significant)
    return tuple(name for name, significant in found.items() if not significant), len(found)


def warn_of_weak_margins(recorded: Iterable[Recorded]) -> None:
    """Warn if half of the margins, or more, are below the noise level."""
    weak, columns = weak_margins(recorded)
    if not weak or 2 * len(weak) < columns:
        return
    named = ", ".join(weak[:5]) + (", ..." if len(weak) > 5 else "")
    warn_user(
        f"the margins of {len(weak)} of {columns} columns are below the noise level ({named}): at this budget the "
        "noise is larger than the table, so the synthetic rows contain almost no information. Use a larger "
        "epsilon, fewer columns or more rows.",
        NoSignalWarning,
    )


def warn_of_large_epsilon(budget: Budget) -> None:
    """Warn of a weak guarantee before anything is spent."""
    epsilon = rho_to_epsilon(budget.rho or 0.0, budget.delta) if budget.epsilon is None else budget.epsilon
    if epsilon > LARGE_EPSILON:
        warn_user(
            f"epsilon = {epsilon:.4g} is a weak guarantee: any conclusion may be exp({epsilon:.4g}) times as likely "
            f"with a person as without. Epsilons of about 1 are usual, and {LARGE_EPSILON:g} is large.",
            WeakPromiseWarning,
        )


def warn_of_large_delta(budget: Budget, noisy_rows: int) -> None:
    """Warn of a large delta after the fit, when there is a noisy number of rows (the number itself if public)."""
    if noisy_rows >= 1 and budget.delta > 1 / noisy_rows:
        warn_user(
            f"delta = {budget.delta:g} is more than one over the number of rows (about {noisy_rows:,}): publishing the "
            "row of a random person would satisfy such a guarantee. Use a much smaller delta, such as 1e-9.",
            WeakPromiseWarning,
        )


def warn_of_copied_prior(prior: PublicPrior | None, recorded: Iterable[Recorded]) -> None:
    """Warn if the released margins differ from the prior's by no more than their noise, as they would from a copy.

    In units of the noise variance, squared differences over c cells sum to about c for a copy. For another sample of n
    rows of the same population, multinomial sampling adds 2 n (1 - sum p^2) / variance per column. Only released values
    are used; the prior is not compared with the rows.
    """
    cells = excess = expected = 0.0
    for release, public in _margins_of_both(prior, recorded):
        variance, rows = release.noise.std**2, max(float(public.sum()), 1.0)
        cells += public.size
        excess += float(((release.values - public) ** 2).sum()) / variance - public.size
        expected += 2 * rows * (1 - float(((public / rows) ** 2).sum())) / variance
    limit = COPY_STDS * float(np.sqrt(2 * cells))
    if excess <= limit and expected > MIN_SAMPLING_EXCESS * limit:
        warn_user(
            "the prior agrees with the noisy counts of the private table, including its number of rows, as a copy "
            "would. A prior is not protected, and the model file contains its counts: publish nothing of this model "
            "unless the prior is really another, public table.",
            WeakPromiseWarning,
        )


def _margins_of_both(prior: PublicPrior | None, recorded: Iterable[Recorded]) -> Generator[tuple[Measurement, Ints]]:
    """Yield the releases of single columns on base codes, with the prior's counts of the same column."""
    for release in (release for step in recorded for release in step.releases):
        if prior is None or not _is_histogram(release):
            continue
        column = prior.by_name.get(release.query.columns[0])
        if column is not None and column.counts.size == release.values.size:
            yield release, column.counts


def _is_histogram(release: Release) -> TypeGuard[Measurement]:
    """Return whether a release counts a single column."""
    return isinstance(release, Measurement) and isinstance(release.query, Counts) and len(release.query.columns) == 1


def warn_of_new_moment() -> None:
    """Warn that a resumed fit reads another snapshot of a database than the one it began with."""
    warn_user(
        "this fit was interrupted and is resumed: earlier measurements are kept, and the rest is measured on the table "
        "as it is now. Each release was charged; if the table changed in between, the model mixes both states.",
        NewMomentWarning,
    )
