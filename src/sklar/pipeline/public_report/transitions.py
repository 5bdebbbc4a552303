"""Columns of longitudinal data whose transitions are hidden by noise, for the public report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sklar.inference.fitted import Fitted
from sklar.inference.linear_measurements import linear_measurements
from sklar.model.linked import LinkedModel
from sklar.model.significance import critical_deviations
from sklar.model.vine.intervals import half_width
from sklar.pipeline.public_report.pairs import PairFinding
from sklar.release.agreements import Agreements
from sklar.schema.coordinates import Same, views_of
from sklar.schema.persons.linked import NEXT, PREVIOUS

COVERAGE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenTransitions:
    """Columns whose transitions are below the noise level.

    Attributes:
        columns: The columns.
        kept: Half width of the 95% interval of the share of rows that keep the value of the row before, from the known
            noise; None if that was not measured.
    """

    columns: tuple[str, ...]
    kept: float | None


def hidden_transitions(fitted: Fitted, pairs: Sequence[PairFinding]) -> HiddenTransitions | None:
    """Return the columns whose transitions no release shows significantly; None if there are none.

    Columns measured as a difference from the previous row are not among them.
    """
    views = [view for view in views_of(fitted.schema) if view.name == NEXT]
    if not isinstance(fitted.model, LinkedModel) or not views:
        return None
    own, dependent = {part.name for part in views[0].by.parts if isinstance(part, Same)}, _dependent(fitted, pairs)
    columns = [
        name
        for name in views[0].by.schema.modelled
        if {name, PREVIOUS + name} <= own and frozenset(map(views[0].full, (PREVIOUS + name, name))) not in dependent
    ]
    counted = [one for one in fitted.measurements if isinstance(one.query, Agreements)]
    rows = float(fitted.model.part(NEXT).rows_estimate)
    widths = [half_width(one.noise.kind, one.sigma, 1, COVERAGE) / rows for one in counted]
    return HiddenTransitions(columns=tuple(columns), kept=max(widths, default=None)) if columns else None


def _dependent(fitted: Fitted, pairs: Sequence[PairFinding]) -> set[frozenset[str]]:
    """Return the pairs of columns that a table or a sum of products shows to be dependent."""
    found = {frozenset(pair.columns) for pair in pairs if pair.signal}
    sums = [one for one in linear_measurements(fitted).linear if one.place is not None]
    limit = critical_deviations(2 * len(sums))
    return found | {frozenset(one.columns) for one in sums if abs(float(one.values[0])) > limit * one.sigma}
