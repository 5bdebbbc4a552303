"""Measuring the margins of a table with few rows: one noisy histogram a column, and a second one for numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.model.margins.averaged import Bins
from sklar.model.margins.few_rows import (
    FewRowsHistogram,
    SplitMargin,
    coarse_margin,
    level_margin,
    pool_total,
    second_bins,
    second_lookup,
    smooth_margins,
    split_first,
)
from sklar.model.margins.first_cells import first_cells
from sklar.model.margins.likelihood import KnownTotal
from sklar.model.margins.margin import Margin
from sklar.release.door import Door
from sklar.release.requests import RecodedTable

FIRST_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallMargins:
    """Margins of all modelled columns, and the number of rows that their histograms agree on."""

    margins: tuple[Margin, ...]
    total: KnownTotal


def measure_small_margins(door: Door, allowance: Allowance, total: KnownTotal | None) -> SmallMargins:
    """Two passes: all columns on public cells; then numbers on equal-mass bins of what the first pass showed."""
    names = door.schema.modelled
    cells = {name: first_cells(door.schema[name]) for name in names}
    each = allowance.part(1 / len(names))
    noises = {name: each.part(FIRST_SHARE if cells[name].coarse else 1.0).noise(door.unit) for name in names}
    first = _count(door, {name: cells[name].parent for name in names}, noises, "margins")
    total = pool_total(list(first.values()), total)
    splits = {name: split_first(cells[name], first[name]) for name in names if cells[name].coarse}
    second: dict[str, Bins] = {}
    if splits:
        second, seen = _second(door, each.part(1 - FIRST_SHARE), splits, total)
        total = pool_total(seen, total)
    fitted = smooth_margins(splits, second, total)
    margins = [
        coarse_margin(name, splits[name], fitted[name])
        if name in splits
        else level_margin(name, cells[name], first[name], total)
        for name in names
    ]
    return SmallMargins(margins=tuple(margins), total=total)


def _second(
    door: Door, each: Allowance, splits: Mapping[str, SplitMargin], total: KnownTotal
) -> tuple[dict[str, Bins], list[FewRowsHistogram]]:
    fitted = smooth_margins(splits, {}, total)
    cuts = {name: second_lookup(split, fitted[name][:2]) for name, split in splits.items()}
    noise = each.noise(door.unit)
    seen = _count(door, {name: cut[1] for name, cut in cuts.items()}, dict.fromkeys(cuts, noise), "margins again")
    bins = {name: second_bins(splits[name], cuts[name][0], seen[name]) for name in cuts}
    return bins, list(seen.values())


def _count(
    door: Door, lookups: Mapping[str, np.ndarray], noises: Mapping[str, Noise], label: str
) -> dict[str, FewRowsHistogram]:
    tables = [
        RecodedTable(columns=(name,), lookups=(lookup.astype(np.int32),), noise=noises[name])
        for name, lookup in lookups.items()
    ]
    releases = door.count_recoded(tables, label)
    return {
        name: FewRowsHistogram(counts=noisy.counts.astype(np.float64), sigma=noisy.noise.std)
        for name, noisy in zip(lookups, releases, strict=True)
    }
