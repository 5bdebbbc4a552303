"""dpc: a Gaussian copula over the values of columns, from one noisy histogram a column and one noisy table a pair.

Reference: Asghar, Ding, Rakotoarivelo, Mrabet, Kaafar (2020), "Differentially private release of high-dimensional
datasets using the Gaussian copula". Noise is put once on each histogram and on each pair's whole table; all other
counts are derived from them. Pairs of values of one column never occur together, which is public: nothing is spent on
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import ROUNDING, Budget, validate_delta, validate_epsilon
from sklar.accounting.calibrate import PlannedTables, plan_noise
from sklar.accounting.composition.zcdp import rho_to_epsilon
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.methods.dpc.tables import Counted, Margins, fit_counted, merge_values, require_scores, values_below_noise
from sklar.methods.dpc.textbook import advanced_composition_share, classic_gaussian_sigma
from sklar.methods.dpcopula.margins import public_bins
from sklar.methods.evidence import Evidence, Measure, Step, ask_in_order, remembered
from sklar.methods.method import Method, Outline, require_listed, require_number, require_whole
from sklar.model.onehot.decoding import Decoding
from sklar.model.onehot.model import OneHotModel
from sklar.release.counts import Counts, PairCounts
from sklar.release.lookups import Lookup
from sklar.release.measurements import Request
from sklar.schema.columns import Column
from sklar.schema.table import Schema

Accounting = Literal["exact", "classic", "advanced", "basic"]
Projection = Literal["weighted", "plain"]
PUBLISHED: Mapping[str, Any] = {"margins": "raw", "shrink": 0.0, "rounds": 0, "projection": "plain"}
"""What the paper does where ours does better; `published=True` sets all of it, and the paper's accounting."""
HISTOGRAMS = "histograms"
PAIRS = "tables of pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class DpcOptions:
    """What may be changed about the method.

    Attributes:
        bins: Ordered columns with more value cells are cut into this many equal runs of them. Every nominal value has a
            code of its own.
        most_values: Only in a nominal column that lists more values than this, those whose released count noise may
            have made, and all but this number, share one code in the tables of pairs; the released histogram
            distinguishes apart. On Adult's 42 countries such a rest would cost accuracy, so it is there for work and
            memory alone.
        accounting: "exact": the least noise that the budget allows. "classic" (Gaussian), "advanced" (Laplace) and
            "basic" (Laplace) are the paper's formulas, with more noise than needed; they are evaluated at `budget`.
            What is claimed is the same.
        budget: (epsilon, delta) for the paper's formulas; by default that of the fit.
        margins: "pooled": probabilities of values are averaged over all tables that contain them, and those of pairs
            made to agree; "raw": each from its own noisy table alone, as in the paper.
        shrink: How strongly dependence that noise may have made is drawn to independence; 0 as in the paper.
        rounds: Rounds of moving correlations until decoded rows have the wanted pairs; 0 for none.
        projection: "weighted": the correlation matrix that is nearest in probabilities of pairs; "plain": nearest in
            its entries, as in the paper.
        published: Everything as in the paper, in one switch: margins="raw", shrink=0, rounds=0, projection="plain",
            every nominal value with a code of its own, and its accounting ("classic" for dpc-gauss; "advanced" for
            dpc-laplace, "basic" at delta 0). The paper's table is the binary one: `model.sample(binary=True)`.
    """

    bins: int = 32
    most_values: int = 1_024
    accounting: Accounting = "exact"
    budget: tuple[float, float] | None = None
    margins: Margins = "pooled"
    shrink: float = 1.0
    rounds: int = 3
    projection: Projection = "weighted"
    published: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.published, bool):
            raise UsageError(f"published must be true or false; {self.published!r} was given")
        require_listed("accounting", self.accounting, get_args(Accounting))
        require_listed("margins", self.margins, get_args(Margins))
        require_listed("projection", self.projection, get_args(Projection))
        require_whole("bins", self.bins, 2, 4096)
        require_whole("most_values", self.most_values, 1, 10_000)
        require_whole("rounds", self.rounds, 0, 100)
        require_number("shrink", self.shrink, 0, 10)
        if self.budget is not None:
            object.__setattr__(self, "budget", _checked_budget(self.budget))


def resolve_gauss(options: DpcOptions, budget: Budget) -> DpcOptions:
    """Return options with the budget to evaluate the paper's formula at; refused where it has no proof."""
    options = as_published(options, "classic") if options.published else options
    if options.accounting not in ("exact", "classic"):
        raise UsageError(f'dpc-gauss accounts "exact" or "classic"; {options.accounting!r} was given')
    resolved = _resolve_budget(options, budget)
    if options.accounting == "classic":
        classic_gaussian_sigma(*_require_formula_budget(resolved))
    return resolved


def resolve_laplace(options: DpcOptions, budget: Budget) -> DpcOptions:
    """Return options with the budget to evaluate the paper's formula at; refused where it does not apply."""
    options = as_published(options, "basic" if budget.pure else "advanced") if options.published else options
    if options.accounting == "classic":
        raise UsageError('dpc-laplace accounts "exact", "advanced" or "basic"; \'classic\' was given')
    if options.accounting == "basic" and not budget.pure:
        raise UsageError('accounting="basic" adds up pure epsilons: it needs delta = 0')
    resolved = _resolve_budget(options, budget)
    if options.accounting == "advanced":
        epsilon, delta = _require_formula_budget(resolved)
        advanced_composition_share(epsilon, 1, delta)
    return resolved


def as_published(options: DpcOptions, accounting: Accounting) -> DpcOptions:
    """Return the options that `published=True` stands for; others beside it are refused."""
    wanted = {**PUBLISHED, "accounting": accounting}
    usual = DpcOptions()
    for name, value in wanted.items():
        given = getattr(options, name)
        if given not in (value, getattr(usual, name)):
            raise UsageError(f"published=True means {name}={value!r}; {given!r} was given: leave out one of the two")
    return replace(options, **wanted)


def _resolve_budget(options: DpcOptions, budget: Budget) -> DpcOptions:
    if options.accounting == "exact" or options.budget is not None:
        return options
    epsilon = budget.epsilon
    if epsilon is None:
        assert budget.rho is not None
        epsilon = rho_to_epsilon(budget.rho, budget.delta)
    return replace(options, budget=(epsilon, budget.delta))


def _require_formula_budget(options: DpcOptions) -> tuple[float, float]:
    if options.budget is None:
        raise UsageError(f'accounting="{options.accounting}" needs budget=(epsilon, delta) to evaluate its formula at')
    return options.budget


def _checked_budget(budget: Any) -> tuple[float, float]:
    """Return a pair of numbers, which a file of options may give as a list."""
    if not isinstance(budget, tuple | list) or len(cast("Sequence[Any]", budget)) != 2:
        raise UsageError(f"budget must be (epsilon, delta); {budget!r} was given")
    epsilon, delta = cast("Sequence[Any]", budget)
    return validate_epsilon(epsilon), validate_delta(delta)


def plan_tables(schema: Schema) -> tuple[PlannedTables, ...]:
    """Plan one histogram a column and one table a pair, as one line of the plan since all have the same noise."""
    m = len(schema.modelled)
    return (PlannedTables(label="histograms and tables of pairs", tables=m + m * (m - 1) // 2, weight=1.0),)


def plan_gauss(schema: Schema, options: DpcOptions) -> tuple[PlannedTables, ...]:
    """Return the plan, if its noise is what the allowance buys."""
    return plan_tables(schema) if options.accounting == "exact" else ()


def gaussian_noise(schema: Schema, options: DpcOptions, allowance: Allowance, unit: Unit) -> Noise:
    """Return noise of dpc-gauss: exact, or one classic Gaussian mechanism of L2 sensitivity sqrt(tables) per
    table's."""
    plan = plan_tables(schema)
    if options.accounting == "exact":
        return plan_noise(allowance, unit, plan)[0]
    if options.accounting != "classic":
        raise UsageError(f'dpc-gauss accounts "exact" or "classic"; {options.accounting!r} was given')
    tables = plan[0].tables
    return Noise(
        kind="gaussian", scale=classic_gaussian_sigma(*_require_formula_budget(options), unit.l2 * math.sqrt(tables))
    )


def laplace_noise(schema: Schema, options: DpcOptions, allowance: Allowance, unit: Unit) -> Noise:
    """Return noise of dpc-laplace: what the allowance buys, or the paper's advanced or basic composition."""
    tables = plan_tables(schema)[0].tables
    if options.accounting == "classic":
        raise UsageError('dpc-laplace accounts "exact", "advanced" or "basic"; \'classic\' was given')
    if options.accounting == "exact" and allowance.measure == "epsilon":
        return allowance.noise(unit, tables)
    if options.accounting == "exact":
        # rho of a table: (l1 / b) tanh(m / 2b) <= l1 m / (2 b^2), m the largest move of a cell.
        return Noise(
            kind="laplace", scale=math.sqrt(unit.l1 * unit.largest * tables / (2 * allowance.spendable.amount))
        )
    epsilon, delta = _require_formula_budget(options)
    share = epsilon / tables
    if options.accounting == "advanced":
        share = advanced_composition_share(epsilon, tables, delta)
    return Noise(kind="laplace", scale=unit.l1 / share * (1 + ROUNDING))


NoiseOf = Callable[[Schema, DpcOptions, Allowance, Unit], Noise]
"""The noise on every table, by schema, options, allowance and unit."""


def ask_with(evidence: Evidence[DpcOptions], noise_of: NoiseOf) -> Step | None:
    """Ask for all histograms and all pairs with the same noise."""
    setting = evidence.setting
    noise = noise_of(setting.schema, setting.options, setting.allowance, setting.unit)

    def histograms(evidence: Evidence[DpcOptions]) -> Measure:
        queries = [
            Counts(columns=(n,), partitions=(b,))
            for n, b in zip(_list_columns(evidence), _lay_out_public_bins(evidence), strict=True)
        ]
        return Measure(label=HISTOGRAMS, requests=tuple(Request(query=query, noise=noise) for query in queries))

    def pairs(evidence: Evidence[DpcOptions]) -> Measure | None:
        if len(_list_columns(evidence)) < 2:
            return None
        # Sensitivity: one row is in one cell of each table for any partitions, and these are made of measurements.
        bins = _merge_histograms(evidence).bins if _has_rests(evidence) else _lay_out_public_bins(evidence)
        query = PairCounts(columns=_list_columns(evidence), partitions=tuple(bins))
        return Measure(label=PAIRS, requests=(Request(query=query, noise=noise),))

    # Pairs come first where they can: bits that are counted in pairs need not be read again for the histograms.
    return ask_in_order(evidence, *((histograms, pairs) if _has_rests(evidence) else (pairs, histograms)))


def _list_columns(evidence: Evidence[DpcOptions]) -> tuple[str, ...]:
    return tuple(evidence.setting.schema.modelled)


@remembered
def _lay_out_public_bins(evidence: Evidence[DpcOptions]) -> tuple[Lookup, ...]:
    setting = evidence.setting
    return tuple(public_bins(setting.schema[name], setting.options.bins) for name in _list_columns(evidence))


@remembered
def _has_rests(evidence: Evidence[DpcOptions]) -> bool:
    """Return whether rare values of some column share one code in the tables of pairs."""
    return any(has_rest(evidence.setting.schema[name], evidence.setting.options) for name in _list_columns(evidence))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Merged:
    """Bins of every column after rare values were merged, its histogram on them, and what was merged."""

    bins: list[Lookup]
    histograms: list[Floats]
    rest: list[Floats]


@remembered
def _merge_histograms(evidence: Evidence[DpcOptions]) -> _Merged:
    setting, public, measured = evidence.setting, _lay_out_public_bins(evidence), evidence.measured(HISTOGRAMS)
    histograms, bins = [noisy.values.astype(np.float64) for noisy in measured], list(public)
    rest = [np.zeros(0)] * len(bins) if _has_rests(evidence) else []
    for j, name in enumerate(_list_columns(evidence)):
        column = setting.schema[name]
        if not has_rest(column, setting.options):
            continue
        below_noise = values_below_noise(
            histograms[j][: column.value_cells], measured[j].noise.std, setting.options.most_values
        )
        bins[j] = merge_values(public[j], below_noise)
        if bins[j].max() < public[j].max():
            rest[j] = histograms[j][bins[j] == bins[j].max()]
            histograms[j] = np.bincount(bins[j], histograms[j]).astype(np.float64)
    return _Merged(bins=bins, histograms=histograms, rest=rest)


def estimate(evidence: Evidence[DpcOptions]) -> OneHotModel:
    """Fit the copula of values."""
    setting, merged, pairs = evidence.setting, _merge_histograms(evidence), evidence.measured(PAIRS)
    options = setting.options
    counted = Counted(
        schema=setting.schema, bins=tuple(merged.bins), histograms=tuple(merged.histograms),
        counts=pairs[0].values if pairs else np.zeros(0, np.int64), std=evidence.measured(HISTOGRAMS)[0].noise.std,
        rows=None if setting.rows is None else float(max(setting.rows, 1)), rest=tuple(merged.rest),
    )  # fmt: skip
    decoding = Decoding(rounds=options.rounds, weighted=options.projection == "weighted")
    return fit_counted(counted, options.margins, options.shrink, decoding, setting.generator())


def has_rest(column: Column, options: DpcOptions) -> bool:
    """Return whether rare values of a column may share one code."""
    return not (column.ordered or options.published) and column.value_cells > options.most_values


def check(schema: Schema, options: DpcOptions) -> None:
    """Refuse more values than correlations can be found for."""
    require_scores([_most_groups(schema[name], options) for name in schema.modelled])


def _most_groups(column: Column, options: DpcOptions) -> int:
    """Return groups of a column in tables of pairs, at most."""
    groups = int(public_bins(column, options.bins).max()) + 1
    return min(groups, options.most_values + 3) if has_rest(column, options) else groups


def outline_gauss(
    schema: Schema, options: DpcOptions, allowance: Allowance, unit: Unit, rows: int
) -> tuple[Outline, ...]:
    """Return what dpc-gauss will measure."""
    return _outline(schema, options, gaussian_noise(schema, options, allowance, unit))


def outline_laplace(
    schema: Schema, options: DpcOptions, allowance: Allowance, unit: Unit, rows: int
) -> tuple[Outline, ...]:
    """Return what dpc-laplace will measure."""
    return _outline(schema, options, laplace_noise(schema, options, allowance, unit))


def _outline(schema: Schema, options: DpcOptions, noise: Noise) -> tuple[Outline, ...]:
    sizes = sorted(_most_groups(schema[name], options) for name in schema.modelled)
    m, largest = len(sizes), max(int(public_bins(schema[name], options.bins).max()) + 1 for name in schema.modelled)
    lines = (Outline(label=HISTOGRAMS, tables=m, cells=largest, noise=noise),)
    if m < 2:
        return lines
    return (*lines, Outline(label=PAIRS, tables=m * (m - 1) // 2, cells=math.prod(sizes[-2:]), noise=noise))


DPC_GAUSS = Method(
    name="dpc-gauss",
    summary="a Gaussian copula over the values of columns, from noisy tables of all pairs (Gaussian noise)",
    neighbours="replace",
    options=DpcOptions,
    ask=lambda evidence: ask_with(evidence, gaussian_noise),
    estimate=estimate,
    plan=plan_gauss,
    outline=outline_gauss,
    check=check,
    resolve=resolve_gauss,
    needs_delta=True,
    caveats=("Dependence among three or more columns is what a Gaussian copula makes of the pairs.",),
)
DPC_LAPLACE = Method(
    name="dpc-laplace",
    summary="a Gaussian copula over the values of columns, from noisy tables of all pairs (Laplace noise)",
    neighbours="replace",
    options=DpcOptions,
    ask=lambda evidence: ask_with(evidence, laplace_noise),
    estimate=estimate,
    outline=outline_laplace,
    check=check,
    resolve=resolve_laplace,
    caveats=("Dependence among three or more columns is what a Gaussian copula makes of the pairs.",),
)
