"""Noise fission: the known noise of a release is split into two independent halves, one to fit and one to score.

A released cell is y = t + e, with Gaussian noise e of known variance s^2. With Z of variance v, drawn here, A = y + Z
and B = y - (s^2 / v) Z have covariance s^2 - (s^2 / v) v = 0; being jointly Gaussian they are independent, of
variances s^2 + v and s^2 + s^4 / v (Rasines and Young 2023; Leiner et al. 2025; Oliveira, Lei and Tibshirani 2024).
The noise of a release is a discrete Gaussian and Z is rounded to the lattice of the release: the covariance is zero
all the same, and for s of one step and more the laws differ from Gaussian ones by less than 1e-8 in variance.

A method fitted on A knows nothing of the noise in B. So with m(A) its table, Q = ||B - m(A)||^2 is (s^2 + s^4 / v)
times a noncentral chi-square whose noncentrality is the true squared error ||t - m(A)||^2 over that variance: an
unbiased error with an exact interval, and no row was touched.

What the method decided from the original releases (bins, groups, the tree) is kept: other tables were never released.
Single columns and tables of several are split in turn, so that groups, which follow from the margins, stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from sklar.accounting.noise import Noise
from sklar.arrays import Floats
from sklar.errors import SklarError
from sklar.inference.errors_of_tables import ErrorScore, score_table, score_together, squared_error
from sklar.inference.fitted import Fitted
from sklar.inference.released_tables import (
    Design,
    LastReleaseError,
    ReleasedTable,
    mass_of_groups,
    released_tables,
    tables_of_rows,
)
from sklar.methods.registry import find_method
from sklar.model.margins.margin import Margin
from sklar.model.protocol import TableModel
from sklar.release.replay import ReplayDoor
from sklar.release.values import NoisyCounts, NoisyPairs, NoisySums, Recorded, Release

T = TypeVar("T")
ADDED = 0.5
"""v / s^2. More makes the score less noisy (its variance is s^2 (1 + 1 / ADDED)) and the fit worse than the published
one (its noise has variance s^2 (1 + ADDED)), which the lower end of every interval allows for."""
HELD = 0.97
"""Confidence of intervals for the fit on one half, so that they hold the error of the published fit, which varies on
its own, 95 times of 100. For a linear fit (m = h y in each of d directions, 0 <= h <= 1) both follow from three
Gaussians; the worst one follows the noise all the way (h = 1) in few directions: it is held 93.4 times of 100 with
0.95, 94.5 with 0.96 and 95.7 with 0.97. Shrinking, a bias and more directions all make it more."""
LEAST_STEPS = 1.0
"""Scale of noise, in steps of the lattice it lies on, from which on a discrete Gaussian is as good as a Gaussian."""


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


@dataclass(slots=True, kw_only=True)
class FissionDoor(ReplayDoor):
    """Replays one half of the releases to a method that asks what it asked before, and stops it at its last margins.

    Attributes:
        design: What it decided on the original releases.
        margins_only: Whether the margins are all that is wanted.
        margins: Those that were found on this half, of all tables that tell persons, one after the other.
    """

    design: Design
    margins_only: bool
    margins: list[Margin] = field(default_factory=list[Margin], init=False)
    decided: dict[str, int] = field(default_factory=dict[str, int], init=False)

    def settled(self, what: str, value: T) -> T:
        """What was decided before, in its turn."""
        if what.endswith("margins") and self.margins_only:  # of one table, where several tell persons
            found: Any = value
            self.margins += found.margins
            if len(self.margins) == len(self.schema.modelled):
                raise LastReleaseError
        turn = self.decided.get(what, 0)
        self.decided[what] = turn + 1
        known = self.design.settled.get(what, [])
        return known[turn] if turn < len(known) else value  # what is decided after the last release asks for nothing

    def _take(self, kind: Any, events: Any, digest: str, *rest: Any, **named: Any) -> Any:
        at = len(self.steps)
        self._require(at < len(self.recorded) and self.recorded[at].request == digest, events[0].label)
        return ReplayDoor._take(self, kind, events, digest, *rest, **named)


def fission(fitted: Fitted, design: Design, drawn: int, rng: np.random.Generator) -> Fission | None:
    """Split the noise of a fit's tables, fit on one half and score on the other.

    Args:
        fitted: The fit.
        design: What its method asked for and decided.
        drawn: Rows drawn from the refitted model, to count its tables of several columns on.
        rng: Of the split and the rows.

    Returns:
        None if no table carries Gaussian noise, or the method asks for something else once its releases differ.
    """
    scored: list[tuple[ReleasedTable, Floats]] = []
    for single in (True, False):
        fit, score = split_noise(fitted.recorded, lambda columns, single=single: (columns == 1) == single, design, rng)
        whole = released_tables(fitted.schema, design, score)
        before = released_tables(fitted.schema, design, fitted.recorded)
        tables = [half for half, table in zip(whole, before, strict=True) if half.noise != table.noise]
        if not tables:
            continue
        try:
            model = _fit_half(fitted, design, fit, single)
        except SklarError:
            continue
        scored += zip(tables, _shares(model, tables, drawn, rng), strict=True)
    if not scored:
        return None
    errors = [squared_error(table, share, fitted.rows_behind(table.columns)) for table, share in scored]
    return Fission(
        tables=tuple(score_table(fitted.schema.modelled, error, ADDED, HELD) for error in errors),
        columns=score_together([error for error in errors if len(error.table.columns) == 1], ADDED, HELD),
        pairs=score_together([error for error in errors if len(error.table.columns) > 1], ADDED, HELD),
    )


def split_noise(
    recorded: Sequence[Recorded], wanted: Callable[[int], bool], design: Design, rng: np.random.Generator
) -> tuple[tuple[Recorded, ...], tuple[Recorded, ...]]:
    """Both halves of the releases; those of tables with another number of columns, or other noise, are in both."""
    fit: list[Recorded] = []
    score: list[Recorded] = []
    for step, asked in zip(recorded, design.asked, strict=True):
        halves = [
            _split(release, rng) if at < len(asked) and wanted(_columns(release, len(asked[at].columns))) else None
            for at, release in enumerate(step.releases)
        ]
        both = [(r, r) if half is None else half for r, half in zip(step.releases, halves, strict=True)]
        fit.append(replace(step, releases=tuple(a for a, _ in both)))
        score.append(replace(step, releases=tuple(b for _, b in both)))
    return tuple(fit), tuple(score)


def _columns(release: Release, asked: int) -> int:
    return 2 if isinstance(release, NoisyPairs) else asked


def _split(release: Release, rng: np.random.Generator) -> tuple[Release, Release] | None:
    """A release with more noise, and the independent rest of it; None if its noise is not Gaussian enough."""
    if not isinstance(release, NoisyCounts | NoisyPairs | NoisySums) or release.noise.kind != "gaussian":
        return None
    step, scale = (release.resolution if isinstance(release, NoisySums) else 1.0), release.noise.scale
    values = release.values if isinstance(release, NoisySums) else release.counts
    if scale < LEAST_STEPS * step or values.size < 2:  # a total decides what is asked for next
        return None
    added = ADDED * scale**2 + step**2 / 12  # of rounding
    shift = np.rint(math.sqrt(ADDED) * scale * rng.standard_normal(values.shape) / step)
    fitted = Noise(kind="gaussian", scale=math.sqrt(scale**2 + added))
    scored = Noise(kind="gaussian", scale=math.sqrt(scale**2 + scale**4 / added))
    rest = values - shift * step * (scale**2 / added)
    if isinstance(release, NoisySums):
        return replace(release, values=values + shift * step, noise=fitted), replace(release, values=rest, noise=scored)
    counts: Any = rest  # no longer whole numbers, which only the score sees
    more = values + shift.astype(np.int64)
    return replace(release, counts=more, noise=fitted), replace(release, counts=counts, noise=scored)


def _fit_half(
    fitted: Fitted, design: Design, recorded: Sequence[Recorded], single: bool
) -> TableModel | Sequence[Margin]:
    method = find_method(fitted.method)
    door = FissionDoor(
        schema=fitted.schema, allowance=fitted.allowance, unit=fitted.unit, recorded=recorded, rows=fitted.public_rows,
        prior=fitted.prior, design=design, margins_only=single,
    )  # fmt: skip
    try:
        return method.fit(door, method.stored_options(fitted.options), fitted.streams()[0])
    except LastReleaseError:
        return door.margins


def _shares(
    model: TableModel | Sequence[Margin], tables: Sequence[ReleasedTable], drawn: int, rng: np.random.Generator
) -> list[Floats]:
    """The tables of a model: single columns by their margins, larger ones by rows drawn from it."""
    margins = model if isinstance(model, Sequence) else model.margins
    if all(len(table.columns) == 1 for table in tables):
        dense = [margins[table.columns[0]].dense() for table in tables]
        return [mass_of_groups(t.lookups[0], p, t.observed.size) for t, p in zip(tables, dense, strict=True)]
    assert not isinstance(model, Sequence)
    return tables_of_rows(tables, model.simulate_rounded(drawn, rng))
