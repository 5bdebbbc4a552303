"""The two stages of Kendall and MLE: margins with k parts of the allowance, one vector of correlations with one part.

Plans, outlines and fits all read the split from here. Hybrid shares the repair of its correlation matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, Protocol, TypeVar, get_args

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import PlannedLine, PlannedTables, PlannedVector, fine_noise
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.methods.dpcopula.margins import MarginName, NamedStage, margin_options, named_steps, outline_named
from sklar.methods.margin_plan import plan_margins
from sklar.methods.method import Outline, require_listed, require_number
from sklar.model.correlation.nearest import clipped_correlation, nearest_correlation
from sklar.release.blocks import BlockMeans
from sklar.release.taus import TauVector
from sklar.schema.table import Schema

NoiseName = Literal["gaussian", "laplace"]
Repair = Literal["higham", "eigenvalue"]


class _Switched(Protocol):
    @property
    def published(self) -> bool: ...


Published = TypeVar("Published", bound=_Switched)
"""A record of options with the switch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedOptions:
    """What may be changed about both methods.

    Attributes:
        margins: How margins are measured: "density", "efpa" (the paper's), "privelet", or plain histograms with
            "laplace", "geometric" (the same on integers) or "gaussian" noise; "noisefirst" and "structurefirst" even
            out runs of neighbouring bins after and before noise.
        noise: Noise on the correlations: "gaussian", or "laplace" as in the paper. By default Gaussian, Laplace if
            delta is 0.
        k: Ratio of what margins and correlations may spend.
        repair: How the noisy correlations become a correlation matrix: "higham" (the nearest) or "eigenvalue" (the
            paper's: negative eigenvalues are lifted).
        published: The paper's own form where it has a proof, at delta 0: EFPA margins, Laplace noise of its size on
            each correlation, its repair.
    """

    margins: MarginName = "density"
    noise: NoiseName | None = None
    k: float = 8.0
    repair: Repair = "higham"
    published: bool = False

    def __post_init__(self) -> None:
        if self.published:
            take_published(self, margins="efpa", noise="laplace", repair="eigenvalue")
        require_listed("margins", self.margins, get_args(MarginName))
        require_listed("repair", self.repair, get_args(Repair))
        if self.noise is not None:
            require_listed("noise", self.noise, get_args(NoiseName))
        require_number("k", self.k, 1e-6, 1e6)

    def margin_stage(self, allowance: Allowance) -> Allowance:
        """Return the allowance of the margins."""
        return allowance.part(self.k / (self.k + 1))

    def vector_stage(self, allowance: Allowance) -> Allowance:
        """Return the allowance of the vector of correlations."""
        return allowance.part(1 / (self.k + 1))


MARGINS = named_steps(
    lambda evidence: NamedStage(
        setting=evidence.setting,
        allowance=evidence.setting.options.margin_stage(evidence.setting.allowance),
        name=evidence.setting.options.margins,
    )
)
"""The margins of Kendall and MLE, by the name in their options."""


def take_published(options: object, **own: object) -> None:
    """Set a record of options to the paper's own, and refuse any that was given otherwise."""
    require_listed("published", options.published, (True, False))  # type: ignore[attr-defined]
    defaults = {field.name: field.default for field in fields(options)}  # type: ignore[arg-type]
    for name, value in own.items():
        given = getattr(options, name)
        if given not in (defaults[name], value):
            raise UsageError(
                f"published=True is the paper's own form, with {name}={value!r}; {given!r} was given: leave one out"
            )
        object.__setattr__(options, name, value)


def resolve_published(options: Published, budget: Budget) -> Published:
    """Return the options with the paper's noise: Laplace noise for a pure epsilon."""
    if options.published and not budget.pure:
        raise UsageError("published=True is for a pure epsilon, as in the paper: it needs delta = 0")
    return options


def plan_stages(schema: Schema, options: StagedOptions, vector: str) -> tuple[PlannedLine, ...]:
    """Return margins and one vector of sums; empty if noise is not set in advance.

    EFPA's noise depends on how many frequencies were chosen, Privelet's vectors are coarse, and Laplace noise under a
    rho is not the plan's.
    """
    if options.margins not in ("density", "gaussian") or options.noise == "laplace":
        return ()
    k, margins = options.k, plan_margins(schema, margin_options(options.margins))
    whole = math.fsum(line.weight for line in margins)
    scaled = [
        PlannedTables(label=line.label, tables=line.tables, weight=k * line.weight / whole / (k + 1))
        for line in margins
    ]
    return (*scaled, PlannedVector(label=vector, weight=1 / (k + 1)))


def vector_noise(feature: TauVector | BlockMeans, stage: Allowance, unit: Unit, kind: NoiseName | None) -> Noise:
    """Return the noise on every entry of the vector."""
    l1, l2 = feature.sensitivity(unit)
    if kind == "laplace":
        return _laplace_within(stage, l1=l1, l2=l2)
    if kind == "gaussian" and stage.measure == "epsilon":
        raise UsageError("Gaussian noise needs delta above 0; with delta = 0 use Laplace noise.")
    return fine_noise(stage.sum_noise(l1=l1, l2=l2), feature.resolution)


def _laplace_within(allowance: Allowance, *, l1: float, l2: float) -> Noise:
    """Return discrete Laplace noise of scale b for one vector.

    Pure: epsilon = l1 / b. Under a rho: (l1 / b) tanh(l2 / (2 b)) <= l1 l2 / (2 b^2).
    """
    if allowance.measure == "epsilon":
        return allowance.sum_noise(l1=l1, l2=l2)
    return Noise(kind="laplace", scale=math.sqrt(l1 * min(l1, l2) / (2 * allowance.spendable.amount)))


OutlinedVector = tuple[str, Noise, float, int]
"""Label, noise and resolution of a vector, and the number of rows."""


def outline_stages(
    schema: Schema, options: StagedOptions, allowance: Allowance, unit: Unit, vector: OutlinedVector | None
) -> tuple[Outline, ...]:
    """Return what will be measured; the noise of the vector is stated in rows moved: times rows."""
    lines = outline_named(schema, options.margin_stage(allowance), unit, options.margins)
    if vector is None:
        return lines
    (label, noise, resolution, rows), m = vector, len(schema.modelled)
    in_rows, cells = Noise(kind=noise.kind, scale=noise.scale * rows), m * (m - 1) // 2
    return (
        *lines,
        Outline(label=f"{label}, times rows", tables=1, cells=cells, noise=in_rows, resolution=resolution * rows),
    )


def correlation_matrix(values: Floats, columns: int, repair: Repair) -> Floats:
    """Return the correlation matrix with these entries above its diagonal, repaired where noise left none."""
    matrix = np.eye(columns)
    matrix[np.triu_indices(columns, 1)] = np.clip(values, -1, 1)
    matrix = matrix + np.triu(matrix, 1).T
    return nearest_correlation(matrix) if repair == "higham" else clipped_correlation(matrix)
