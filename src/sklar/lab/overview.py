"""Data for charts of two tables: shares by column, correlations, joint shares of the strongest pairs, query errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.metrics.bench import Bench, Scores
from sklar.lab.metrics.correlations.matrices import Correlations
from sklar.lab.metrics.queries import MAX_QUERY_ROWS, QueryProfiles, query_profiles
from sklar.lab.metrics.score import Part
from sklar.lab.scales import PictureScale, label_ticks, make_scale
from sklar.lab.tables.table import ExactTable
from sklar.report.seen import labels_seen, numbers_seen, pair_seen
from sklar.schema import Column

MAX_SHOWN_LABELS = 30
"""Maximum number of labels of a column; the rest is summed up."""
CAPTION_LABELS = 4
"""Number of labels that are named below a chart."""
MAX_SHOWN_PAIRS = 6
"""Maximum number of pairs with a chart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginPicture:
    """One column: shares of its cells in both tables, and their distance.

    Attributes:
        labels: Text of each cell; for numbers its range.
        ticks: Texts along the axis, each with its position from 0 to 1.
        note: How cells of numbers were chosen, if they are not equal.
        apart: Values outside the cells of numbers, such as null, with their two shares.
    """

    column: str
    kind: str
    labels: tuple[str, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    numeric: bool
    ticks: tuple[tuple[float, str], ...]
    distance: float
    floor: float | None
    note: str = ""
    apart: tuple[tuple[str, float, float], ...] = ()

    @property
    def seen(self) -> str:
        """Describe the chart in words."""
        words = (numbers_seen if self.numeric else labels_seen)(self.labels, self.real, self.synthetic)
        return "; ".join([words, *self._apart])

    @property
    def caption(self) -> str:
        """Describe the axis."""
        if self.numeric:
            return "; ".join(text for text in (self.note, *self._apart) if text)
        more = len(self.labels) - CAPTION_LABELS
        return ", ".join(self.labels[:CAPTION_LABELS]) + (f" and {more} more" if more > 0 else "")

    @property
    def _apart(self) -> list[str]:
        return [f"{label} {real:.1%} real, {synthetic:.1%} synthetic" for label, real, synthetic in self.apart]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairPicture:
    """Two columns: joint shares of their value cells in both tables, with the texts and ticks of either axis."""

    columns: tuple[str, str]
    real: Floats
    synthetic: Floats
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    ticks: tuple[tuple[tuple[float, str], ...], tuple[tuple[float, str], ...]]

    @property
    def seen(self) -> str:
        """Describe the chart in words."""
        return pair_seen(self.labels, self.real.tolist(), self.synthetic.tolist())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overview:
    """Data for charts: columns, worst first; correlations, if there are two columns; strong pairs; query errors."""

    margins: tuple[MarginPicture, ...]
    matrix: Correlations | None
    pairs: tuple[PairPicture, ...]
    queries: QueryProfiles


def collect_overview(bench: Bench, scores: Scores, query_budget: tuple[float, float]) -> Overview:
    """Collect the data for charts of a table with known scores."""
    real, synthetic = bench.real, bench.synthetic
    scales = {name: make_scale(name, real, synthetic) for name in real.names}
    margins = [_make_margin_picture(real, synthetic, scales[part.columns[0]], part) for part in scores["tvd1"].parts]
    # phi_k covers all columns; Spearman's needs no extra.
    matrix: Correlations = scores["phik"].behind or scores["spearman"].behind
    some = bench.sample((real, synthetic), MAX_QUERY_ROWS, rng := bench.stream("query_profiles"))
    return Overview(
        margins=tuple(sorted(margins, key=lambda margin: -margin.distance)),
        matrix=matrix if len(matrix.columns) > 1 or matrix.measure == "phi_k" else None,
        pairs=tuple(_make_pair_picture(real, synthetic, scales, pair) for pair in _list_strongest_pairs(matrix)),
        queries=query_profiles((some[0], some[1]), bench.grid, query_budget, rng),
    )


def _list_strongest_pairs(found: Correlations) -> list[tuple[str, str]]:
    names, strength = found.columns, np.triu(np.abs(np.nan_to_num(found.real)), 1)
    order = np.argsort(-strength, axis=None, kind="stable")[:MAX_SHOWN_PAIRS]
    places = [np.unravel_index(i, strength.shape) for i in order]
    return [(names[i], names[j]) for i, j in places if strength[i, j] > 0]


def _make_margin_picture(real: ExactTable, synthetic: ExactTable, scale: PictureScale, part: Part) -> MarginPicture:
    (name,) = part.columns
    column = real.schema[name]
    found = [_shares(scale.cells(table, name), len(scale.labels)) for table in (real, synthetic)]
    apart = [
        (label, float((real.codes[name] == code).mean()), float((synthetic.codes[name] == code).mean()))
        for label, code in _unlisted_codes(column).items()
    ]
    apart = [one for one in apart if one[1] + one[2] > 0]
    labels, ticks = list(scale.labels), scale.ticks
    if not column.numeric:
        labels += [one[0] for one in apart]
        found = [np.append(shares, [one[at] for one in apart]) for at, shares in enumerate(found, 1)]
        labels, found = _sort_labels(column, labels, found)
        ticks = label_ticks(tuple(labels))
    return MarginPicture(
        column=name, kind=column.kind, labels=tuple(labels), real=tuple(found[0].tolist()),
        synthetic=tuple(found[1].tolist()), numeric=column.numeric, ticks=ticks, distance=part.value, floor=part.floor,
        note=scale.note, apart=tuple(apart) if column.numeric else (),
    )  # fmt: skip


def _unlisted_codes(column: Column) -> dict[str, int]:
    """Return the codes of `other` and null, if the column has them."""
    found = {} if column.other_code is None else {f"{column.other} (other)": column.other_code}  # type: ignore[attr-defined]
    return found if column.null_code is None else {**found, "null": column.null_code}


def _sort_labels(column: Column, labels: list[str], shares: list[Floats]) -> tuple[list[str], list[Floats]]:
    """Sort unordered labels by decreasing frequency, and sum up those beyond MAX_SHOWN_LABELS."""
    if not column.ordered:
        order = np.argsort(-(shares[0] + shares[1]), kind="stable")
        labels, shares = [labels[i] for i in order], [one[order] for one in shares]
    if len(labels) > MAX_SHOWN_LABELS:
        shares = [np.append(one[: MAX_SHOWN_LABELS - 1], one[MAX_SHOWN_LABELS - 1 :].sum()) for one in shares]
        labels = [*labels[: MAX_SHOWN_LABELS - 1], f"{len(labels) - MAX_SHOWN_LABELS + 1} more"]
    return labels, shares


def _shares(cells: Ints, size: int) -> Floats:
    """Return the share of each cell among all rows, including rows without a cell."""
    return np.bincount(cells[cells >= 0], minlength=size) / len(cells)


def _make_pair_picture(
    real: ExactTable, synthetic: ExactTable, scales: Mapping[str, PictureScale], pair: tuple[str, str]
) -> PairPicture:
    up, across = (scales[name] for name in pair)
    high, wide = len(up.labels), len(across.labels)
    shares: list[Floats] = []
    for table in (real, synthetic):
        first, second = up.cells(table, pair[0]), across.cells(table, pair[1])
        both = np.where((first >= 0) & (second >= 0), first * wide + second, -1)
        shares.append(_shares(both, high * wide).reshape(high, wide))
    return PairPicture(
        columns=pair, real=shares[0], synthetic=shares[1], labels=(up.labels, across.labels),
        ticks=(up.ticks, across.ticks),
    )  # fmt: skip
