"""Noise fission: split the known noise of a release into two independent parts, one to fit and one to score.

A released cell is y = t + e, with Gaussian noise e of known variance s^2. With Z of variance v, drawn here, A = y + Z
and B = y - (s^2 / v) Z have covariance s^2 - (s^2 / v) v = 0; being jointly Gaussian they are independent, of
variances s^2 + v and s^2 + s^4 / v (Rasines and Young 2023; Leiner et al. 2025; Oliveira, Lei and Tibshirani 2024).
The noise of a release is a discrete Gaussian and Z is rounded to the lattice of the release: the covariance is still
zero, and for s of at least one step the distributions differ from Gaussian ones by less than 1e-8 in variance.

A method fitted on A is independent of the noise in B. So with m(A) its table, Q = ||B - m(A)||^2 is (s^2 + s^4 / v)
times a noncentral chi-square whose noncentrality is the true squared error ||t - m(A)||^2 over that variance: an
unbiased error with an exact interval, without reading a row.

The queries (partitions, the tree) are kept, since other tables were never measured. Single columns and tables of
several columns are split one after the other, so that groups, which depend on the margins, stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.accounting.noise import Noise
from sklar.arrays import Floats
from sklar.errors import SklarError
from sklar.inference.errors_of_tables import ErrorScore, score_table, score_together, squared_error
from sklar.inference.fitted import Fitted
from sklar.inference.tables import group_masses, model_tables, partitions_of, shares_of_rows
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.measurements import Measurement, Recorded, Release, collect_measurements

ADDED_VARIANCE = 0.5
"""The ratio r = v / s^2. A larger one makes the score less noisy (its variance is s^2 (1 + 1 / r)) and the fit worse
than the published one (its noise variance is s^2 (1 + r)), which the lower interval ends allow for."""
SPLIT_CONFIDENCE = 0.97
"""Confidence of intervals for the fit on one part, chosen so that they cover the error of the published fit, which
varies on its own, in 95% of cases. For a linear fit (m = h y in each of d directions, 0 <= h <= 1) both follow from
three Gaussians; the worst case follows the noise entirely (h = 1) in few directions: coverage is 93.4% with 0.95, 94.5%
with 0.96 and 95.7% with 0.97. Shrinkage, bias and more directions all increase it."""
MIN_NOISE_STEPS = 1.0
"""Minimum noise scale, in steps of its lattice, from which a discrete Gaussian is treated as a Gaussian."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fission:
    """Scores of all tables that could be split, and of single columns and larger tables together.

    Attributes:
        tables: One score for each table.
        columns: All single columns together, or None.
        pairs: All tables of several columns together, or None.
    """

    tables: tuple[ErrorScore, ...]
    columns: ErrorScore | None
    pairs: ErrorScore | None


def score_by_fission(fitted: Fitted, drawn: int, rng: np.random.Generator) -> Fission | None:
    """Split the noise of a fit's tables, fit on one half and score on the other.

    Args:
        fitted: The fit.
        drawn: Number of rows drawn from the refitted model to count its tables of several columns.
        rng: Generator for the split and the rows.

    Returns:
        None if no table carries Gaussian noise that can be split.
    """
    scored: list[tuple[Measurement, Floats]] = []
    before = model_tables(fitted.schema, fitted.measurements)
    for single in (True, False):
        fit, score = split_noise(fitted.recorded, single, rng)
        whole = model_tables(fitted.schema, collect_measurements(score))
        tables = [half for half, table in zip(whole, before, strict=True) if half.noise != table.noise]
        if not tables:
            continue
        try:
            shares = _shares(fitted, fit, tables, drawn, rng, single=single)
        except SklarError:
            continue
        scored += zip(tables, shares, strict=True)
    if not scored:
        return None
    errors = [squared_error(table, share, fitted.rows_behind(table.query.columns)) for table, share in scored]
    single, joint = ([e for e in errors if (len(e.table.query.columns) == 1) == one] for one in (True, False))
    return Fission(
        tables=tuple(score_table(error, ADDED_VARIANCE, SPLIT_CONFIDENCE) for error in errors),
        columns=score_together(single, ADDED_VARIANCE, SPLIT_CONFIDENCE),
        pairs=score_together(joint, ADDED_VARIANCE, SPLIT_CONFIDENCE),
    )


def split_noise(
    recorded: Sequence[Recorded], single: bool, rng: np.random.Generator
) -> tuple[tuple[Recorded, ...], tuple[Recorded, ...]]:
    """Return both halves of the releases of single columns, or of tables of several; all others are in both."""
    fit: list[Recorded] = []
    score: list[Recorded] = []
    for step in recorded:
        halves = [_split(one, rng) if _is_counts_of(one, single) else None for one in step.releases]
        both = [(one, one) if half is None else half for one, half in zip(step.releases, halves, strict=True)]
        fit.append(replace(step, releases=tuple(a for a, _ in both)))
        score.append(replace(step, releases=tuple(b for _, b in both)))
    return tuple(fit), tuple(score)


def _is_counts_of(release: Release, single: bool) -> bool:
    """Return whether a release is a table of counts: of one column if `single`, of several otherwise."""
    if not isinstance(release, Measurement) or not isinstance(release.query, Counts | PairCounts | Interaction):
        return False
    return (len(release.query.columns) == 1 and not isinstance(release.query, PairCounts)) == single


def _split(release: Release, rng: np.random.Generator) -> tuple[Release, Release] | None:
    """Split a measurement into one with more noise and an independent rest; None if its noise is not Gaussian."""
    if not isinstance(release, Measurement) or release.noise.kind != "gaussian":
        return None
    step, scale, values = release.resolution, release.noise.scale, release.values
    if scale < MIN_NOISE_STEPS * step or values.size < 2:  # a total determines the next queries
        return None
    added = ADDED_VARIANCE * scale**2 + step**2 / 12  # the second term is the variance of rounding
    shift = np.rint(math.sqrt(ADDED_VARIANCE) * scale * rng.standard_normal(values.shape) / step)
    fitted = Noise(kind="gaussian", scale=math.sqrt(scale**2 + added))
    scored = Noise(kind="gaussian", scale=math.sqrt(scale**2 + scale**4 / added))
    more = (values + shift * step).astype(values.dtype)
    rest = values - shift * step * (scale**2 / added)  # counts are no longer integers, which only the score sees
    return replace(release, values=more, noise=fitted), replace(release, values=rest, noise=scored)


def _shares(
    fitted: Fitted, half: Sequence[Recorded], tables: Sequence[Measurement], drawn: int, rng: np.random.Generator,
    *, single: bool,
) -> list[Floats]:  # fmt: skip
    """Return a refitted model's shares in tables: of single columns from its margins, of others from simulated rows."""
    evidence, method = fitted.evidence(half), fitted.method
    if not single:
        return shares_of_rows(tables, fitted.schema, method.refit(evidence).simulate_rounded(drawn, rng))
    margins = {margin.column: margin.dense() for margin in method.refit_margins(evidence)}
    return [group_masses(partitions_of(t)[0], margins[t.query.columns[0]], t.values.size) for t in tables]
