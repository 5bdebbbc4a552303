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
from sklar.accounting.calibrate import PlannedLine, fine_noise
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.methods.dpcopula.margins import MarginName, laplace_within, measure_named, outline_named, plan_named
from sklar.methods.method import Method, Outline
from sklar.model.correlation.bivariate import corr_from_tau, rank_groups, tie_share
from sklar.model.correlation.nearest import clipped_correlation, nearest_correlation
from sklar.model.gaussian import GaussianModel, ReorderedModel, reordered_margin
from sklar.model.margins.margin import Margin
from sklar.release.copula_features import TauVector
from sklar.release.door import Door
from sklar.schema.table import Schema

NoiseName = Literal["gaussian", "laplace"]
Repair = Literal["higham", "eigenvalue"]
Order = Literal["schema", "random"]
Ties = Literal["adjusted", "ignored"]
RANKS = 512
"""Columns are ranked in at most this many groups of about equal noisy mass."""
TAUS = "Kendall's tau of all pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class KendallOptions:
    """What may be changed about the method.

    Attributes:
        margins: How margins are measured: "density", "efpa" (the paper's), "privelet", or plain histograms with
            "laplace", "geometric" (the same on integers) or "gaussian" noise.
        noise: Noise on the taus: "gaussian", or "laplace" as in the paper. By default Gaussian, Laplace if delta is 0.
        k: Ratio of what margins and taus may spend.
        repair: How the noisy correlations become a correlation matrix: "higham" (the nearest) or "eigenvalue" (the
            paper's: negative eigenvalues are lifted).
        order: Order of the values of nominal columns: the schema's, or "random", which shows that it matters.
        ties: "adjusted": taus are set against the share of ties that the noisy margins imply, which is exact for
            continuous columns and for medians; "ignored" as in the paper.
    """

    margins: MarginName = "density"
    noise: NoiseName | None = None
    k: float = 8.0
    repair: Repair = "higham"
    order: Order = "schema"
    ties: Ties = "adjusted"

    def __post_init__(self) -> None:
        listed = {"margins": MarginName, "repair": Repair, "order": Order, "ties": Ties}
        for name, allowed in listed.items():
            require_listed(name, getattr(self, name), get_args(allowed))
        if self.noise is not None:
            require_listed("noise", self.noise, get_args(NoiseName))
        if isinstance(self.k, bool) or not isinstance(self.k, float | int) or not 1e-6 <= self.k <= 1e6:
            raise UsageError(f"k must be a number between 1e-6 and 1e6; {self.k!r} was given")


def require_listed(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a choice that is not on the list."""
    if value not in allowed:
        raise UsageError(f"{name} must be one of {', '.join(allowed)}; {value!r} was given")


def plan(schema: Schema, options: KendallOptions) -> tuple[PlannedLine, ...]:
    """Margins and one vector of taus; empty if their noise is not set in advance."""
    return () if options.noise == "laplace" else plan_named(schema, options.margins, options.k, TAUS)


def fit(door: Door, options: KendallOptions, rng: np.random.Generator) -> GaussianModel | ReorderedModel:
    """Measure margins, then taus on ranks that the noisy margins suggest, and join them."""
    measured = measure_named(door, door.allowance.part(options.k / (options.k + 1)), options.margins)
    codes = tuple(_codes(door.schema, margin, options.order, rng) for margin in measured.margins)
    placed = tuple(reordered_margin(margin, code) for margin, code in zip(measured.margins, codes, strict=True))
    corr = _measured_corr(door, placed, codes, options)
    model = GaussianModel(margins=placed, corr=corr, rows_estimate=max(round(measured.rows), 1))
    if options.order == "schema":
        return model
    return ReorderedModel(margins=measured.margins, inner=model, codes=codes)


def _measured_corr(door: Door, placed: tuple[Margin, ...], codes: tuple[Ints, ...], options: KendallOptions) -> Floats:
    """The correlation matrix from taus measured at the Door; independence where there is nothing to compare."""
    if len(placed) < 2 or door.rows is None or door.rows < 2:
        return np.eye(len(placed))
    groups = tuple(rank_groups(margin, RANKS).astype(np.int32) for margin in placed)
    lookups = tuple(group[np.argsort(code)] for group, code in zip(groups, codes, strict=True))
    feature = TauVector(columns=tuple(door.schema.modelled), lookups=lookups, rows=int(door.rows))
    noise = tau_noise(feature, door.allowance.part(1 / (options.k + 1)), door.unit, options.noise)
    noisy = door.sum(feature, noise, TAUS)
    return correlations(noisy.values, placed, groups, options)


def tau_noise(feature: TauVector, allowance: Allowance, unit: Unit, kind: NoiseName | None) -> Noise:
    """The noise on every tau."""
    l1, l2 = feature.norms(unit)
    if kind == "laplace":
        return laplace_within(allowance, l1=l1, l2=l2)
    if kind == "gaussian" and allowance.measure == "epsilon":
        raise UsageError("Gaussian noise needs delta above 0; with delta = 0 use Laplace noise.")
    return fine_noise(allowance.sum_noise(l1=l1, l2=l2), feature.resolution)


def correlations(
    taus: Floats,
    margins: tuple[Margin, ...],
    lookups: tuple[NDArray[np.int32], ...],
    options: KendallOptions,
) -> Floats:
    """The correlation matrix behind noisy taus."""
    matrix = np.eye(len(margins))
    upper = np.triu_indices(len(margins), 1)
    ties = np.zeros(len(margins))
    if options.ties == "adjusted":
        ties = np.array([tie_share(margin, lookup) for margin, lookup in zip(margins, lookups, strict=True)])
    matrix[upper] = corr_from_tau(taus, ties[upper[0]], ties[upper[1]])
    matrix = matrix + np.triu(matrix, 1).T
    return nearest_correlation(matrix) if options.repair == "higham" else clipped_correlation(matrix)


def outline(
    schema: Schema, options: KendallOptions, allowance: Allowance, unit: Unit, rows: int
) -> tuple[Outline, ...]:
    """What will be measured; the noise on the taus is told in rows moved: tau times the number of rows."""
    lines = outline_named(schema, allowance.part(options.k / (options.k + 1)), unit, options.margins)
    m = len(schema.modelled)
    if m < 2 or rows < 2:
        return lines
    feature = TauVector(columns=tuple(schema.modelled), lookups=(np.arange(2, dtype=np.int32),) * m, rows=rows)
    noise = tau_noise(feature, allowance.part(1 / (options.k + 1)), unit, options.noise)
    told = Noise(kind=noise.kind, scale=noise.scale * rows)
    return (*lines, Outline(label=f"{TAUS}, times rows", tables=1, cells=feature.size, noise=told))


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
