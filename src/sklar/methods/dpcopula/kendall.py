"""DPCopula-Kendall: noisy margins, noisy Kendall taus of all pairs, and the Gaussian copula that they make.

Reference: Li, Xiong, Jiang (2014), "Differentially private synthesization of multi-dimensional data using copula
functions". Ours differs where the paper errs: tau-a, so that ties cannot inflate the sensitivity; replace-one
neighbours, under which the number of rows is public; the whole vector of taus as one release with its own sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedLine
from sklar.accounting.unit import Unit
from sklar.arrays import Floats, Ints
from sklar.methods.dpcopula.margins import measure_named
from sklar.methods.dpcopula.stages import StagedOptions, correlation_matrix, outline_stages, plan_stages, vector_noise
from sklar.methods.method import Method, Outline, require_listed
from sklar.model.correlation.bivariate import corr_from_tau, rank_groups, tie_share
from sklar.model.gaussian import GaussianModel, ReorderedModel, reordered_margin
from sklar.model.margins.margin import Margin
from sklar.release.door import Door
from sklar.release.features import TauVector
from sklar.schema.table import Schema

Order = Literal["schema", "random"]
Ties = Literal["adjusted", "ignored"]
RANKS = 512
"""Columns are ranked in at most this many groups of about equal noisy mass."""
TAUS = "Kendall's tau of all pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class KendallOptions(StagedOptions):
    """What may be changed about the method, besides its stages.

    Attributes:
        order: Order of the values of nominal columns: the schema's, or "random", which shows that it matters.
        ties: "adjusted": taus are set against the share of ties that the noisy margins imply, which is exact for
            continuous columns and for medians; "ignored" as in the paper.
    """

    order: Order = "schema"
    ties: Ties = "adjusted"

    def __post_init__(self) -> None:
        StagedOptions.__post_init__(self)
        require_listed("order", self.order, get_args(Order))
        require_listed("ties", self.ties, get_args(Ties))


def plan(schema: Schema, options: KendallOptions) -> tuple[PlannedLine, ...]:
    """Margins and one vector of taus; empty if their noise is not set in advance."""
    return plan_stages(schema, options, TAUS)


def fit(door: Door, options: KendallOptions, rng: np.random.Generator) -> GaussianModel | ReorderedModel:
    """Measure margins, then taus on ranks that the noisy margins suggest, and join them."""
    measured = measure_named(door, options.margin_stage(door.allowance), options.margins)
    codes = tuple(_codes(door.schema, margin, options.order, rng) for margin in measured.margins)
    placed = tuple(reordered_margin(margin, code) for margin, code in zip(measured.margins, codes, strict=True))
    corr = _measure_corr(door, placed, codes, options)
    model = GaussianModel(margins=placed, corr=corr, rows_estimate=max(round(measured.rows), 1))
    if options.order == "schema":
        return model
    return ReorderedModel(margins=measured.margins, inner=model, codes=codes)


def _measure_corr(door: Door, placed: tuple[Margin, ...], codes: tuple[Ints, ...], options: KendallOptions) -> Floats:
    """The correlation matrix from taus measured at the Door; independence where there is nothing to compare."""
    if len(placed) < 2 or door.rows is None or door.rows < 2:
        return np.eye(len(placed))
    groups = tuple(rank_groups(margin, RANKS).astype(np.int32) for margin in placed)
    lookups = tuple(group[np.argsort(code)] for group, code in zip(groups, codes, strict=True))
    feature = TauVector(columns=tuple(door.schema.modelled), lookups=lookups, rows=int(door.rows))
    noise = vector_noise(feature, options.vector_stage(door.allowance), door.unit, options.noise)
    noisy = door.sum(feature, noise, TAUS)
    return correlations(noisy.values, placed, groups, options)


def correlations(
    taus: Floats, margins: tuple[Margin, ...], lookups: tuple[NDArray[np.int32], ...], options: KendallOptions
) -> Floats:
    """The correlation matrix behind noisy taus."""
    first, second = np.triu_indices(len(margins), 1)
    ties = np.zeros(len(margins))
    if options.ties == "adjusted":
        ties = np.array([tie_share(margin, lookup) for margin, lookup in zip(margins, lookups, strict=True)])
    return correlation_matrix(corr_from_tau(taus, ties[first], ties[second]), len(margins), options.repair)


def outline(
    schema: Schema, options: KendallOptions, allowance: Allowance, unit: Unit, rows: int
) -> tuple[Outline, ...]:
    """What will be measured."""
    m = len(schema.modelled)
    if m < 2 or rows < 2:
        return outline_stages(schema, options, allowance, unit, None)
    feature = TauVector(columns=tuple(schema.modelled), lookups=(np.arange(2, dtype=np.int32),) * m, rows=rows)
    noise = vector_noise(feature, options.vector_stage(allowance), unit, options.noise)
    return outline_stages(schema, options, allowance, unit, (TAUS, noise, rows))


def _codes(schema: Schema, margin: Margin, order: Order, rng: np.random.Generator) -> Ints:
    """The base codes of a column in the order in which they are ranked."""
    shuffled = order == "random" and not schema[margin.column].ordered
    return rng.permutation(margin.size) if shuffled else np.arange(margin.size)


KENDALL = Method(
    name="dpcopula-kendall",
    summary="noisy margins joined by a Gaussian copula from noisy Kendall taus",
    neighbours="replace",
    relations=("replace",),
    why_not="how far one row moves Kendall's tau depends on the number of rows, which add-remove keeps private",
    options=KendallOptions,
    fit=fit,
    plan=plan,
    outline=outline,
    caveats=("The dependence of each pair of columns is one number: only monotone dependence is kept.",),
)
