"""The fitted vine model: margins, a vine and its calibration; how rows are drawn from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.model.axis import Scale, codes_at
from sklar.model.conditioning import even_batches
from sklar.model.margins.margin import Margin
from sklar.model.pairs.copula import Checkerboard, ClassPairs, GaussianPair, IndependentPair
from sklar.model.pairs.dependence import mutual_information
from sklar.model.protocol import Proposals, RowProposals, join_proposals
from sklar.model.vine.calibration import Calibration
from sklar.model.vine.pool import POLISHING_SWEEPS, accepted_rows, average_tilts, draw_pool, pool_size
from sklar.model.vine.rounding import (
    choose_triples,
    count_proposals,
    group_cuts,
    round_rows,
    rounded_cells,
    spread_evenly,
)
from sklar.model.vine.sampling import vine_proposals, vine_row_proposals
from sklar.model.vine.vine import Edge, Vine

ROWS_AT_A_TIME = 40_000
"""Rows picked from one pool: more come from fewer, larger pools, which take more memory."""
ROUNDING_PARTICLES = (8.0, 15.0)
"""Least and most particles for each row, more where weights are uneven: rows to choose from against time."""
LARGE_SAMPLE = 100_000
"""Larger samples carry little sampling noise of their own, and are made faster:"""
LARGE_PARTICLES = 2.0
"""with fewer particles for each row,"""
LATER_SWEEPS = 3
"""and with fewer sweeps for each pool but the first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineFacts:
    """What `inspect` shows about a fit apart from the trees.

    Attributes:
        margin_error: expected total variation error of each margin from the known noise.
        strength: prior strength c of the calibration, or 0 when there was none.
        pairs: number of measured pair tables.
        noise: kind of noise on the released tables, "gaussian" or "laplace".
    """

    rows: float
    margin_error: tuple[float, ...]
    strength: float
    pairs: int
    noise: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineModel:
    """A vine, on the axes (`scales`) of the columns, times weights that tilt it towards the released tables."""

    margins: tuple[Margin, ...]
    scales: tuple[Scale, ...]
    vine: Vine
    calibration: Calibration
    facts: VineFacts

    @property
    def rows_estimate(self) -> int:
        """Default size of a sample: the noisy (or public) number of rows."""
        return max(round(self.facts.rows), 1)

    def describe(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the trees, a drawing of the first, and how the fit went, as plain data."""
        return {
            "kind": "vine",
            "trees": describe_trees(self.vine, names),
            "drawing": draw_first_tree(self.vine, names),
            "pair_tables": self.facts.pairs,
            "calibration": {
                "tables": len(self.calibration.tables),
                "effective_sample_size": round(self.calibration.effective, 4),
                "prior_strength": round(self.facts.strength, 1),
            },
            "expected_margin_error": dict(zip(names, self.facts.margin_error, strict=False)),
        }

    def simulate(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Return independent rows, by rejection."""
        result, filled = np.empty((rows, len(self.scales)), dtype=np.int32, order="F"), 0
        for kept in accepted_rows(self.vine, self.scales, self.calibration, rows, rng):
            result[filled : filled + len(kept)] = kept
            filled += len(kept)
        return result

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Return rows whose counts lie nearer to the model than those of independent rows would."""
        return join_proposals(self.rounded_parts(rows, rng), rows, len(self.scales))

    def rounded_parts(self, rows: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Draw rows as `simulate_rounded`, part by part.

        Large samples come from several pools; each starts from the mean tilt of those before, so that few sweeps do.
        """
        large = rows > LARGE_SAMPLE
        per_row = LARGE_PARTICLES if large else float(np.clip(1.5 / self.calibration.effective, *ROUNDING_PARTICLES))
        tilt, cuts = self.calibration, group_cuts(self.calibration, self.scales)
        most = pool_size(self.calibration, max(rows, ROWS_AT_A_TIME), per_row) / per_row  # rows from one pool
        for number, at in enumerate(even_batches(rows, int(np.clip(most, 1_000, ROWS_AT_A_TIME)))):
            part = np.empty((at.stop - at.start, len(self.scales)), dtype=np.int32, order="F")
            size = pool_size(tilt, len(part), per_row)
            sweeps = LATER_SWEEPS if large and number else POLISHING_SWEEPS
            pool = draw_pool(self.vine, self.scales, tilt, size, rng, sweeps)
            # Where sampling noise is small, triples do not pay.
            triples = [] if large else choose_triples(self.calibration, rng)
            cells, counts = rounded_cells(self.calibration, pool.codes, triples)
            chosen = round_rows(cells, counts, pool.weights, len(part), count_proposals(len(part), rows), rng)
            for column, scale in enumerate(self.scales):
                part[:, column] = codes_at(scale, spread_evenly(cuts[column], pool.particles[chosen, column], rng))
            tilt = average_tilts(tilt, pool, number)
            yield part

    def proposals(self, allowed: Mapping[int, np.ndarray]) -> Proposals:
        """Return rows for a condition: sequential importance sampling along the trees."""
        return vine_proposals(self.vine, self.scales, self.calibration, allowed)

    def row_proposals(self, first: Sequence[int]) -> RowProposals:
        """Return rows with known codes, each its own, in the same way."""
        return vine_row_proposals(self.vine, self.scales, self.calibration, first)


def describe_trees(vine: Vine, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return edges of every tree with their family, Kendall's tau and strength; independent edges are only counted."""
    trees: list[dict[str, Any]] = []
    for level, tree in enumerate(vine.trees, start=1):
        edges = [_describe_edge(edge, names) for edge in tree if edge.family != "independent"]
        edges.sort(key=lambda edge: -edge["strength"])
        trees.append({"tree": level, "edges": edges, "independent": len(tree) - len(edges)})
    return trees


def _describe_edge(edge: Edge, names: Sequence[str]) -> dict[str, Any]:
    return {
        "first": names[edge.first],
        "second": names[edge.second],
        "given": [names[column] for column in edge.given],
        "family": edge.family,
        "tau": round(edge.tau, 4),
        "strength": round(measure_strength(edge.copula), 4),
    }


def measure_strength(copula: Checkerboard | ClassPairs | GaussianPair | IndependentPair) -> float:
    """Return dependence of any shape on the scale of a correlation: sqrt(1 - exp(-2 I)), with I the mutual information.

    For the Gaussian copula this is |correlation| (Joe, JASA 1989); unlike Kendall's tau it means something for nominal
    columns too. Of pairs that differ by class it is the mean over the classes.
    """
    if isinstance(copula, ClassPairs):
        return float(np.diff(copula.edges) @ [measure_strength(pair) for pair in copula.pairs])
    if isinstance(copula, GaussianPair):
        return abs(copula.corr)
    if isinstance(copula, IndependentPair):
        return 0.0
    return float(np.sqrt(-np.expm1(-2 * max(mutual_information(copula.mass), 0.0))))


def draw_first_tree(vine: Vine, names: Sequence[str]) -> str:
    """Return tree one as indented text: each column under the one it hangs from, with family and Kendall's tau.

    Every group of dependent columns starts at the column with most neighbours; columns that depend on none come last.
    """
    near: dict[int, list[tuple[int, Edge]]] = {column: [] for column in range(vine.size)}
    for edge in vine.trees[0] if vine.trees else ():
        if edge.family != "independent":
            near[edge.first].append((edge.second, edge))
            near[edge.second].append((edge.first, edge))
    lines: list[str] = []
    seen: set[int] = set()

    def draw_below(column: int, indent: str) -> None:
        below = [(other, edge) for other, edge in near[column] if other not in seen]
        seen.update(other for other, _ in below)
        for place, (other, edge) in enumerate(below, start=1):
            last = place == len(below)
            lines.append(f"{indent}{'└─' if last else '├─'} {names[other]}  [{edge.family}, tau {edge.tau:+.2f}]")
            draw_below(other, indent + ("   " if last else "│  "))

    for root in sorted(near, key=lambda column: (-len(near[column]), column)):
        if root not in seen:
            seen.add(root)
            lines.append(names[root])
            draw_below(root, "")
    return "\n".join(lines)
