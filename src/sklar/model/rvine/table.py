"""A table model made of margins and a vine learned without noise, cut at a truncation level."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Mask
from sklar.errors import UsageError
from sklar.model.axis import Scale, codes_at
from sklar.model.conditioning import Proposals, Runs, place_inside
from sklar.model.margins.margin import Margin
from sklar.model.rvine.vine import RegularVine
from sklar.model.vine.sampling import runs_of

Codes = NDArray[np.int32]
ENTRIES = 1 << 23
"""Numbers drawn at a time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineTable:
    """Margins joined by a vine that is sampled down to a truncation level.

    Attributes:
        margins: One per column, in schema order.
        scales: The axis of each column.
        vine: The vine as it was fitted, with all its trees.
        level: Trees that samples make use of.
        roots: Columns in the order in which they are roots of the trees (C-vines; else empty).
        target: The response, or -1.
        sensitive: Columns that truncation is to protect.
        rows_estimate: Rows of the fitted table.
    """

    margins: tuple[Margin, ...]
    scales: tuple[Scale, ...]
    vine: RegularVine
    level: int
    roots: tuple[int, ...]
    target: int
    sensitive: tuple[int, ...]
    rows_estimate: int

    @property
    def most(self) -> int:
        """The highest level that the fit allows."""
        return self.vine.levels

    def truncate(self, level: int) -> VineTable:
        """The same fit, sampled down to another level. The trees beyond stay in the record."""
        return dataclasses.replace(self, level=checked_level(level, self.most))

    def dropped(self) -> VineTable:
        """The record without the trees beyond its level."""
        return dataclasses.replace(self, vine=self.vine.truncate(self.level))

    def describe(self, names: Sequence[str]) -> dict[str, Any]:
        """The trees in use, the level and what it is to protect, as plain data."""
        return {
            "kind": "vine without noise",
            "trees": self.vine.truncate(self.level).describe(names),
            **describe_levels(self.level, self.most, names, self.roots, self.target, self.sensitive),
            "log_likelihood": round(self.vine.loglik, 2),
        }

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows as base codes, shape (rows, columns), Fortran order."""
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        vine = self.vine.truncate(self.level)
        for part in _parts(rows, len(self.margins)):
            u = vine.simulate(part.stop - part.start, rng)
            for column, scale in enumerate(self.scales):
                codes[part, column] = codes_at(scale, u[:, column])
        return codes

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows whose counts match every margin to rounding; the order of the rows within a column is the vine's."""
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        vine = self.vine.truncate(self.level)
        for part in _parts(rows, len(self.margins)):
            height = part.stop - part.start
            u = vine.simulate(height, rng)
            for column, scale in enumerate(self.scales):
                order = np.argsort(u[:, column], kind="stable")
                codes[part, column][order] = codes_at(scale, (np.arange(height) + rng.random(height)) / height)
        return codes

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Rows for a condition: sequential importance sampling along the trees."""
        return disclosed_proposals(self.vine.truncate(self.level), self.scales, allowed)


def checked_level(level: int, most: int) -> int:
    """The level, if the fit has it."""
    if level not in range(1, most + 1):
        raise UsageError(f"this fit can be truncated at levels 1 to {most}; found {level}")
    return level


def describe_levels(
    level: int, most: int, names: Sequence[str], roots: tuple[int, ...], target: int, sensitive: tuple[int, ...]
) -> dict[str, Any]:
    """What `inspect` tells about truncation."""
    return {
        "level": level,
        "fitted_levels": most,
        "roots": [names[column] for column in roots],
        "target": names[target] if target >= 0 else None,
        "sensitive": [names[column] for column in sensitive],
    }


def _parts(rows: int, columns: int) -> list[slice]:
    height = max(1_000, ENTRIES // max(columns, 1))
    return [slice(start, min(start + height, rows)) for start in range(0, rows, height)]


def disclosed_proposals(vine: RegularVine, scales: Sequence[Scale], allowed: Mapping[int, Mask]) -> Proposals:
    """Rows of the vine conditioned on the sets; their mean weight is the probability of the sets."""
    runs = {column: runs_of(scales[column], mask) for column, mask in allowed.items()}

    def propose(rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], Floats]:
        u, log = _particles_inside(vine, runs, rows, rng)
        return np.column_stack([codes_at(scale, u[:, j]) for j, scale in enumerate(scales)]), log

    return propose


def _particles_inside(
    vine: RegularVine, runs: Mapping[int, Runs], rows: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Uniforms with some columns inside their runs, and the log-weight of each row.

    Columns are taken in the vine's sampling order. A column's conditional distribution given the ones before is its
    Rosenblatt transform, so that a set is an interval of the column's independent uniform, and its length the weight.
    """
    w, log = rng.random((rows, vine.size)), np.zeros(rows)
    for column in (column for column in vine.sampling_order() if column in runs):
        u = vine.from_independent(w)
        low, high = (_levels(vine, u, column, ends) for ends in (runs[column].low, runs[column].high))
        _, w[:, column], share = place_inside(low, high, w[:, column])
        with np.errstate(divide="ignore"):
            log += np.log(share)
    return vine.from_independent(w), log


def _levels(vine: RegularVine, u: Floats, column: int, at: Floats) -> Floats:
    """P(U <= x | columns drawn before) for every x of `at` (rows of the result)."""
    out = np.empty((len(at), len(u)))
    for place, x in enumerate(at):
        if x <= 0 or x >= 1:
            out[place] = float(x >= 1)
            continue
        moved = u.copy()
        moved[:, column] = x
        out[place] = vine.to_independent(moved)[:, column]
    return out
