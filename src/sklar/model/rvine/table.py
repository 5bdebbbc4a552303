"""Table models of margins and vines learned without noise, cut at a truncation level: one vine, or one for each value
of the response, which are the margins and pair copulas given the root of a C-vine."""

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
from sklar.model.conditioning import Proposals, Runs, mass_of_sets, mix_proposals, place_inside
from sklar.model.margins.margin import Margin
from sklar.model.rvine.vine import FAMILIES, RegularVine
from sklar.model.vine.sampling import runs_of

Codes = NDArray[np.int32]
BLOCK_ENTRIES = 1 << 23
"""Numbers drawn at a time: memory against the cost of starting a block."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineTable:
    """Margins joined by a vine that is sampled down to a truncation level.

    Attributes:
        vine: The vine as it was fitted, with all its trees.
        level: Trees that samples make use of.
        roots: Columns in the order in which they are roots of the trees (C-vines; else empty).
        target: The response, or -1.
        sensitive: Columns that truncation is to protect.
    """

    margins: tuple[Margin, ...]
    scales: tuple[Scale, ...]
    vine: RegularVine
    level: int
    roots: tuple[int, ...] = ()
    target: int = -1
    sensitive: tuple[int, ...] = ()
    rows_estimate: int

    @property
    def most(self) -> int:
        """The highest level that the fit allows."""
        return self.vine.levels

    def truncate(self, level: int) -> VineTable:
        """Return the fit sampled down to another level. The trees beyond stay in the record."""
        return dataclasses.replace(self, level=_check_level(level, self.most))

    def drop_trees(self) -> VineTable:
        """Return the record without the trees beyond its level."""
        return dataclasses.replace(self, vine=self.vine.truncate(self.level))

    def describe(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the trees in use, the level and what it is to protect, as plain data."""
        return {
            "kind": "vine without noise",
            "trees": self.vine.truncate(self.level).describe(names),
            **_describe_levels(self, names),
            "log_likelihood": round(self.vine.loglik, 2),
        }

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows as base codes, shape (rows, columns), Fortran order."""
        return self._draw(rows, rng, even=False)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows whose counts match every margin to rounding; the order of the rows within a column is the
        vine's."""
        return self._draw(rows, rng, even=True)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition: sequential importance sampling along the trees. Their mean weight is the
        probability of the sets."""
        vine = self.vine.truncate(self.level)
        runs = {column: runs_of(self.scales[column], mask) for column, mask in allowed.items()}

        def propose(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            u, log = _particles_inside(vine, runs, rows, rng)
            return np.column_stack([codes_at(scale, u[:, j]) for j, scale in enumerate(self.scales)]), log

        return propose

    def _draw(self, rows: int, rng: np.random.Generator, *, even: bool) -> Codes:
        codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        vine = self.vine.truncate(self.level)
        height = max(1_000, BLOCK_ENTRIES // max(len(self.margins), 1))
        for start in range(0, rows, height):
            u = vine.simulate(min(height, rows - start), rng)
            for column, scale in enumerate(self.scales):
                place = spread_evenly(u[:, column], rng) if even else u[:, column]
                codes[start : start + len(u), column] = codes_at(scale, place)
        return codes


def spread_evenly(u: Floats, rng: np.random.Generator) -> Floats:
    """Return uniforms with the ranks of `u`, one in each of equal parts of [0, 1]."""
    out = np.empty(len(u))
    out[np.argsort(u, kind="stable")] = (np.arange(len(u)) + rng.random(len(u))) / len(u)
    return out


def _particles_inside(
    vine: RegularVine, runs: Mapping[int, Runs], rows: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return uniforms with some columns inside their runs, and the log-weight of each row.

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
    """Return P(U <= x | columns drawn before) for every x of `at` (rows of the result)."""
    out = np.empty((len(at), len(u)))
    for place, x in enumerate(at):
        if x <= 0 or x >= 1:
            out[place] = float(x >= 1)
            continue
        moved = u.copy()
        moved[:, column] = x
        out[place] = vine.to_independent(moved)[:, column]
    return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitVineTable:
    """A response, and a vine of all other columns for each (group of) its values.

    Level t keeps the dependence of every column on the response, in full, and t - 1 trees given the response.

    Attributes:
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
        """Return the fit sampled down to another level. The trees beyond stay in the record."""
        parts = tuple(dataclasses.replace(part, level=_check_level(level, self.most) - 1) for part in self.parts)
        return dataclasses.replace(self, level=level, parts=parts)

    def drop_trees(self) -> SplitVineTable:
        """Return the record without the trees beyond its level."""
        return dataclasses.replace(self, parts=tuple(part.drop_trees() for part in self.parts))

    def describe(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the trees in use, the level and what it is to protect, as plain data."""
        return {
            "kind": "vine without noise, one for each value of the response",
            "trees": self._trees(names),
            "parts": [round(float(share), 4) for share in self.shares],
            **_describe_levels(self, names),
        }

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows as base codes, shape (rows, columns), Fortran order."""
        counts = rng.multinomial(rows, self.shares)
        return self._join_parts([part.simulate(int(n), rng) for part, n in zip(self.parts, counts, strict=True)], rng)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows whose counts match every margin inside every part to rounding."""
        steps = np.floor(rows * np.concatenate([[0.0], np.cumsum(self.shares)]) + rng.random()).astype(int)
        steps[0], steps[-1] = 0, rows
        counts = np.diff(np.clip(steps, 0, rows))
        drawn = [part.simulate_rounded(int(n), rng) for part, n in zip(self.parts, counts, strict=True)]
        return self._join_parts(drawn, rng)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition: those of the parts, drawn by their shares and by the margins of the sets in
        them."""
        others = {column - (column > self.target): mask for column, mask in allowed.items() if column != self.target}
        own = allowed.get(self.target, np.ones(self.margins[self.target].size, dtype=bool))
        values = np.array([margin.dense()[own].sum() for margin in self.values])
        shares = self.shares * values
        guesses = shares * [mass_of_sets(part.margins, others) for part in self.parts]
        parts = [self._part_proposals(at, own, others) if guesses[at] > 0 else None for at in range(len(self.parts))]
        return mix_proposals(shares, guesses, parts)

    def _part_proposals(self, at: int, values: Mask, others: Mapping[int, Mask]) -> Proposals:
        """Return rows of one part with values of the response from its set."""
        propose, mass = self.parts[at].proposals(others), self.values[at].dense() * values

        def with_response(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            codes, log = propose(rows, rng)
            return np.insert(codes, self.target, _draw_codes(mass, rows, rng), axis=1), log

        return with_response

    def _join_parts(self, drawn: list[Codes], rng: np.random.Generator) -> Codes:
        """Return rows of all parts with their response, in random order."""
        rows = sum(map(len, drawn))
        place = rng.permutation(rows)
        result = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
        start = 0
        for codes, margin in zip(drawn, self.values, strict=True):
            if not len(codes):
                continue
            where = place[start : start + len(codes)]
            result[where] = np.insert(codes, self.target, _draw_codes(margin.dense(), len(codes), rng), axis=1)
            start += len(codes)
        return result

    def _trees(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the response's tree, then the parts' trees edge by edge: mean tau, and all families."""
        others = [name for at, name in enumerate(names) if at != self.target]
        root = names[self.target]
        first = [
            {"first": name, "second": root, "given": [], "family": "by value", "tau": round(float(tau), 4)}
            for name, tau in zip(others, self.first_tau, strict=True)
        ]
        later = [self._tree(tree, others, root) for tree in range(1, self.level)]
        return [{"tree": 1, "edges": first, "independent": 0}, *later]

    def _tree(self, tree: int, others: list[str], root: str) -> dict[str, Any]:
        mean = dataclasses.replace(self.parts[0].vine, tau=self.shares @ [part.vine.tau for part in self.parts])
        shown: list[dict[str, Any]] = []
        for edge in mean.trees[tree - 1]:
            kinds = dict.fromkeys(FAMILIES[int(part.vine.family[edge])] for part in self.parts)
            if set(kinds) != {"indep"}:
                description = mean.describe_edge(edge, others)
                shown.append({**description, "given": [root, *description["given"]], "family": " / ".join(kinds)})
        shown.sort(key=lambda edge: -abs(edge["tau"]))
        return {"tree": tree + 1, "edges": shown, "independent": len(others) - tree - len(shown)}


def _draw_codes(mass: Floats, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.choice(len(mass), size=rows, p=mass / mass.sum())


def _check_level(level: int, most: int) -> int:
    """Return the level, if the fit has it."""
    if level not in range(1, most + 1):
        raise UsageError(f"this fit can be truncated at levels 1 to {most}; found {level}")
    return level


def _describe_levels(model: VineTable | SplitVineTable, names: Sequence[str]) -> dict[str, Any]:
    """Return what `inspect` shows about truncation."""
    return {
        "level": model.level,
        "fitted_levels": model.most,
        "roots": [names[column] for column in model.roots],
        "target": names[model.target] if model.target >= 0 else None,
        "sensitive": [names[column] for column in model.sensitive],
    }
