"""Fit a method to longitudinal data: one model for first rows, one for transitions, one budget and one claim.

Each of the tables counts a person by at most one vote, so each is measured as a table of one row a person, with its
share of the allowance. What the method asks about one table goes to the Door under full names, and the answers come
back under the table's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.evidence import Evidence, Step, remembered
from sklar.methods.expectation import Expectation
from sklar.methods.method import Method, Outline
from sklar.model.linked import LinkedModel
from sklar.model.margins.margin import Margin
from sklar.model.protocol import TableModel
from sklar.release.measurements import FoundLabels
from sklar.schema.coordinates import View, views_of
from sklar.schema.persons.linked import FIRST, NEXT, PARENT
from sklar.schema.table import Schema

SHARES = {PARENT: 0.3, FIRST: 0.4, NEXT: 0.6}
"""How tables share the allowance: those with more columns have more of it."""


def renamed(request: Any, name: Callable[[str], str]) -> Any:
    """Return a step or a measurement with other names: all texts in it but those of noise name columns or steps."""
    if isinstance(request, str):
        return name(request)
    if isinstance(request, list | tuple):
        return type(request)(renamed(one, name) for one in request)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if is_dataclass(request) and not isinstance(request, Noise | FoundLabels | type):
        return replace(request, **{f.name: renamed(getattr(request, f.name), name) for f in fields(request) if f.init})
    return request


def view_evidence(evidence: Evidence[Any], place: int, rows: int | None) -> Evidence[Any]:
    """Return the evidence about one of the tables of persons, under its own names, as a fit of its own.

    Args:
        evidence: About all of them.
        place: Which table.
        rows: The number of its rows where that is public, or follows from earlier measurements.
    """
    setting = evidence.setting
    views = views_of(setting.schema)
    view = views[place]
    own = replace(
        setting, schema=view.by.schema, allowance=allowances(views, setting.allowance)[place], rows=rows, prior=None,
        given=view.known, generator=lambda: setting.generator().spawn(len(views))[place],
    )  # fmt: skip
    start = view.full("")
    releases = {
        label.removeprefix(start): tuple(renamed(one, lambda name: name.removeprefix(start)) for one in several)
        for label, several in evidence.releases.items()
        if label.startswith(start)
    }
    return evidence.part(view.name, own, releases)


def for_linked_rows(method: Method[Any]) -> Method[Any]:
    """Return the method for longitudinal schemas, too; for others it is unchanged."""

    def ask(evidence: Evidence[Any]) -> Step | None:
        views = views_of(evidence.setting.schema)
        if not views:
            return method.ask(evidence)
        for place, view in enumerate(views):
            step = method.ask(_part(evidence, place))
            if step is not None:
                return renamed(step, view.full)
        return None

    @remembered
    def first(evidence: Evidence[Any]) -> TableModel:
        return method.estimate(view_evidence(evidence, 0, evidence.setting.rows))

    def _part(evidence: Evidence[Any], place: int) -> Evidence[Any]:
        rows = evidence.setting.rows
        if rows is not None and place:
            rows = _with_rows(first(evidence), place)
        return view_evidence(evidence, place, rows)

    def estimate(evidence: Evidence[Any]) -> TableModel:
        views = views_of(evidence.setting.schema)
        if not views:
            return method.estimate(evidence)
        parts = [first(evidence), *(method.estimate(_part(evidence, place)) for place in range(1, len(views)))]
        fewest = 0 if views[0].name == PARENT else 1
        return LinkedModel(names=tuple(view.name for view in views), parts=tuple(parts), fewest=fewest)

    def margins(evidence: Evidence[Any]) -> Sequence[Margin]:
        assert method.margins is not None
        views = views_of(evidence.setting.schema)
        if not views:
            return method.margins(evidence)
        parts = ((view, method.margins(_part(evidence, place))) for place, view in enumerate(views))
        return [replace(margin, column=view.full(margin.column)) for view, several in parts for margin in several]

    def outline(schema: Schema, options: Any, allowance: Allowance, unit: Unit, rows: int) -> tuple[Outline, ...]:
        views = views_of(schema)
        if not views:
            return method.outline(schema, options, allowance, unit, rows)
        return tuple(
            replace(line, label=view.full(line.label))
            for view, part in zip(views, allowances(views, allowance), strict=True)
            for line in method.outline(view.by.schema, options, part, unit, rows)
        )

    def expect(schema: Schema, options: Any, allowance: Allowance, unit: Unit, rows: int) -> Expectation:
        views = views_of(schema)
        assert method.expect is not None
        if not views:
            return method.expect(schema, options, allowance, unit, rows)
        return method.expect(views[0].by.schema, options, allowances(views, allowance)[0], unit, rows)

    def check(schema: Schema, options: Any) -> None:
        for one in _schemas(schema):
            method.check(one, options)

    def gaussian(schema: Schema, options: Any) -> bool:
        return all(method.gaussian(one, options) for one in _schemas(schema))

    return replace(
        method, ask=ask, estimate=estimate, margins=margins, outline=outline, check=check, gaussian=gaussian,
        links_rows=True, expect=None if method.expect is None else expect,
    )  # fmt: skip


def allowances(views: Sequence[View], allowance: Allowance) -> list[Allowance]:
    """What each of the tables may spend."""
    whole = sum(SHARES[view.name] for view in views)
    return [allowance.part(SHARES[view.name] / whole) for view in views]


def _schemas(schema: Schema) -> list[Schema]:
    return [view.by.schema for view in views_of(schema)] or [schema]


def _with_rows(first: TableModel, number: int) -> int:
    """Persons in the table of this number, as the margin of their number of rows tells, the last of the first table.

    Each table asks for one more row of a person than the table before it.
    """
    shares = first.margins[-1].dense()
    return max(round(first.rows_estimate * float(shares[number:].sum() / shares.sum())), 1)
