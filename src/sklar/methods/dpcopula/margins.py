"""Margins by name for the Gaussian copula systems: densities, histograms plain or of runs, EFPA and Privelet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.methods.dpcopula.runs import CUTS_SHARE, RUNS, noise_first, structure_first
from sklar.methods.margins import MarginOptions, measure_margins, outline_margins
from sklar.methods.method import Outline
from sklar.model.margins.bins import BinLayout, lay_out_column
from sklar.model.margins.fit import spread
from sklar.model.margins.margin import Margin
from sklar.model.margins.transforms import counts_from_differences, counts_from_frequencies, project_to_simplex
from sklar.release.door import Door, TailNorms
from sklar.release.features import Coefficients
from sklar.schema.columns import Column
from sklar.schema.table import Schema

MarginName = Literal["density", "efpa", "laplace", "geometric", "gaussian", "privelet", "noisefirst", "structurefirst"]
TRANSFORMED_BINS = 1024
"""EFPA, Privelet, NoiseFirst and StructureFirst see at most this many bins of a column."""
CHOICE_SHARE = 0.5
"""EFPA spends this part of a column's share on how many frequencies to keep."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedMargins:
    """Margins of all modelled columns, and the number of rows (public or estimated)."""

    margins: tuple[Margin, ...]
    rows: float


def measure_named(door: Door, allowance: Allowance, name: MarginName) -> NamedMargins:
    """Measure all margins through a Door by the method of this name, spending the allowance."""
    if name in _TRANSFORMED:
        return _transformed(door, allowance, name)
    measured = measure_margins(door, allowance, options=margin_options(name))
    return NamedMargins(margins=measured.margins, rows=measured.rows)


def outline_named(schema: Schema, allowance: Allowance, unit: Unit, name: MarginName) -> tuple[Outline, ...]:
    """What `measure_named` will measure, for people."""
    if name not in _TRANSFORMED:
        return outline_margins(schema, allowance, unit, margin_options(name))
    share, lines = allowance.part(1.0 / len(schema.modelled)), list[Outline]()
    for column in schema.modelled:
        bins = public_bins(schema[column], TRANSFORMED_BINS)
        cells, noise, resolution = _outlined(column, bins, share, unit, name)
        label = f"{name} of {column}"
        lines.append(Outline(label=label, tables=1, cells=cells, noise=noise, resolution=resolution))
    return tuple(lines)


def _outlined(
    column: str, bins: NDArray[np.int32], share: Allowance, unit: Unit, name: MarginName
) -> tuple[int, Noise, float]:
    """How many numbers of a column are measured, with which noise, in multiples of what."""
    size = int(bins.max()) + 1
    if name not in _BASIS:
        cut = name == "structurefirst" and size > RUNS
        return (RUNS if cut else size), (share.part(1 - CUTS_SHARE) if cut else share).noise(unit), 1.0
    kept = min(16, size) if name == "efpa" else 1 << (size - 1).bit_length()
    feature = Coefficients(column=column, lookup=bins, basis=_BASIS[name], kept=kept)
    part = share.part(1 - CHOICE_SHARE) if name == "efpa" else share
    return kept, _noise(feature, part, unit), feature.resolution


def public_bins(column: Column, most: int) -> NDArray[np.int32]:
    """Bin of every base code: value cells of an ordered column in at most `most` runs of equal length, listed values of
    a nominal one, which have no neighbours, each alone; `other` and null alone."""
    values = column.value_cells
    groups = min(values, most) if column.ordered else values
    lookup = np.empty(column.size, dtype=np.int32)
    lookup[:values] = np.arange(values) * groups // values
    lookup[values:] = groups + np.arange(column.size - values)
    return lookup


def rank_bins(column: Column, most: int, counts: Floats) -> NDArray[np.int32]:
    """Bins for ranks: the public ones of an ordered column; those of a nominal one, whose ranks are places in its list,
    are runs of values of about equal released counts."""
    values = column.value_cells
    if column.ordered or values <= most:
        return public_bins(column, most)
    share = project_to_simplex(counts[:values], float(np.maximum(counts[:values], 0.0).sum()))
    middle = np.cumsum(share) - share / 2
    runs = np.unique(np.minimum(np.floor(middle * most), most - 1), return_inverse=True)[1]
    return np.append(runs, runs[-1] + 1 + np.arange(column.size - values)).astype(np.int32)


_BASIS = {"efpa": "cosine", "privelet": "haar"}


def margin_options(name: MarginName) -> MarginOptions:
    """How histograms of this name are measured and repaired."""
    if name == "density":
        return MarginOptions()
    return MarginOptions(repair="simplex", noise="gaussian" if name == "gaussian" else "laplace")


def _transformed(door: Door, allowance: Allowance, name: MarginName) -> NamedMargins:
    """One histogram a column through its coefficients, all columns with equal shares."""
    share = allowance.part(1.0 / len(door.schema.modelled))
    found: list[tuple[str, BinLayout, NDArray[np.int32], Floats]] = []
    for column in door.schema.modelled:
        bins = public_bins(door.schema[column], TRANSFORMED_BINS)
        values = int(bins[: door.schema[column].value_cells].max()) + 1
        counts = _TRANSFORMED[name](door, share, column, bins, values)
        found.append((column, lay_out_column(door.schema[column]), bins, counts))
    estimate = float(np.mean([counts.sum() for *_, counts in found]))
    rows = max(float(door.rows) if door.rows is not None else estimate, 1.0)
    margins = tuple(
        spread(column, layout, bins.astype(np.int64), project_to_simplex(counts, rows))
        for column, layout, bins, counts in found
    )
    return NamedMargins(margins=margins, rows=rows)


def _efpa(door: Door, share: Allowance, column: str, bins: NDArray[np.int32], values: int) -> Floats:
    """How many frequencies to keep is chosen noisily by the expected error; then those frequencies are measured."""
    size = int(bins.max()) + 1
    rest = share.part(1 - CHOICE_SHARE)
    kinds = [_cosine(column, bins, kept) for kept in range(1, size + 1)]
    stds = np.array([_noise(kind, rest, door.unit).std_on(kind.resolution) for kind in kinds])
    expected_norms = np.sqrt(np.arange(1, size + 1)) * stds  # of the noise when 1, 2, ... frequencies are kept
    score = TailNorms(column=column, lookup=bins, penalties=expected_norms)
    epsilon = share.part(CHOICE_SHARE).choice_epsilon()
    kept = door.choose(score, epsilon, f"frequencies of {column}").indices[0] + 1
    feature = _cosine(column, bins, kept)
    noisy = door.sum(feature, _noise(feature, rest, door.unit), f"efpa of {column}")
    return counts_from_frequencies(noisy.values, size)


def _privelet(door: Door, share: Allowance, column: str, bins: NDArray[np.int32], values: int) -> Floats:
    size = int(bins.max()) + 1
    feature = Coefficients(column=column, lookup=bins, basis="haar", kept=1 << (size - 1).bit_length())
    noisy = door.sum(feature, _noise(feature, share, door.unit), f"privelet of {column}")
    return counts_from_differences(noisy.values, size)


_TRANSFORMED = {
    "efpa": _efpa,
    "privelet": _privelet,
    "noisefirst": noise_first,
    "structurefirst": structure_first,
}


def _cosine(column: str, bins: NDArray[np.int32], kept: int) -> Coefficients:
    return Coefficients(column=column, lookup=bins, basis="cosine", kept=kept)


def _noise(feature: Coefficients, allowance: Allowance, unit: Unit) -> Noise:
    l1, l2 = feature.norms(unit)
    return allowance.sum_noise(l1=l1, l2=l2)
