"""Public facts of a schema as plain data for the page: how codes become values, and which rules hold."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.model.linked import LinkedModel
from sklar.model.margins.margin import Margin
from sklar.pipeline.model_file import Stored
from sklar.pipeline.release_page.described_rules import (
    RULES,
    describe_computing,
    describe_step,
    why_rule_unsupported,
    why_step_unsupported,
)
from sklar.schema.columns import Boolean, Column, Id, Ignore, Labels
from sklar.schema.confirming import describe_column
from sklar.schema.coordinates import CalendarPart, Coordinates, Same
from sklar.schema.grid import Grid, Unit, get_ratio
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.rules import Together, computing_order

DRAWN_MODELS = ("VineModel", "IndependentModel")
"""Classes of models that the page can draw rows from."""
MAX_SAFE_INTEGER = 2**53
"""Whole numbers beyond this are not exact in a browser."""


def describe_schema(stored: Stored) -> dict[str, Any]:
    """Return the facts by which the page decodes codes, and why it cannot draw rows."""
    schema, by = stored.schema, stored.coordinates
    margins = {margin.column: margin for margin in stored.model.margins}
    unsupported = explain_unsupported(stored)
    facts: dict[str, Any] = {
        "columns": [
            {"name": name, "what": describe_column(column), **_describe_column(column)}
            for name, column in schema.items()
            if not isinstance(column, Ignore)
        ],
        "coordinates": [_describe_coordinate(by, name, margins[name]) for name in by.schema.modelled],
        "unsupported": unsupported,
        "sample_file": "rows/" if schema.person is not None and schema.person.parents is not None else "rows.csv",
    }
    if unsupported:
        return facts
    return facts | {
        "calendars": {name: _describe_calendar(parts) for name, parts in by.dated.items()},
        "rules": [RULES[type(rule)](schema, rule) for rule in schema.rules],
        "steps": [describe_step(by, step) for step in by.steps],
        "together": [
            {"coordinates": [_coordinates_of(by, name) for name in rule.columns], **RULES[Together](schema, rule)}
            for rule in schema.rules
            if isinstance(rule, Together)
        ],
        "computed": [describe_computing(schema, rule) for rule in computing_order(schema.rules)],
    }


def explain_unsupported(stored: Stored) -> str:
    """Return why rows of a model cannot be drawn in a browser; an empty text if they can."""
    by, schema = stored.coordinates, stored.schema
    if isinstance(stored.model, LinkedModel) or by.views:
        return "its rows come person by person"
    if by.rows_of_person is not None:
        return "rows of a person share one vote, so rows are drawn in proportion"
    if type(stored.model).__name__ not in DRAWN_MODELS:
        return f"a model of method '{stored.claim.method}' is not one that browsers can draw from"
    reasons = [why_rule_unsupported(schema, rule) for rule in schema.rules]
    reasons += [why_step_unsupported(by, step) for step in by.steps]
    reasons += [
        f"'{name}' is null together with others"
        for rule in schema.rules
        for name in rule.columns
        if isinstance(rule, Together) and name not in by.dated and name not in by.coordinate_of_column
    ]
    if wrong := next(filter(None, reasons), None):
        return wrong
    for name, column in schema.items():
        if isinstance(column, Datetime) and (column.zone is not None or not _is_written(column.format)):
            return f"'{name}' has a time zone, or a date format with names"
        if isinstance(column, Integer | Datetime) and max(abs(end) for end in column.span) >= MAX_SAFE_INTEGER:
            return f"'{name}' has whole numbers that browsers cannot represent"
    return ""


def _coordinates_of(by: Coordinates, column: str) -> list[str]:
    """Return the coordinates that a column is computed from."""
    dated = by.dated.get(column)
    return [by.coordinate_of_column[column]] if dated is None else [part.name for part in dated]


def _is_written(form: str | None) -> bool:
    """Return whether the page can write times in a format: one of digits alone."""
    return form is None or not re.search(r"%[^dmYyHMSf]", form)


def _describe_coordinate(by: Coordinates, name: str, margin: Margin) -> dict[str, Any]:
    column, part = by.schema[name], by.by_name.get(name)  # views of linked tables have none
    units = [{"unit": _list_ratio(Fraction(repr(unit))), "share": share} for unit, share in margin.heaping]
    coarse = isinstance(column, Integer | Real) and bool(np.any(column.grid.widths != column.grid.step))
    kind = "same" if isinstance(part, Same) else "part"
    return {"name": name, "part": kind, **_describe_column(column), "round_units": units if coarse else []}


def _describe_calendar(parts: list[CalendarPart]) -> dict[str, Any]:
    calendar = parts[0].calendar
    return {
        "names": {part.part: part.name for part in parts},
        "lower": calendar.lower, "upper": calendar.upper, "ticks_per_day": calendar.ticks_per_day,
        "line": calendar.line, "first_line": calendar.ends["line"][0],
    }  # fmt: skip


def _describe_column(column: Column) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": column.kind, "size": column.size, "null_code": column.null_code,
                             "ordered": column.ordered}  # fmt: skip
    if isinstance(column, Id):
        return {"kind": column.kind, "prefix": column.prefix}
    if isinstance(column, Labels):
        facts |= {"values": list(column.values), "other": column.other, "integer_labels": column.integer_labels}
        return facts | {"missing": column.other_code}
    if isinstance(column, Boolean):
        return facts | {"spelling": list(column.spelling) or None, "missing": int(column.missing_value)}
    assert isinstance(column, Integer | Real | Datetime)
    lower, upper = column.span
    unit = None if isinstance(column, Datetime) else column.unit
    missing = column.lower if column.missing_value is None else column.missing_value
    facts |= {
        "lower": lower, "upper": upper, "grid": pack_grid(column.grid),
        "unit": None if unit is None else _list_ratio(unit),
        "missing": column.tick(str(missing)) if isinstance(column, Datetime) else missing,
    }  # fmt: skip
    if isinstance(column, Real):
        facts |= {"atoms": list(column.atoms), "whole": column.whole}
    return facts | ({"resolution": column.resolution, "format": column.format} if isinstance(column, Datetime) else {})


def _list_ratio(unit: Unit) -> list[float]:
    return list(get_ratio(unit))


def pack_grid(grid: Grid) -> dict[str, Any]:
    """Return the cells of a grid: runs of equal steps for whole numbers, differences from equal cells for reals."""
    packed: dict[str, Any] = {"stop": grid.stop, "integer": grid.integer, "step": grid.step}
    if grid.integer:
        steps = np.diff(grid.starts)
        cuts = np.flatnonzero(np.diff(steps, prepend=-1)) if len(steps) else np.zeros(0, dtype=np.int64)
        runs = zip(steps[cuts].tolist(), np.diff(cuts, append=len(steps)).tolist(), strict=True)
        return packed | {"first": int(grid.starts[0]), "runs": [list(run) for run in runs]}
    lower, atoms = float(grid.starts[0]), grid.starts[grid.is_atom]
    cells = grid.cells + 1 - 2 * len(atoms)
    for count in range(max(cells, 1), grid.cells + 1):  # atoms on a cut add one cell in place of two
        if np.array_equal(_equal_cells(lower, float(atoms[-1]) if len(atoms) else lower, count, atoms), grid.starts):
            return packed | {"lower": lower, "equal": count, "singled": atoms.tolist()}
    return packed | {"starts": grid.starts.tolist()}


def _equal_cells(lower: float, upper: float, count: int, singled: Floats) -> Floats:
    """Return the starts of equal cells with single values, by the formula that the page uses."""
    cuts = np.append(np.arange(count) * ((upper - lower) / count) + lower, upper)
    after = np.nextafter(singled[singled < upper], np.inf)
    starts = np.unique(np.concatenate([cuts, singled, after]))
    return starts[starts <= upper]
