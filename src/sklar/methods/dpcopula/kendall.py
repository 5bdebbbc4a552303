"""DPCopula-Kendall: noisy margins, noisy Kendall taus of all pairs, and the Gaussian copula that they make.

Reference: Li, Xiong, Jiang (2014), "Differentially private synthesization of multi-dimensional data using copula
functions". Ours differs where the paper errs: tau-a, so that ties cannot inflate the sensitivity; replace-one
neighbours, under which the number of rows is public; the whole vector of taus as one release with its own sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedLine
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
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
from sklar.model.correlation.bivariate import corr_from_tau, rank_groups, tie_share
from sklar.model.gaussian import GaussianModel, ReorderedModel, reordered_margin
from sklar.model.margins.margin import Margin
from sklar.release.measurements import Request
from sklar.release.taus import SampledTaus, TauVector
from sklar.schema.table import Schema

Order = Literal["schema", "random"]
Ties = Literal["adjusted", "ignored"]
MAX_RANKS = 512
"""Columns are ranked in at most this many groups of about equal noisy mass."""
MAX_PUBLISHED_RANKS = 1024
"""As published every value has a rank of its own, up to this many: the paper's columns have at most 1,020 values, and
two-way tables of ranks grow with the square."""
TAUS = "Kendall's tau of all pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class KendallOptions(StagedOptions):
    """Options of the method, in addition to those of its stages.

    Attributes:
        order: Order of the values of nominal columns: the schema's, or "random", which shows that it matters.
        ties: "adjusted": taus are set against the share of ties that the noisy margins imply, which is exact for
            continuous columns and for medians; "ignored" as in the paper.
        sample: Compare a sample of this size only, or with True of the size that the paper finds adequate,
            50 m (m - 1) / epsilon2 - 1. Noise is that of a table of this size; sampling is given no credit.
    """

    order: Order = "schema"
    ties: Ties = "adjusted"
    sample: int | bool = False

    def __post_init__(self) -> None:
        StagedOptions.__post_init__(self)
        if self.published:
            take_published(self, ties="ignored")
        if type(self.sample) is not bool:
            require_whole("sample", self.sample, 2, 2**31 - 1)
        require_listed("order", self.order, get_args(Order))
        require_listed("ties", self.ties, get_args(Ties))


def plan(schema: Schema, options: KendallOptions) -> tuple[PlannedLine, ...]:
    """Return margins and one vector of taus; empty if their noise is not set in advance."""
    return plan_stages(schema, options, TAUS)


def ask(evidence: Evidence[KendallOptions]) -> Step | None:
    """Ask for margins, then for taus on ranks that the noisy margins suggest."""
    return ask_in_order(evidence, MARGINS.ask, _ask_taus)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ranked:
    """Columns as they are ranked: their codes in that order, their margins by it, and the rank of each code."""

    codes: tuple[Ints, ...]
    margins: tuple[Margin, ...]
    ranks: tuple[NDArray[np.int32], ...]
    sample_seed: int


@remembered
def _rank_margins(evidence: Evidence[KendallOptions]) -> _Ranked:
    setting, measured = evidence.setting, MARGINS.estimate(evidence).margins
    rng = setting.generator()
    codes = tuple(_codes(setting.schema, margin, setting.options.order, rng) for margin in measured)
    placed = tuple(reordered_margin(margin, code) for margin, code in zip(measured, codes, strict=True))
    most = MAX_PUBLISHED_RANKS if setting.options.published else MAX_RANKS
    ranks = tuple(rank_groups(margin, most).astype(np.int32) for margin in placed)
    return _Ranked(codes=codes, margins=placed, ranks=ranks, sample_seed=int(rng.integers(0, 2**62)))


@remembered
def _ask_taus(evidence: Evidence[KendallOptions]) -> Measure | None:
    """Return the step that measures taus; None where there is nothing to compare."""
    setting = evidence.setting
    rows, options, columns = setting.rows, setting.options, tuple(setting.schema.modelled)
    if len(columns) < 2 or rows is None or rows < 2:
        return None
    ranked, stage = _rank_margins(evidence), options.vector_stage(setting.allowance)
    lookups = tuple(ranks[np.argsort(code)] for ranks, code in zip(ranked.ranks, ranked.codes, strict=True))
    compared = compared_rows(options, len(columns), int(rows), stage)
    if compared < rows:
        query = SampledTaus(columns=columns, lookups=lookups, rows=compared, seed=ranked.sample_seed)
    else:
        query = TauVector(columns=columns, lookups=lookups, rows=compared)
    return Measure(label=TAUS, requests=(Request(query=query, noise=tau_noise(query, stage, setting.unit, options)),))


def estimate(evidence: Evidence[KendallOptions]) -> GaussianModel | ReorderedModel:
    """Join the margins by the Gaussian copula of the taus; columns are independent where none were measured."""
    measured, ranked, options = MARGINS.estimate(evidence), _rank_margins(evidence), evidence.setting.options
    taus = evidence.measured(TAUS)
    corr = (
        estimate_correlations(taus[0].values, ranked.margins, ranked.ranks, options)
        if taus
        else np.eye(len(ranked.margins))
    )
    model = GaussianModel(margins=ranked.margins, corr=corr, rows_estimate=max(round(measured.rows), 1))
    if options.order == "schema":
        return model
    return ReorderedModel(margins=measured.margins, inner=model, codes=ranked.codes)


def compared_rows(options: KendallOptions, columns: int, rows: int, stage: Allowance) -> int:
    """Return the number of rows that are compared: all, or the stated or the paper's size of a sample."""
    if options.sample is False:
        return rows
    if options.sample is not True:
        return min(options.sample, rows)
    if stage.measure != "epsilon":
        raise UsageError("the paper's size of a sample is for a pure epsilon: set delta = 0, or give a number of rows")
    return min(rows, max(2, math.ceil(50 * columns * (columns - 1) / stage.amount - 1)))


def tau_noise(feature: TauVector, stage: Allowance, unit: Unit, options: KendallOptions) -> Noise:
    """Return the noise on every tau; as published, Lap(C(m, 2) Delta / epsilon2) with Delta = 4 / (n + 1) (Algorithm
    5).

    That Delta is the paper's, for a row added to n (Lemma 4.1). Where rows are replaced a tau moves by 4 / n, more than
    Delta; but all C(m, 2) move by 4 floor(m^2 / 4) / n together, which from three columns on is at most 2/3 of
    C(m, 2) 4 / n and so within C(m, 2) Delta. With two columns the noise is that of 4 / n.
    """
    noise = vector_noise(feature, stage, unit, options.noise)
    if not options.published:
        return noise
    moved = 4 * unit.rows_per_person / (feature.rows + 1)
    return Noise(kind="laplace", scale=max(noise.scale, feature.size * moved / stage.amount))


def estimate_correlations(
    taus: Floats, margins: tuple[Margin, ...], lookups: tuple[NDArray[np.int32], ...], options: KendallOptions
) -> Floats:
    """Return the correlation matrix behind noisy taus."""
    first, second = np.triu_indices(len(margins), 1)
    ties = np.zeros(len(margins))
    if options.ties == "adjusted":
        ties = np.array([tie_share(margin, lookup) for margin, lookup in zip(margins, lookups, strict=True)])
    return correlation_matrix(corr_from_tau(taus, ties[first], ties[second]), len(margins), options.repair)


def outline(
    schema: Schema, options: KendallOptions, allowance: Allowance, unit: Unit, rows: int
) -> tuple[Outline, ...]:
    """Return what will be measured."""
    m = len(schema.modelled)
    if m < 2 or rows < 2:
        return outline_stages(schema, options, allowance, unit, None)
    stage = options.vector_stage(allowance)
    compared = compared_rows(options, m, rows, stage)
    feature = TauVector(columns=tuple(schema.modelled), lookups=(np.arange(2, dtype=np.int32),) * m, rows=compared)
    noise = tau_noise(feature, stage, unit, options)
    return outline_stages(schema, options, allowance, unit, (TAUS, noise, feature.resolution, rows))


def _codes(schema: Schema, margin: Margin, order: Order, rng: np.random.Generator) -> Ints:
    """Return the base codes of a column in the order in which they are ranked."""
    shuffled = order == "random" and not schema[margin.column].ordered
    return rng.permutation(margin.size) if shuffled else np.arange(margin.size)


KENDALL = Method(
    name="dpcopula-kendall",
    summary="noisy margins joined by a Gaussian copula from noisy Kendall taus",
    neighbours="replace",
    why_no_votes="Kendall's tau compares pairs of whole rows",
    relations=("replace",),
    why_not="how far one row moves Kendall's tau depends on the number of rows, which add-remove keeps private",
    options=KendallOptions,
    ask=ask,
    estimate=estimate,
    plan=plan,
    outline=outline,
    resolve=resolve_published,
    caveats=("The dependence of each pair of columns is one number: only monotone dependence is kept.",),
)
