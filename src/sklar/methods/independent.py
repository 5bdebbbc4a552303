"""Independent margins: noisy histograms of single columns and no dependence. The floor any other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedTables
from sklar.accounting.unit import Unit
from sklar.methods.margins import MarginOptions, Repair, measure_margins, outline_margins, plan_margins
from sklar.methods.method import Method, Outline, require_listed
from sklar.model.independent import IndependentModel
from sklar.release.door import Door
from sklar.schema.table import Schema

NoiseName = Literal["gaussian", "laplace", "geometric"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentOptions:
    """What may be changed about the method.

    Attributes:
        noise: "gaussian", or "laplace" or "geometric", which on integer counts are the same thing, the discrete
            Laplace distribution. By default Gaussian, and Laplace when delta is 0.
        repair: How noisy counts become probabilities: "density" (smooth densities from two histograms), "simplex" (the
            nearest probabilities) or "clip" (negative counts become 0, the rest is scaled).
    """

    noise: NoiseName | None = None
    repair: Repair = "density"

    def __post_init__(self) -> None:
        if self.noise is not None:
            require_listed("noise", self.noise, get_args(NoiseName))
        require_listed("repair", self.repair, get_args(Repair))


def plan(schema: Schema, options: IndependentOptions) -> tuple[PlannedTables, ...]:
    """Tables and weights; none for Laplace noise by name, whose scales are not those of a plan."""
    return plan_margins(schema, _margin_options(options)) if options.noise in (None, "gaussian") else ()


def fit(door: Door, options: IndependentOptions, rng: np.random.Generator) -> IndependentModel:
    """Measure and fit all margins through a Door; no randomness of its own is needed."""
    measured = measure_margins(door, door.allowance, options=_margin_options(options))
    return IndependentModel(margins=measured.margins, rows_estimate=max(round(measured.rows), 1))


def outline(
    schema: Schema, options: IndependentOptions, allowance: Allowance, unit: Unit, rows: int
) -> tuple[Outline, ...]:
    """What will be measured, whatever the number of rows."""
    return outline_margins(schema, allowance, unit, _margin_options(options))


def _margin_options(options: IndependentOptions) -> MarginOptions:
    kind = "laplace" if options.noise == "geometric" else options.noise
    return MarginOptions(repair=options.repair, noise=kind)


INDEPENDENT = Method(
    name="independent",
    summary="noisy margins without any dependence",
    options=IndependentOptions,
    fit=fit,
    plan=plan,
    outline=outline,
    caveats=("Columns are drawn independently of each other.",),
)
