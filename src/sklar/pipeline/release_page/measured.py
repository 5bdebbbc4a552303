"""Measurements of a model as plain data for the page, whose program computes intervals from them.

The page draws the rows of the model itself. What else `sklar.inference.one_step` needs is here: the estimators of
single columns, and measured tables and sums of score products of several columns.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.inference.columns import ColumnEstimator, Tail
from sklar.inference.linear_measurements import LinearMeasurements, linear_measurements
from sklar.inference.tables import is_interaction, partitions_of
from sklar.pipeline.model_file import Stored
from sklar.release.agreements import Agreements
from sklar.release.lookups import Lookup
from sklar.release.measurements import Measurement
from sklar.release.sphere import PairSums, StarSums

MIN_TAIL_WEIGHT = 1e-7
"""Possible tails of a smaller posterior probability are left out: they would move no digit that the page shows."""


def describe_measured(stored: Stored) -> dict[str, Any] | None:
    """Return what intervals are computed from; None if some of it is of a kind that the page does not know."""
    known = linear_measurements(stored.fitted)
    if any(isinstance(one.measurement.query, Agreements) for one in known.linear):
        return None
    names = stored.coordinates.schema.modelled
    lookups = _Lookups()
    tables = [one.measurement for one in known.linear if one.place is None]
    sums = dict.fromkeys(one.measurement for one in known.linear if one.place is not None)
    return {
        "rows": stored.model.rows_estimate,
        "columns": {name: _describe_estimators(known, name) for name in names},
        "tables": [_describe_table(table, lookups) for table in tables],
        "sums": [_describe_sums(one, lookups) for one in sums],
        "lookups": lookups.found,
    }


class _Lookups:
    """Lookups of base codes, each stored once as runs."""

    def __init__(self) -> None:
        self.found: list[list[int]] = []
        self._places: dict[bytes, int] = {}

    def place(self, lookup: Lookup) -> int:
        """Return the place of a lookup in the list, and add it if it is new."""
        key = lookup.astype(np.int64).tobytes()
        if key not in self._places:
            self._places[key] = len(self.found)
            self.found.append(_runs(lookup))
        return self._places[key]


def _runs(lookup: Ints | Lookup) -> list[int]:
    """Return the value and length of each run: [0, 3, 7, 1] for 0, 0, 0, 7."""
    starts = np.flatnonzero(np.diff(lookup, prepend=lookup[0] - 1))
    lengths = np.diff(starts, append=len(lookup))
    return np.column_stack([lookup[starts], lengths]).ravel().tolist()


def _describe_table(table: Measurement, lookups: _Lookups) -> dict[str, Any]:
    return {
        "columns": list(table.query.columns), "parts": [lookups.place(part) for part in partitions_of(table)],
        "shape": list(table.values.shape), "values": _plain(table.values.ravel()), "sigma": table.sigma,
        "interaction": is_interaction(table),
    }  # fmt: skip


def _describe_sums(measurement: Measurement, lookups: _Lookups) -> dict[str, Any]:
    """Return the scores that place rows on the sphere, and the sums of their products."""
    query = measurement.query
    assert isinstance(query, PairSums | StarSums)
    facts: dict[str, Any] = {
        "scores": list(query.scores.columns), "lookups": [lookups.place(one) for one in query.scores.lookups],
        "values": _plain(measurement.values.ravel()), "sigma": measurement.sigma, "unit": query.resolution,
    }  # fmt: skip
    if isinstance(query, StarSums):
        weights = [lookups.place(one) for one in query.contrasts.lookups]
        facts |= {"target": query.contrasts.column, "weights": weights}
    return facts


def _describe_estimators(known: LinearMeasurements, name: str) -> list[dict[str, Any] | None]:
    """Describe the estimators of a column with and without a model of its tails; only one if they are equal."""
    both = [known.column(name, unbiased) for unbiased in (False, True)]
    if np.isnan(known.places[name]).all():
        both = both[:1]
    return [None if one is None else _describe_estimator(one) for one in both]


def _describe_estimator(one: ColumnEstimator) -> dict[str, Any]:
    return {
        "lookup": _runs(one.lookup), "body": one.body.tolist(), "lines": [_describe_line(line) for line in one.lines],
        "observed": _plain(one.observed), "sigma": _runs_of_numbers(one.sigma),
        "lumps": [[int(cell), *one.lumps[:, cell].tolist()] for cell in np.flatnonzero(one.lumps[0])],
        "tails": [_describe_tail(tail) for tail in one.tails], "rows": one.rows,
    }  # fmt: skip


def _describe_line(line: Floats) -> list[int]:
    """Return the places of the cells that a number counts: first and last if there is none between, else all."""
    places = np.flatnonzero(line)
    if len(places) and places[-1] - places[0] + 1 == len(places):
        return [int(places[0]), int(places[-1]), -1]
    return places.tolist()


def _describe_tail(tail: Tail) -> dict[str, Any]:
    weight = np.where(tail.weight >= MIN_TAIL_WEIGHT, tail.weight, 0.0).astype("<f4")
    return {
        "cells": tail.cells.tolist(), "far": tail.far.tolist(), "density": tail.density, "decay": tail.decay,
        "weight": base64.b64encode(weight.tobytes()).decode(),
    }  # fmt: skip


def _runs_of_numbers(numbers: Floats) -> list[list[float]]:
    """Return [number, length] of each run."""
    starts = np.flatnonzero(np.diff(numbers, prepend=np.nan) != 0)
    lengths = np.diff(starts, append=len(numbers)).tolist()
    return [[number, length] for number, length in zip(numbers[starts].tolist(), lengths, strict=True)]


def _plain(numbers: Sequence[Any] | Floats | Ints) -> list[float]:
    """Return numbers as JSON has them, whole ones without a point."""
    return [int(x) if x == int(x) else x for x in np.asarray(numbers, dtype=np.float64).tolist()]
