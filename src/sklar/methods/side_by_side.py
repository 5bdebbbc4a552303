"""Fit a method to longitudinal data: one model for first rows, one for transitions, one budget and one claim.

Each of the tables counts a person by at most one vote, so each is measured as a table of one row a person, with its
share of the allowance. The queries about one table go to the Door under full names, and the answers come
back under the table's own.

How often columns keep their value from one row to the next is measured too, by one count each (`kept_query`): full
tables of transitions are below the noise level where persons are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.evidence import Evidence, Measure, Step, remembered
from sklar.methods.expectation import Expectation
from sklar.methods.method import Method, Outline
from sklar.model.kept import keep_values
from sklar.model.linked import LinkedModel
from sklar.model.margins.margin import Margin
from sklar.model.protocol import TableModel
from sklar.model.significance import critical_deviations
from sklar.release.agreements import Agreements
from sklar.release.measurements import FoundLabels, Request
from sklar.schema.coordinates import Same, View, views_of
from sklar.schema.numbers import Datetime, Real
from sklar.schema.persons.linked import FIRST, NEXT, PARENT, PREVIOUS
from sklar.schema.table import Schema

TABLE_SHARES = {PARENT: 0.3, FIRST: 0.4, NEXT: 0.6}
"""How tables share the allowance: those with more columns have more of it."""
KEPT = "values kept"
"""The step that counts how often columns keep their value from one row to the next."""
KEPT_SHARE = 0.1
"""Share of the allowance for counting kept values, in the units of TABLE_SHARES: of 545 persons at epsilon 2, shares of
seven columns are then within 0.1 19 times of 20; half as much makes that 0.14."""
MEAN_OF_ABSOLUTE = math.sqrt(2 / math.pi)
"""Mean absolute value of Gaussian noise of standard deviation 1."""
KEPT_SIMULATED_ROWS = 20_000
"""Rows drawn from the model of transitions to count how often it keeps values: to within 0.004."""


def rename_request(request: Any, name: Callable[[str], str]) -> Any:
    """Return a step or a measurement with other names: all texts in it but those of noise name columns or steps."""
    if isinstance(request, str):
        return name(request)
    if isinstance(request, list | tuple):
        return type(request)(rename_request(one, name) for one in request)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if is_dataclass(request) and not isinstance(request, Noise | FoundLabels | type):
        return replace(
            request, **{f.name: rename_request(getattr(request, f.name), name) for f in fields(request) if f.init}
        )
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
        setting, schema=view.by.schema, allowance=split_allowance(views, setting.allowance)[place], rows=rows,
        prior=None, given=view.known, generator=lambda: setting.generator().spawn(len(views))[place],
    )  # fmt: skip
    start = view.full("")
    releases = {
        label.removeprefix(start): tuple(rename_request(one, lambda name: name.removeprefix(start)) for one in several)
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
            step = method.ask(_part(evidence, place)) or _ask_kept(evidence, view)
            if step is not None:
                return rename_request(step, view.full)
        return None

    @remembered
    def first(evidence: Evidence[Any]) -> TableModel:
        return method.estimate(view_evidence(evidence, 0, evidence.setting.rows))

    def _part(evidence: Evidence[Any], place: int) -> Evidence[Any]:
        rows = evidence.setting.rows
        if rows is not None and place:
            rows = _with_rows(first(evidence), place)
        return view_evidence(evidence, place, rows)

    def _next(evidence: Evidence[Any], place: int) -> TableModel:
        part = _part(evidence, place)
        return with_kept_values(method.estimate(part), views_of(evidence.setting.schema)[place], part)

    def estimate(evidence: Evidence[Any]) -> TableModel:
        views = views_of(evidence.setting.schema)
        if not views:
            return method.estimate(evidence)
        parts = [first(evidence), *(_next(evidence, place) for place in range(1, len(views)))]
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
        lines = [
            replace(line, label=view.full(line.label))
            for view, part in zip(views, split_allowance(views, allowance), strict=True)
            for line in method.outline(view.by.schema, options, part, unit, rows)
        ]
        for view in views:
            if (query := kept_query(view)) is not None:
                noise = _get_kept_noise(query, views, allowance, unit)
                lines.append(Outline(label=view.full(KEPT), tables=1, cells=query.size, noise=noise))
        return tuple(lines)

    def expect(schema: Schema, options: Any, allowance: Allowance, unit: Unit, rows: int) -> Expectation:
        views = views_of(schema)
        assert method.expect is not None
        if not views:
            return method.expect(schema, options, allowance, unit, rows)
        parts = zip(views, split_allowance(views, allowance), strict=True)
        expected = {view.name: method.expect(view.by.schema, options, part, unit, rows) for view, part in parts}
        begins, query = expected[views[0].name], kept_query(views[-1])
        if NEXT not in expected:
            return begins
        noise = None if query is None else _get_kept_noise(query, views, allowance, unit).std
        kept = None if noise is None else min(MEAN_OF_ABSOLUTE * noise / rows, 0.5)
        return replace(begins, kept=kept, transitions_hidden=expected[NEXT].few_rows)

    def check(schema: Schema, options: Any) -> None:
        for one in _list_schemas(schema):
            method.check(one, options)

    def gaussian(schema: Schema, options: Any) -> bool:
        return all(method.gaussian(one, options) for one in _list_schemas(schema))

    return replace(
        method, ask=ask, estimate=estimate, margins=margins, outline=outline, check=check, gaussian=gaussian,
        links_rows=True, expect=None if method.expect is None else expect,
    )  # fmt: skip


def split_allowance(views: Sequence[View], allowance: Allowance) -> list[Allowance]:
    """Return the allowance of each of the tables."""
    return [allowance.part(TABLE_SHARES[view.name] / _sum_shares(views)) for view in views]


def kept_query(view: View) -> Agreements | None:
    """Return the query for how often columns keep their value; None if a view has no column that could.

    Numbers with fractions and times hardly ever stay the same, and what is measured as a difference from the row before
    shows how often it is 0.
    """
    own, schema = {part.name for part in view.by.parts if isinstance(part, Same)}, view.by.schema
    names = [
        name for name in schema.modelled
        if {name, PREVIOUS + name} <= own
        and not isinstance(schema[name], Real | Datetime)
        and schema.size(name) == schema.size(PREVIOUS + name) > 1
    ]  # fmt: skip
    if view.name != NEXT or not names:
        return None
    before = tuple(PREVIOUS + name for name in names)
    return Agreements(first=before, second=tuple(names), sizes=tuple(schema.size(name) for name in names))


def with_kept_values(model: TableModel, view: View, part: Evidence[Any]) -> TableModel:
    """Return a model of transitions whose columns keep their values as often as measured, where it does less often."""
    measured = part.measured(KEPT)
    if not measured:
        return model
    query, rows, names = measured[0].query, model.rows_estimate, view.by.schema.modelled
    assert isinstance(query, Agreements)
    drawn = model.simulate(KEPT_SIMULATED_ROWS, part.setting.generator())
    pairs, limit = dict[tuple[int, int], float](), critical_deviations(len(query.first))
    for before, after, count in zip(query.first, query.second, measured[0].values, strict=True):
        places = names.index(before), names.index(after)
        by_model = float(np.mean(drawn[:, places[0]] == drawn[:, places[1]]))
        share = min(max(float(count) / rows, 0.0), 1.0)
        if by_model < 1.0 and share - by_model > limit * measured[0].sigma / rows:
            pairs[places] = (share - by_model) / (1.0 - by_model)
    return keep_values(model, pairs)


def _ask_kept(evidence: Evidence[Any], view: View) -> Measure | None:
    """Ask how often columns keep their values, once."""
    setting, query = evidence.setting, kept_query(view)
    if query is None or view.full(KEPT) in evidence:
        return None
    noise = _get_kept_noise(query, views_of(setting.schema), setting.allowance, setting.unit)
    return Measure(label=KEPT, requests=(Request(query=query, noise=noise),))


def _get_kept_noise(query: Agreements, views: Sequence[View], allowance: Allowance, unit: Unit) -> Noise:
    # Sensitivity: a person's steps share one vote, so each count moves by at most 1 (`sklar.release.agreements`).
    l1, l2 = query.sensitivity(unit)
    return allowance.part(KEPT_SHARE / _sum_shares(views)).sum_noise(l1=l1, l2=l2)


def _sum_shares(views: Sequence[View]) -> float:
    return sum(TABLE_SHARES[view.name] + KEPT_SHARE * (kept_query(view) is not None) for view in views)


def _list_schemas(schema: Schema) -> list[Schema]:
    return [view.by.schema for view in views_of(schema)] or [schema]


def _with_rows(first: TableModel, number: int) -> int:
    """Return the estimated number of persons in one view, from the margin of rows per person, the last of the first
    table.

    Each table needs one more row of a person than the table before it.
    """
    shares = first.margins[-1].dense()
    return max(round(first.rows_estimate * float(shares[number:].sum() / shares.sum())), 1)
