"""Facts about a fitted model: claim, budget by step, margins and, if there is one, the structure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sklar.errors import UsageError
from sklar.model.margins.margin import Margin
from sklar.model.significance import critical_deviations
from sklar.pipeline.model_file import Stored
from sklar.release.counts import Counts
from sklar.release.measurements import Choice, FoundLabels, Measurement, Recorded, Release
from sklar.report.charts.canvas import Canvas
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.grid import from_ticks
from sklar.schema.numbers import Datetime, Integer, Real

NOT_MARGINS = ("rows", "digits", "round numbers")
"""Steps that count single columns, but not cell by cell."""


def inspect_model(stored: Stored) -> dict[str, Any]:
    """Return facts about a model as plain data."""
    schema = stored.coordinates.schema
    facts: dict[str, Any] = {
        "method": stored.claim.method,
        "claim": str(stored.claim),
        "claim_record": stored.claim.to_dict(),
        "rows_estimate": stored.model.rows_estimate,
        "fit": stored.fit,
        "steps": [{**_describe_step(step), "share": _share(stored, step.label)} for step in stored.recorded],
        "margins": [
            {**_describe_margin(name, schema[name], margin), **_unseen(stored, name, schema[name])}
            for name, margin in zip(schema.modelled, stored.model.margins, strict=True)
        ],
    }
    flat = flat_columns(stored)
    facts |= {"warnings": flat} if flat else {}
    describe = getattr(stored.model, "describe", None)
    if describe is not None:
        facts["structure"] = describe(schema.modelled)
    return facts


MIN_LOST_SHARE, MIN_CONSTANT_SHARE = 0.95, 0.98
"""Shares of missing or unlisted values, and of one number, from which a column is reported as probably misread."""
CHECK_HINT = "The custodian can see this with `sklar schema check SCHEMA FILE` before anything is charged."


def flat_columns(stored: Stored) -> tuple[str, ...]:
    """Return warnings on columns that are nearly all missing, unlisted or one number, from the fitted margins.

    That is the result when values could not be parsed: a decimal comma where a point is stated, another date format,
    other spellings of labels.
    """
    schema = stored.coordinates.schema
    pairs = zip(schema.modelled, stored.model.margins, strict=True)
    return tuple(warning for name, margin in pairs if (warning := _warn_if_flat(name, schema[name], margin)))


def _warn_if_flat(name: str, column: Column, margin: Margin) -> str:
    dense = margin.dense()
    null = 0.0 if column.null_code is None else float(dense[column.null_code])
    if null >= MIN_LOST_SHARE:
        return f"{name} came out missing in {null:.0%} of the rows: is its format stated correctly? {CHECK_HINT}"
    other = 0.0 if column.other_code is None else float(dense[column.other_code])
    if other >= MIN_LOST_SHARE:
        return f"{name} came out as '{getattr(column, 'other', 'other')}' in {other:.0%} of the rows. {CHECK_HINT}"
    if not isinstance(column, Integer | Real | Datetime) or column.value_cells <= 2:
        return ""
    share, at = float(dense[: column.value_cells].max()), int(dense[: column.value_cells].argmax())
    if share < MIN_CONSTANT_SHARE * (1 - null):
        return ""
    start = column.grid.starts[at]
    value = from_ticks(int(start), column.resolution).isoformat() if isinstance(column, Datetime) else f"{start:g}"
    return f"{name} came out as {value} in {share:.0%} of the rows: is its format stated correctly? {CHECK_HINT}"


def draw_structure(facts: Mapping[str, Any]) -> Canvas:
    """Draw the vine of a model, from the facts of `inspect_model`.

    Raises:
        UsageError: The model has no vine.
    """
    from sklar.report.charts.trees import draw_vine

    structure = facts.get("structure") or {}
    if not structure.get("trees"):
        raise UsageError(f"no vine to draw: a model of method '{facts['method']}' has none.")
    columns = [margin["column"] for margin in facts["margins"]]
    promise = "" if facts["claim_record"]["guarantee"] else ", NO DP GUARANTEE"
    title = f"Vine of {len(columns)} columns (method {facts['method']}{promise})"
    return draw_vine(columns, [tree["edges"] for tree in structure["trees"]], title)


def _describe_step(step: Recorded) -> dict[str, Any]:
    first = step.releases[0]
    noise = None if isinstance(first, Choice) else _describe_noise(first)
    return {
        "step": step.step,
        "label": step.label,
        "releases": len(step.releases),
        "values": sum(_count_values(release) for release in step.releases),
        "noise": noise,
    }


def _describe_noise(release: Measurement | FoundLabels) -> dict[str, Any]:
    """Return the kind and standard deviation of the noise on one value, in the values' own units."""
    if isinstance(release, Measurement):
        return {"kind": release.noise.kind, "std": release.sigma}
    return {"kind": release.discovery.noise.kind, "std": release.discovery.noise.std}


def _share(stored: Stored, label: str) -> float | None:
    """Return the part of the fit's allowance that a step was charged, by its label."""
    amount = stored.fit.get("allowance", {}).get("amount")
    charged = [step["cost"] for step in stored.fit.get("steps", []) if step["label"] == label and "cost" in step]
    return charged[-1] / amount if charged and amount else None


def _count_values(release: Release) -> int:
    if isinstance(release, Measurement):
        return release.values.size
    return release.counts.size if isinstance(release, FoundLabels) else len(release.indices)


def _describe_margin(name: str, column: Column, margin: Margin) -> dict[str, Any]:
    dense = margin.dense()
    facts: dict[str, Any] = {"column": name, "kind": column.kind, "cells": len(margin.mass)}
    if column.null_code is not None:
        facts["null"] = float(dense[column.null_code])
    if isinstance(column, Labels):
        order = np.argsort(-dense[: column.value_cells])[:5]
        facts["top"] = {str(column.values[i]): float(dense[i]) for i in order}
    elif isinstance(column, Boolean):
        facts["true"] = float(dense[1])
    elif isinstance(column, Integer | Real | Datetime):
        facts["quantiles"] = _quantiles(column, dense)
    if margin.heaping:
        facts["rounded to"] = {f"{unit:g}": part for unit, part in margin.heaping}
    return facts


def _unseen(stored: Stored, name: str, column: Column) -> dict[str, Any]:
    """Return the smallest shares that can be detected, from the noise of a column's histograms alone.

    Nulls are in one known cell, whose count must exceed its pooled noise significantly; a tail may be in any cell.
    Below that the model depends on its priors.
    """
    of_column = (
        [x for x in step.releases if isinstance(x, Measurement) and _is_histogram(x, name)]
        for step in stored.recorded
        if step.label not in NOT_MARGINS
    )
    seen = [counted[0] for counted in of_column if counted]  # later ones in a step search units and single values
    if not seen:
        return {}
    sigma = sum(max(release.noise.std, 1e-9) ** -2.0 for release in seen) ** -0.5
    cells, rows = max(release.values.size for release in seen), max(stored.model.rows_estimate, 1)
    shares = {"null": critical_deviations()} if column.null_code is not None else {}
    shares |= {"tail": critical_deviations(cells)} if column.numeric else {}
    return {"unseen": {what: min(float(sigmas * sigma / rows), 1.0) for what, sigmas in shares.items()}}


def _is_histogram(measurement: Measurement, name: str) -> bool:
    return isinstance(measurement.query, Counts) and measurement.query.columns == (name,)


def _quantiles(column: Integer | Real | Datetime, dense: np.ndarray) -> dict[str, Any]:
    """Return quantiles of the fitted distribution of the non-null values, on the grid."""
    mass = np.cumsum(dense[: column.value_cells])
    if mass[-1] <= 0:
        return {}
    codes = np.searchsorted(mass / mass[-1], [0.05, 0.25, 0.5, 0.75, 0.95])
    starts = column.grid.starts[np.minimum(codes, column.value_cells - 1)]
    names = ("5%", "25%", "50%", "75%", "95%")
    if isinstance(column, Datetime):
        return {q: from_ticks(int(x), column.resolution).isoformat() for q, x in zip(names, starts, strict=True)}
    return {q: x.item() for q, x in zip(names, starts, strict=True)}
