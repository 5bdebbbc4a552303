"""A table model with one vine for each value of the response: margins and pair copulas given the root of a C-vine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Mask
from sklar.model.conditioning import Proposals, mass_of_sets, mixture
from sklar.model.margins.margin import Margin
from sklar.model.rvine.table import VineTable, checked_level, describe_levels
from sklar.model.rvine.vine import FAMILIES

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitVineTable:
    """A response, and a vine of all other columns for each (group of) its values.

    Level t keeps the dependence of every column on the response, in full, and t - 1 trees given the response.

    Attributes:
        margins: One per column, in schema order.
        target: The response.
        shares: Share of the rows in each part.
        values: The response's margin inside each part.
        parts: The other columns inside each part, in schema order.
        level: Trees that samples make use of, the first being the response's.
        roots: Columns in the order in which they are roots of the trees.
        sensitive: Columns that truncation is to protect.
        first_tau: Kendall's tau of each other column with the response.
        rows_estimate: Rows of the fitted table.
    """

    margins: tuple[Margin, ...]
    target: int
    shares: Floats
    values: tuple[Margin, ...]
    parts: tuple[VineTable, ...]
    level: int
    roots: tuple[int, ...]
    sensitive: tuple[int, ...]
    first_tau: Floats
    rows_estimate: int

    @property
    def most(self) -> int:
        """The highest level that the fit allows."""
        return self.parts[0].vine.levels + 1

    def truncate(self, level: int) -> SplitVineTable:
        """The same fit, sampled down to another level. The trees beyond stay in the record."""
        parts = tuple(dataclasses.replace(part, level=checked_level(level, self.most) - 1) for part in self.parts)
        return dataclasses.replace(self, level=level, parts=parts)

    def dropped(self) -> SplitVineTable:
        """The record without the trees beyond its level."""
        return dataclasses.replace(self, parts=tuple(part.dropped() for part in self.parts))

    def describe(self, names: Sequence[str]) -> dict[str, Any]:
        """The trees in use, the level and what it is to protect, as plain data."""
        return {
            "kind": "vine without noise, one for each value of the response",
            "trees": self._trees(names),
            "parts": [round(float(share), 4) for share in self.shares],
            **describe_levels(self.level, self.most, names, self.roots, self.target, self.sensitive),
        }

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows as base codes, shape (rows, columns), Fortran order."""
        counts = rng.multinomial(rows, self.shares)
        return self._joined([part.simulate(int(n), rng) for part, n in zip(self.parts, counts, strict=True)], rng)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows whose counts match every margin inside every part to rounding."""
        steps = np.floor(rows * np.concatenate([[0.0], np.cumsum(self.shares)]) + rng.random()).astype(int)
        steps[0], steps[-1] = 0, rows
        counts = np.diff(np.clip(steps, 0, rows))
        drawn = [part.simulate_rounded(int(n), rng) for part, n in zip(self.parts, counts, strict=True)]
        return self._joined(drawn, rng)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Rows for a condition: those of the parts, drawn by their shares and by the margins of the sets in them."""
        others = {column - (column > self.target): mask for column, mask in allowed.items() if column != self.target}
        own = allowed.get(self.target, np.ones(self.margins[self.target].size, dtype=bool))
        values = np.array([margin.dense()[own].sum() for margin in self.values])
        shares = self.shares * values
        guesses = shares * [mass_of_sets(part.margins, others) for part in self.parts]
        parts = [self._part_proposals(at, own, others) if guesses[at] > 0 else None for at in range(len(self.parts))]
        return mixture(shares, guesses, parts)

    def _part_proposals(self, at: int, values: Mask, others: Mapping[int, Mask]) -> Proposals:
        """Rows of one part with values of the response from its set."""
        propose, mass = self.parts[at].proposals(others), self.values[at].dense() * values

        def with_response(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            codes, log = propose(rows, rng)
            return np.insert(codes, self.target, rng.choice(len(mass), size=rows, p=mass / mass.sum()), axis=1), log

        return with_response

    def _joined(self, drawn: list[Codes], rng: np.random.Generator) -> Codes:
        """Rows of all parts with their response, in random order."""
        rows = sum(len(codes) for codes in drawn)
        place = rng.permutation(rows)
        result = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        others = [column for column in range(len(self.margins)) if column != self.target]
        start = 0
        for codes, margin in zip(drawn, self.values, strict=True):
            where = place[start : start + len(codes)]
            mass = margin.dense()
            for at, column in enumerate(others):
                result[where, column] = codes[:, at]
            if len(codes):
                result[where, self.target] = rng.choice(len(mass), size=len(codes), p=mass / mass.sum())
            start += len(codes)
        return result

    def _trees(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """The response's tree, then the parts' trees edge by edge: mean tau, and all families."""
        others = [name for at, name in enumerate(names) if at != self.target]
        root = names[self.target]
        first = [
            {"first": name, "second": root, "given": [], "family": "by value", "tau": round(float(tau), 4)}
            for name, tau in zip(others, self.first_tau, strict=True)
        ]
        trees: list[dict[str, Any]] = [{"tree": 1, "edges": first, "independent": 0}]
        for tree in range(1, self.level):
            trees.append(self._tree(tree, others, root))
        return trees

    def _tree(self, tree: int, others: list[str], root: str) -> dict[str, Any]:
        size = len(others)
        start = sum(size - 1 - before for before in range(tree - 1))
        model = self.parts[0].vine
        told: list[dict[str, Any]] = []
        for edge in range(start, start + size - tree):
            kinds = dict.fromkeys(FAMILIES[int(part.vine.family[edge])] for part in self.parts)
            if set(kinds) == {"indep"}:
                continue
            told.append(
                {
                    "first": others[int(model.first[edge])],
                    "second": others[int(model.second[edge])],
                    "given": [root, *(others[int(column)] for column in model.given_of(edge))],
                    "family": " / ".join(kinds),
                    "tau": round(float(self.shares @ [part.vine.tau[edge] for part in self.parts]), 4),
                }
            )
        told.sort(key=lambda edge: -abs(edge["tau"]))
        return {"tree": tree + 1, "edges": told, "independent": size - tree - len(told)}
