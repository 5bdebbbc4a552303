"""DPCopula-MLE: noisy margins, and correlations averaged over many small blocks of rows (sample and aggregate).

Reference: Li, Xiong, Jiang (2014), section 4.1. Ours differs where the paper errs: scores come from the noisy margins,
never from ranks over all rows; rows are assigned to blocks by what they are, not by where they stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedLine, fine_noise
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.methods.dpcopula.kendall import NoiseName, Repair, require_listed
from sklar.methods.dpcopula.margins import MarginName, laplace_within, measure_named, outline_named, plan_named
from sklar.methods.method import Method, Outline
from sklar.model.correlation.nearest import clipped_correlation, nearest_correlation
from sklar.model.gaussian import GaussianModel
from sklar.model.margins.margin import Margin, u_edges
from sklar.release.copula_features import BlockMeans
from sklar.release.door import Door
from sklar.release.scores import SCORE_BITS, SCORE_LIMIT, Scores
from sklar.schema.table import Schema

FEWEST_ROWS = 20
"""A block needs about this many rows for a correlation worth averaging."""
WORST_NOISE = 0.25
"""Noise on a correlation above this leaves nothing of it."""
MEANS = "mean correlations of blocks"


@dataclass(frozen=True, slots=True, kw_only=True)
class MleOptions:
    """What may be changed about the method.

    Attributes:
        margins: How margins are measured, as for dpcopula-kendall.
        noise: Noise on the mean correlations: "gaussian", or "laplace" as in the paper.
        k: Ratio of what margins and correlations may spend.
        repair: "higham" or "eigenvalue", as for dpcopula-kendall.
        block_rows: Rows in a block, about; fewer rows mean more blocks and less noise, but a larger bias.
    """

    margins: MarginName = "density"
    noise: NoiseName | None = None
    k: float = 8.0
    repair: Repair = "higham"
    block_rows: int = 50

    def __post_init__(self) -> None:
        require_listed("margins", self.margins, get_args(MarginName))
        require_listed("repair", self.repair, get_args(Repair))
        if self.noise is not None:
            require_listed("noise", self.noise, get_args(NoiseName))
        if isinstance(self.k, bool) or not isinstance(self.k, float | int) or not 1e-6 <= self.k <= 1e6:
            raise UsageError(f"k must be a number between 1e-6 and 1e6; {self.k!r} was given")
        if type(self.block_rows) is not int or not FEWEST_ROWS <= self.block_rows <= 10**6:
            raise UsageError(f"block_rows must be a whole number from {FEWEST_ROWS} up; {self.block_rows!r} was given")


def plan(schema: Schema, options: MleOptions) -> tuple[PlannedLine, ...]:
    """Margins and one vector of correlations; empty if their noise is not set in advance."""
    return () if options.noise == "laplace" else plan_named(schema, options.margins, options.k, MEANS)


def fit(door: Door, options: MleOptions, rng: np.random.Generator) -> GaussianModel:
    """Measure margins, then the mean correlation of their scores over blocks, and join them."""
    share = door.allowance.part(1 / (options.k + 1))
    if door.rows is not None:  # public: refuse before anything is spent
        require_enough(len(door.schema.modelled), door.rows, options, share, door.unit)
    measured = measure_named(door, door.allowance.part(options.k / (options.k + 1)), options.margins)
    corr = np.eye(len(measured.margins))
    if len(measured.margins) > 1:
        scores = Scores(
            columns=tuple(door.schema.modelled), lookups=tuple(normal_scores(margin) for margin in measured.margins)
        )
        require_enough(len(measured.margins), measured.rows, options, share, door.unit)
        blocks, seed = _blocks(measured.rows, options), int(rng.integers(0, 2**62))
        feature = BlockMeans(scores=scores, blocks=blocks, seed=seed)
        noisy = door.sum(feature, _noise(feature, share, door.unit, options.noise), MEANS)
        corr = _matrix(noisy.values, len(measured.margins), options.repair)
    return GaussianModel(margins=measured.margins, corr=corr, rows_estimate=max(round(measured.rows), 1))


def require_enough(columns: int, rows: float, options: MleOptions, share: Allowance, unit: Unit) -> None:
    """Refuse a table that is too small: the noise on every correlation would drown it."""
    if columns < 2:
        return
    std = _outline_noise(columns, _blocks(rows, options), share, unit, options.noise).std
    if std > WORST_NOISE:
        needed = math.ceil(rows * std / WORST_NOISE)
        raise UsageError(
            f"dpcopula-mle needs about {needed:,} rows for {columns} columns at this budget: the noise on every "
            f"correlation would be {std:.2g}, where {WORST_NOISE} is the most that leaves something to see. Use "
            "dpcopula-kendall, fewer columns, a smaller k or a larger epsilon"
        )


def normal_scores(margin: Margin) -> NDArray[np.int32]:
    """Score of every base code in units of 2^-10: the mean normal score over the code's share of [0, 1], within +-3.

    Mean over [a, b]: (phi(Phi^-1(a)) - phi(Phi^-1(b))) / (b - a). Codes without mass get the score at their place.
    """
    from scipy.special import ndtri

    edges = u_edges(margin)
    z = np.clip(ndtri(np.clip(edges, 1e-300, 1 - 1e-16)), -9, 9)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    width = np.diff(edges)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(width > 1e-12, (density[:-1] - density[1:]) / width, (z[:-1] + z[1:]) / 2)
    scaled = np.round(mean * 2**SCORE_BITS)
    return np.clip(scaled, -SCORE_LIMIT, SCORE_LIMIT).astype(np.int32)


def outline(schema: Schema, options: MleOptions, allowance: Allowance, unit: Unit, rows: int) -> tuple[Outline, ...]:
    """What will be measured; the noise on mean correlations is told in rows: times the number of rows."""
    lines = outline_named(schema, allowance.part(options.k / (options.k + 1)), unit, options.margins)
    m = len(schema.modelled)
    if m < 2:
        return lines
    noise = _outline_noise(m, _blocks(rows, options), allowance.part(1 / (options.k + 1)), unit, options.noise)
    told = Noise(kind=noise.kind, scale=noise.scale * rows)
    return (*lines, Outline(label="mean correlations, times rows", tables=1, cells=m * (m - 1) // 2, noise=told))


def _blocks(rows: float, options: MleOptions) -> int:
    return max(1, int(rows) // options.block_rows)


def _outline_noise(columns: int, blocks: int, share: Allowance, unit: Unit, kind: NoiseName | None) -> Noise:
    lookups = (np.zeros(1, dtype=np.int32),) * columns
    scores = Scores(columns=tuple(str(j) for j in range(columns)), lookups=lookups)
    return _noise(BlockMeans(scores=scores, blocks=blocks, seed=0), share, unit, kind)


def _noise(feature: BlockMeans, share: Allowance, unit: Unit, kind: NoiseName | None) -> Noise:
    l1, l2 = feature.norms(unit)
    if kind == "laplace":
        return laplace_within(share, l1=l1, l2=l2)
    if kind == "gaussian" and share.measure == "epsilon":
        raise UsageError("Gaussian noise needs delta above 0; with delta = 0 use Laplace noise.")
    return fine_noise(share.sum_noise(l1=l1, l2=l2), feature.resolution)


def _matrix(values: Floats, columns: int, repair: Repair) -> Floats:
    matrix = np.eye(columns)
    matrix[np.triu_indices(columns, 1)] = np.clip(values, -1, 1)
    matrix = matrix + np.triu(matrix, 1).T
    return nearest_correlation(matrix) if repair == "higham" else clipped_correlation(matrix)


MLE = Method(
    name="dpcopula-mle",
    summary="noisy margins joined by a Gaussian copula from correlations averaged over blocks of rows",
    neighbours="replace",
    options=MleOptions,
    fit=fit,
    plan=plan,
    outline=outline,
    caveats=("The dependence of each pair of columns is one number: only monotone dependence is kept.",),
)
