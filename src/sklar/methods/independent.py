"""Independent margins: noisy histograms of single columns and no dependence. The floor any other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedTables
from sklar.accounting.unit import Unit
from sklar.errors import UsageError
from sklar.methods.dpcopula.margins import NamedStage, outline_named, transformed_steps
from sklar.methods.evidence import Evidence, Step
from sklar.methods.expectation import expect_margins
from sklar.methods.margin_plan import MarginOptions, Repair, outline_margins, plan_margins
from sklar.methods.margins import MarginStage, MarginSteps, known_total, margin_steps
from sklar.methods.method import Method, Outline, require_listed
from sklar.model.independent import IndependentModel
from sklar.schema.table import Schema

NoiseName = Literal["gaussian", "laplace", "geometric"]
Histogram = Literal["efpa", "privelet", "noisefirst", "structurefirst"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentOptions:
    """What may be changed about the method.

    Attributes:
        noise: "gaussian", or "laplace" or "geometric", which on integer counts are the same thing, the discrete
            Laplace distribution. By default Gaussian, and Laplace when delta is 0.
        repair: How noisy counts become probabilities: "density" (smooth densities from two histograms), "simplex" (the
            nearest probabilities) or "clip" (negative counts become 0, the rest is scaled).
        histogram: "efpa", "privelet", "noisefirst" or "structurefirst": each column by the histogram of this name,
            which has its own noise and repair, all with equal shares of the budget.
    """

    noise: NoiseName | None = None
    repair: Repair = "density"
    histogram: Histogram | None = None

    def __post_init__(self) -> None:
        if self.noise is not None:
            require_listed("noise", self.noise, get_args(NoiseName))
        require_listed("repair", self.repair, get_args(Repair))
        if self.histogram is not None:
            require_listed("histogram", self.histogram, get_args(Histogram))
            if self.noise is not None or self.repair != "density":
                raise UsageError(f"histogram='{self.histogram}' has its own noise and repair; leave those options out")


def plan(schema: Schema, options: IndependentOptions) -> tuple[PlannedTables, ...]:
    """Return tables and weights; none for Laplace noise or a histogram by name, whose scales are not those of a
    plan."""
    planned = options.noise in (None, "gaussian") and options.histogram is None
    return plan_margins(schema, _make_margin_options(options)) if planned else ()


PLAIN_MARGINS = margin_steps(
    lambda evidence: MarginStage(
        setting=evidence.setting,
        allowance=evidence.setting.allowance,
        total=known_total(evidence.setting),
        options=_make_margin_options(evidence.setting.options),
    )
)
NAMED_MARGINS = transformed_steps(
    lambda evidence: NamedStage(
        setting=evidence.setting, allowance=evidence.setting.allowance, name=evidence.setting.options.histogram
    )
)


def _choose_margin_steps(evidence: Evidence[IndependentOptions]) -> MarginSteps:
    return PLAIN_MARGINS if evidence.setting.options.histogram is None else NAMED_MARGINS


def ask(evidence: Evidence[IndependentOptions]) -> Step | None:
    """Ask for margins."""
    return _choose_margin_steps(evidence).ask(evidence)


def estimate(evidence: Evidence[IndependentOptions]) -> IndependentModel:
    """Estimate all margins."""
    measured = _choose_margin_steps(evidence).estimate(evidence)
    return IndependentModel(margins=measured.margins, rows_estimate=max(round(measured.rows), 1))


def outline(
    schema: Schema, options: IndependentOptions, allowance: Allowance, unit: Unit, rows: int
) -> tuple[Outline, ...]:
    """Return what will be measured, for any number of rows."""
    if options.histogram is not None:
        return outline_named(schema, allowance, unit, options.histogram)
    return outline_margins(schema, allowance, unit, _make_margin_options(options))


def _make_margin_options(options: IndependentOptions) -> MarginOptions:
    kind = "laplace" if options.noise == "geometric" else options.noise
    return MarginOptions(repair=options.repair, noise=kind)


INDEPENDENT = Method(
    name="independent",
    summary="noisy margins without any dependence",
    options=IndependentOptions,
    ask=ask,
    estimate=estimate,
    plan=plan,
    outline=outline,
    expect=lambda schema, options, allowance, unit, rows: expect_margins(schema, allowance, unit, rows),
    caveats=("Columns are drawn independently of each other.",),
)
