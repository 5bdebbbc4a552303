"""Margins by name for the Gaussian copula systems: densities, histograms plain or of runs, EFPA and Privelet.

NoiseFirst and StructureFirst: Xu, Zhang, Xiao, Yang, Yu, Winslett (2013), "Differentially private histogram
publication". NoiseFirst is the paper's. StructureFirst scores a cut by the distance of the histogram from its runs,
where the paper takes the square of it: that moves with the largest count, which is private, the distance by no more
than one row can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.methods.evidence import Choose, Evidence, Measure, Setting, Step, remembered
from sklar.methods.margin_plan import MarginOptions, outline_margins
from sklar.methods.margins import MarginStage, MarginSteps, MeasuredMargins, known_total, margin_steps
from sklar.methods.method import Outline
from sklar.model.margins.bins import lay_out_column
from sklar.model.margins.fit import spread
from sklar.model.margins.transforms import (
    counts_from_differences,
    counts_from_frequencies,
    merge_runs,
    project_to_simplex,
)
from sklar.release.choices import SplitNorms, TailNorms
from sklar.release.coefficients import Coefficients
from sklar.release.counts import Counts
from sklar.release.measurements import Request
from sklar.schema.columns import Column
from sklar.schema.table import Schema

MarginName = Literal["density", "efpa", "laplace", "geometric", "gaussian", "privelet", "noisefirst", "structurefirst"]
MAX_TRANSFORMED_BINS = 1024
"""EFPA, Privelet, NoiseFirst and StructureFirst see at most this many bins of a column."""
CHOICE_SHARE = 0.5
"""EFPA spends this part of a column's share on how many frequencies to keep."""
STRUCTURE_FIRST_RUNS = 16
"""Runs that StructureFirst cuts a histogram into. More follow its shape closer, and leave less of the budget for the
cuts; the paper leaves the number open."""
CUTS_SHARE = 0.5
"""StructureFirst spends this part of a column's share on where to cut."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedStage:
    """How margins of this name are measured and estimated."""

    setting: Setting[Any]
    allowance: Allowance
    name: MarginName


def named_steps(stage_of: Callable[[Evidence[Any]], NamedStage]) -> MarginSteps:
    """Return how a method measures margins by the name that its stage has, spending the stage's allowance."""
    transformed = transformed_steps(stage_of)

    def plain_stage(evidence: Evidence[Any]) -> MarginStage:
        stage = stage_of(evidence)
        total, options = known_total(stage.setting), margin_options(stage.name)
        return MarginStage(setting=stage.setting, allowance=stage.allowance, total=total, options=options)

    plain = margin_steps(plain_stage)

    def steps(evidence: Evidence[Any]) -> MarginSteps:
        return transformed if stage_of(evidence).name in _TRANSFORMS else plain

    return MarginSteps(
        ask=lambda evidence: steps(evidence).ask(evidence), estimate=lambda evidence: steps(evidence).estimate(evidence)
    )


def outline_named(schema: Schema, allowance: Allowance, unit: Unit, name: MarginName) -> tuple[Outline, ...]:
    """Return what will be measured of margins of this name, for people."""
    if name not in _TRANSFORMS:
        return outline_margins(schema, allowance, unit, margin_options(name))
    share, lines = allowance.part(1.0 / len(schema.modelled)), list[Outline]()
    for column in schema.modelled:
        bins = public_bins(schema[column], MAX_TRANSFORMED_BINS)
        cells, noise, resolution = _outlined(column, bins, share, unit, name)
        label = f"{name} of {column}"
        lines.append(Outline(label=label, tables=1, cells=cells, noise=noise, resolution=resolution))
    return tuple(lines)


def _outlined(
    column: str, bins: NDArray[np.int32], share: Allowance, unit: Unit, name: MarginName
) -> tuple[int, Noise, float]:
    """Return the number of measured values of a column, their noise and their resolution."""
    size = int(bins.max()) + 1
    if name not in _BASIS:
        cut = name == "structurefirst" and size > STRUCTURE_FIRST_RUNS
        return (STRUCTURE_FIRST_RUNS if cut else size), (share.part(1 - CUTS_SHARE) if cut else share).noise(unit), 1.0
    kept = min(16, size) if name == "efpa" else 1 << (size - 1).bit_length()
    feature = Coefficients(column=column, lookup=bins, basis=_BASIS[name], kept=kept)
    part = share.part(1 - CHOICE_SHARE) if name == "efpa" else share
    return kept, _choose_noise(feature, part, unit), feature.resolution


def public_bins(column: Column, most: int) -> NDArray[np.int32]:
    """Return the bin of every base code: value cells of an ordered column in at most `most` runs of equal length,
    listed values of a nominal one, which have no neighbours, each alone; `other` and null alone."""
    values = column.value_cells
    groups = min(values, most) if column.ordered else values
    lookup = np.empty(column.size, dtype=np.int32)
    lookup[:values] = np.arange(values) * groups // values
    lookup[values:] = groups + np.arange(column.size - values)
    return lookup


def rank_bins(column: Column, most: int, counts: Floats) -> NDArray[np.int32]:
    """Return bins for ranks: the public ones of an ordered column; those of a nominal one, whose ranks are places in
    its list, are runs of values of about equal released counts."""
    values = column.value_cells
    if column.ordered or values <= most:
        return public_bins(column, most)
    share = project_to_simplex(counts[:values], float(np.maximum(counts[:values], 0.0).sum()))
    middle = np.cumsum(share) - share / 2
    runs = np.unique(np.minimum(np.floor(middle * most), most - 1), return_inverse=True)[1]
    return np.append(runs, runs[-1] + 1 + np.arange(column.size - values)).astype(np.int32)


_BASIS = {"efpa": "cosine", "privelet": "haar"}


def margin_options(name: MarginName) -> MarginOptions:
    """Return how histograms of this name are measured and repaired."""
    if name == "density":
        return MarginOptions()
    return MarginOptions(repair="simplex", noise="gaussian" if name == "gaussian" else "laplace")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinnedColumn:
    """One column whose histogram is transformed.

    Attributes:
        share: What may be spent on it.
        bins: Bin of every base code.
        values: Number of bins that hold values; the others are of `other` and null.
    """

    name: str
    share: Allowance
    unit: Unit
    bins: NDArray[np.int32]
    values: int

    @property
    def size(self) -> int:
        """Number of bins."""
        return int(self.bins.max()) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A histogram by name: the next step for one column, and its noisy counts once all steps are measured."""

    ask: Callable[[Evidence[Any], BinnedColumn], Step | None]
    counts: Callable[[Evidence[Any], BinnedColumn], Floats]


def transformed_steps(stage_of: Callable[[Evidence[Any]], NamedStage]) -> MarginSteps:
    """Return how margins are measured through one transformed histogram a column, all with equal shares."""

    @remembered
    def columns(evidence: Evidence[Any]) -> list[BinnedColumn]:
        stage = stage_of(evidence)
        schema, unit = stage.setting.schema, stage.setting.unit
        share = stage.allowance.part(1.0 / len(schema.modelled))
        return [_lay_out_column(name, schema[name], share, unit) for name in schema.modelled]

    def ask(evidence: Evidence[Any]) -> Step | None:
        transform = _TRANSFORMS[stage_of(evidence).name]
        for column in columns(evidence):
            step = transform.ask(evidence, column)
            if step is not None:
                return step
        return None

    @remembered
    def estimate(evidence: Evidence[Any]) -> MeasuredMargins:
        stage = stage_of(evidence)
        counts = [_TRANSFORMS[stage.name].counts(evidence, column) for column in columns(evidence)]
        mean = float(np.mean([one.sum() for one in counts]))
        rows = max(float(stage.setting.rows) if stage.setting.rows is not None else mean, 1.0)
        layouts = [lay_out_column(stage.setting.schema[column.name]) for column in columns(evidence)]
        margins = tuple(
            spread(column.name, layout, column.bins.astype(np.int64), project_to_simplex(one, rows))
            for column, layout, one in zip(columns(evidence), layouts, counts, strict=True)
        )
        return MeasuredMargins(margins=margins, histograms=(), rows=rows, rows_sigma=0.0)

    return MarginSteps(ask=ask, estimate=estimate)


def _lay_out_column(name: str, column: Column, share: Allowance, unit: Unit) -> BinnedColumn:
    bins = public_bins(column, MAX_TRANSFORMED_BINS)
    values = int(bins[: column.value_cells].max()) + 1
    return BinnedColumn(name=name, share=share, unit=unit, bins=bins, values=values)


def _ask_efpa(evidence: Evidence[Any], column: BinnedColumn) -> Step | None:
    """Choose how many frequencies to keep by the expected error; then measure those frequencies."""
    chosen, measured, rest = (
        f"frequencies of {column.name}",
        f"efpa of {column.name}",
        column.share.part(1 - CHOICE_SHARE),
    )
    if chosen not in evidence:
        kinds = [_request_cosines(column.name, column.bins, kept) for kept in range(1, column.size + 1)]
        stds = np.array([_choose_noise(kind, rest, column.unit).std_on(kind.resolution) for kind in kinds])
        expected_norms = np.sqrt(np.arange(1, column.size + 1)) * stds  # of the noise when 1, 2, ... are kept
        score = TailNorms(column=column.name, partition=column.bins, penalties=expected_norms)
        return Choose(label=chosen, score=score, epsilon=column.share.part(CHOICE_SHARE).choice_epsilon())
    if measured in evidence:
        return None
    query = _request_cosines(column.name, column.bins, evidence.chosen(chosen)[0] + 1)
    return Measure(label=measured, requests=(Request(query=query, noise=_choose_noise(query, rest, column.unit)),))


def _count_efpa(evidence: Evidence[Any], column: BinnedColumn) -> Floats:
    return counts_from_frequencies(evidence.measured(f"efpa of {column.name}")[0].values, column.size)


def _ask_privelet(evidence: Evidence[Any], column: BinnedColumn) -> Step | None:
    label = f"privelet of {column.name}"
    if label in evidence:
        return None
    query = Coefficients(column=column.name, lookup=column.bins, basis="haar", kept=1 << (column.size - 1).bit_length())
    return Measure(label=label, requests=(Request(query=query, noise=_choose_noise(query, column.share, column.unit)),))


def _count_privelet(evidence: Evidence[Any], column: BinnedColumn) -> Floats:
    return counts_from_differences(evidence.measured(f"privelet of {column.name}")[0].values, column.size)


def _ask_noise_first(evidence: Evidence[Any], column: BinnedColumn) -> Step | None:
    """Put noise on every bin first."""
    return _ask_counts(evidence, column, column.bins, column.share, f"noisefirst of {column.name}")


def _count_noise_first(evidence: Evidence[Any], column: BinnedColumn) -> Floats:
    """Return the noisy counts of NoiseFirst: runs of bins that differ by little more than noise are merged."""
    (noisy,) = evidence.measured(f"noisefirst of {column.name}")
    counts = noisy.values.astype(np.float64)
    return np.append(merge_runs(counts[: column.values], noisy.noise.variance), counts[column.values :])


def _ask_structure_first(evidence: Evidence[Any], column: BinnedColumn) -> Step | None:
    """Choose runs of the bins of values privately, the last one first; then count each with noise."""
    starts, per_cut = [column.values], column.share.part(CUTS_SHARE).part(1 / (STRUCTURE_FIRST_RUNS - 1))
    epsilon = per_cut.choice_epsilon()
    for runs in range(STRUCTURE_FIRST_RUNS, 1, -1) if column.values > STRUCTURE_FIRST_RUNS else ():
        label = f"run {runs} of {column.name}"
        if label not in evidence:
            score = SplitNorms(column=column.name, partition=column.bins, runs=runs, end=starts[0])
            return Choose(label=label, score=score, epsilon=epsilon)
        starts.insert(0, evidence.chosen(label)[0] + runs - 1)
    share = column.share if column.values <= STRUCTURE_FIRST_RUNS else column.share.part(1 - CUTS_SHARE)
    runs_of_bins = _runs(evidence, column)[column.bins]
    return _ask_counts(evidence, column, runs_of_bins, share, f"structurefirst of {column.name}")


def _runs(evidence: Evidence[Any], column: BinnedColumn) -> NDArray[np.int32]:
    """Return the run of each bin; those of `other` and null stay alone."""
    starts = np.arange(column.values)
    if column.values > STRUCTURE_FIRST_RUNS:
        chosen = [
            evidence.chosen(f"run {runs} of {column.name}")[0] + runs - 1 for runs in range(2, STRUCTURE_FIRST_RUNS + 1)
        ]
        starts = np.array([0, *chosen])
    run = np.searchsorted(starts, np.arange(column.values), side="right") - 1
    return np.append(run, len(starts) + np.arange(column.size - column.values)).astype(np.int32)


def _count_structure_first(evidence: Evidence[Any], column: BinnedColumn) -> Floats:
    (noisy,) = evidence.measured(f"structurefirst of {column.name}")
    run = _runs(evidence, column)
    return noisy.values.astype(np.float64)[run] / np.bincount(run)[run]


def _ask_counts(
    evidence: Evidence[Any], column: BinnedColumn, lookup: NDArray[np.int32], share: Allowance, label: str
) -> Step | None:
    query = Counts(columns=(column.name,), partitions=(lookup,))
    request = Request(query=query, noise=share.noise(column.unit))
    return None if label in evidence else Measure(label=label, requests=(request,))


_TRANSFORMS = {
    "efpa": Transform(ask=_ask_efpa, counts=_count_efpa),
    "privelet": Transform(ask=_ask_privelet, counts=_count_privelet),
    "noisefirst": Transform(ask=_ask_noise_first, counts=_count_noise_first),
    "structurefirst": Transform(ask=_ask_structure_first, counts=_count_structure_first),
}


def _request_cosines(column: str, bins: NDArray[np.int32], kept: int) -> Coefficients:
    return Coefficients(column=column, lookup=bins, basis="cosine", kept=kept)


def _choose_noise(feature: Coefficients, allowance: Allowance, unit: Unit) -> Noise:
    l1, l2 = feature.sensitivity(unit)
    return allowance.sum_noise(l1=l1, l2=l2)
