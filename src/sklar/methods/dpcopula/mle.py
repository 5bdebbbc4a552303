"""DPCopula-MLE: noisy margins, and correlations averaged over many small blocks of rows (sample and aggregate).

Reference: Li, Xiong, Jiang (2014), section 4.1. Ours differs where the paper errs: scores come from the noisy margins,
never from ranks over all rows; rows are assigned to blocks by what they are, not by where they stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedLine
from sklar.accounting.unit import Unit
from sklar.errors import NoSignalWarning, UsageError, warn_user
from sklar.methods.dpcopula.stages import (
    MARGINS,
    StagedOptions,
    correlation_matrix,
    outline_stages,
    plan_stages,
    resolve_published,
    take_published,
    vector_noise,
)
from sklar.methods.evidence import Evidence, Measure, Step, ask_in_order, remembered
from sklar.methods.method import Method, Outline, require_listed, require_whole
from sklar.model.gaussian import GaussianModel
from sklar.model.margins.margin import Margin, u_edges
from sklar.release.blocks import BlockLikelihoods, BlockMeans
from sklar.release.measurements import Request
from sklar.release.scores import SCORE_BITS, SCORE_LIMIT, Scores
from sklar.schema.table import Schema

MIN_BLOCK_ROWS = 20
"""Rows that a block needs for a useful correlation."""
MAX_CORRELATION_NOISE = 0.25
"""Noise on a correlation above this leaves nothing of it."""
MEANS = "mean correlations of blocks"
Estimate = Literal["scores", "likelihood"]
_FEATURES: dict[Estimate, type[BlockMeans]] = {"scores": BlockMeans, "likelihood": BlockLikelihoods}


@dataclass(frozen=True, slots=True, kw_only=True)
class MleOptions(StagedOptions):
    """Options of the method, in addition to those of its stages.

    Attributes:
        block_rows: Rows in a block, about; fewer rows mean more blocks and less noise, but a larger bias.
        estimate: What is averaged: "scores", the correlation of normal scores, or "likelihood", the maximum of the
            likelihood of a Gaussian copula, as in the paper, for each pair of columns. Noise is less with scores, whose
            correlations make a semidefinite matrix: by sqrt(2 - 2/m) for Gaussian noise.
    """

    block_rows: int = 50
    estimate: Estimate = "scores"

    def __post_init__(self) -> None:
        StagedOptions.__post_init__(self)
        if self.published:
            take_published(self, estimate="likelihood")
        require_listed("estimate", self.estimate, get_args(Estimate))
        require_whole("block_rows", self.block_rows, MIN_BLOCK_ROWS, 10**6)


def plan(schema: Schema, options: MleOptions) -> tuple[PlannedLine, ...]:
    """Return margins and one vector of correlations; empty if their noise is not set in advance."""
    return plan_stages(schema, options, MEANS)


def ask(evidence: Evidence[MleOptions]) -> Step | None:
    """Ask for margins, then for the mean correlation of their scores over blocks."""
    return ask_in_order(evidence, MARGINS.ask, _ask_means)


@remembered
def _ask_means(evidence: Evidence[MleOptions]) -> Measure | None:
    """Return the step that measures correlations; None where there are none to measure.

    A public number of rows was found large enough before anything was charged. Where rows come and go their number is
    known with noise only, after the margins were paid for: too few leave the columns independent, with a warning.
    """
    setting, measured = evidence.setting, MARGINS.estimate(evidence)
    options, columns = setting.options, len(measured.margins)
    stage = options.vector_stage(setting.allowance)
    if columns < 2 or not _has_enough(columns, measured.rows, options, stage, setting.unit):
        return None
    lookups = tuple(normal_scores(margin) for margin in measured.margins)
    scores = Scores(columns=tuple(setting.schema.modelled), lookups=lookups)
    blocks, seed = _count_blocks(measured.rows, options), int(setting.generator().integers(0, 2**62))
    query = _FEATURES[options.estimate](scores=scores, blocks=blocks, seed=seed)
    noise = vector_noise(query, stage, setting.unit, options.noise)
    return Measure(label=MEANS, requests=(Request(query=query, noise=noise),))


def estimate(evidence: Evidence[MleOptions]) -> GaussianModel:
    """Join the margins by the mean correlations; columns are independent where none were measured."""
    measured, means = MARGINS.estimate(evidence), evidence.measured(MEANS)
    columns, repair = len(measured.margins), evidence.setting.options.repair
    corr = correlation_matrix(means[0].values, columns, repair) if means else np.eye(columns)
    return GaussianModel(margins=measured.margins, corr=corr, rows_estimate=max(round(measured.rows), 1))


def require_rows(schema: Schema, options: MleOptions, allowance: Allowance, unit: Unit, rows: int) -> None:
    """Refuse a public number of rows that is too small, before anything is charged."""
    require_enough(len(schema.modelled), rows, options, options.vector_stage(allowance), unit)


def _has_enough(columns: int, noisy_rows: float, options: MleOptions, stage: Allowance, unit: Unit) -> bool:
    """Return whether correlations exceed their noise; if not, warn that the model has none."""
    try:
        require_enough(columns, noisy_rows, options, stage, unit)
    except UsageError as reason:
        warn_user(
            f"the columns of this model are independent: {reason}. That the rows are too few is known only now, from "
            "their noisy number: the margins were charged, and no correlation was measured. With neighbours='replace' "
            "the number of rows is public, and too few are refused before anything is charged.",
            NoSignalWarning,
        )
        return False
    return True


def require_enough(columns: int, rows: float, options: MleOptions, stage: Allowance, unit: Unit) -> None:
    """Refuse a table so small that every correlation would be below the noise level."""
    if columns < 2:
        return
    blocks = _count_blocks(rows, options)
    if options.published:
        _require_published(columns, blocks, options, stage)
        return
    feature = _expected(columns, blocks, options)
    std = vector_noise(feature, stage, unit, options.noise).std_on(feature.resolution)
    if std > MAX_CORRELATION_NOISE:
        needed = math.ceil(blocks * std / MAX_CORRELATION_NOISE) * options.block_rows
        raise UsageError(
            f"dpcopula-mle needs about {needed:,} rows for {columns} columns at this budget: the noise on every "
            f"correlation would be {std:.2g}, where {MAX_CORRELATION_NOISE} is the most that leaves something to see. "
            "Use dpcopula-kendall, fewer columns, a smaller k or a larger epsilon"
        )


def _require_published(columns: int, blocks: int, options: MleOptions, stage: Allowance) -> None:
    """Refuse fewer blocks than the paper requires: more than C(m, 2) / (0.025 epsilon2)."""
    fewest = math.comb(columns, 2) / (0.025 * stage.amount)
    if blocks <= fewest:
        raise UsageError(
            f"dpcopula-mle as published needs about {math.ceil(fewest + 1) * options.block_rows:,} rows for {columns} "
            f"columns at this budget: more than C(m, 2) / (0.025 epsilon2) = {fewest:,.0f} blocks of "
            f"{options.block_rows} rows. Use dpcopula-kendall, fewer columns, a smaller k or block_rows, or a larger "
            "epsilon"
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
    """Return what will be measured."""
    m = len(schema.modelled)
    if m < 2:
        return outline_stages(schema, options, allowance, unit, None)
    feature = _expected(m, _count_blocks(rows, options), options)
    noise = vector_noise(feature, options.vector_stage(allowance), unit, options.noise)
    return outline_stages(schema, options, allowance, unit, ("mean correlations", noise, feature.resolution, rows))


def _count_blocks(rows: float, options: MleOptions) -> int:
    return max(1, int(rows) // options.block_rows)


def _expected(columns: int, blocks: int, options: MleOptions) -> BlockMeans:
    """Return the query with placeholder values, to know its size and sensitivity before the margins are measured."""
    lookups = (np.zeros(1, dtype=np.int32),) * columns
    scores = Scores(columns=tuple(str(j) for j in range(columns)), lookups=lookups)
    return _FEATURES[options.estimate](scores=scores, blocks=blocks, seed=0)


MLE = Method(
    name="dpcopula-mle",
    summary="noisy margins joined by a Gaussian copula from correlations averaged over blocks of rows",
    neighbours="replace",
    why_no_votes="correlations are worked out in blocks of whole rows",
    options=MleOptions,
    ask=ask,
    estimate=estimate,
    plan=plan,
    outline=outline,
    resolve=resolve_published,
    require_rows=require_rows,
    caveats=("The dependence of each pair of columns is one number: only monotone dependence is kept.",),
)
