"""Identity and attribute disclosure as Raab, Nowok and Dibben (2024, arXiv:2406.16826, appendix) define them.

Keys q are what an intruder knows of a person, the target t what is to be learned. With counts d of the original rows,
N of them, and s of the synthetic ones, over cells of keys (and target):
  UiO   = sum of d(q) where d(q) = 1, / N: unique in original;  UiS likewise of the synthetic rows;
  UiOiS = the rows of UiO with s(q) > 0, / N;
  repU  = those with s(q) = 1, / N: original rows that are unique and have a unique synthetic twin;
  Dorig = sum of d(t, q) where all original rows with q have t, / N;  Dsyn likewise of the synthetic rows;
  iS    = sum of d(q) where s(q) > 0, / N;
  DiS   = sum of d(q) where all synthetic rows with q share one t, / N: disclosive in synthetic;
  DiSCO = sum of d(t, q) where all synthetic rows with q have t, / N: disclosive in synthetic, correct in original;
  DiSDiO = the same where all original rows with q have t, too, / N;
  DCAPd = sum of d(t, q) s(t, q) / s(q), / N: how often a synthetic row drawn among those with q has the true t.
So does the function `disclosure` of synthpop 1.9 (where the appendix has s(t, q) > 0 for iS, its code has s(q) > 0).
TCAP of Little et al. (2022) is DiSCO / DiS. All shares but UiS and Dsyn are of the original rows, and a missing value
counts as a value; unlike there numbers lie on a coarse public grid (synthpop takes each distinct number, or groups) and
nothing is excluded. What any fresh sample would disclose is no fault of a method: that is the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.lab.metrics.copies import row_keys
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import CoarseGrid, ExactTable

REFERENCE = "Raab, Nowok and Dibben 2024 (synthpop)"
UNIQUES = About(
    name="replicated_uniques",
    title="Identity disclosure: replicated uniques (repU)",
    says="Share of the real rows that are unique in the keys (or in all columns) and have a unique synthetic twin.",
    reference=REFERENCE, lower=0.0, upper=1.0, better="lower", good=0.02, fair=0.10,
)  # fmt: skip
DISCO = About(
    name="disco",
    title="Attribute disclosure: disclosive in synthetic, correct in original (DiSCO)",
    says="Share of the real rows whose keys the synthetic table has with one value of the target only, the true one.",
    reference=REFERENCE, lower=0.0, upper=1.0, better="lower", good=0.05, fair=0.20,
)  # fmt: skip
KEYS = 4
"""Keys that are taken if none are named: the first columns that are not the target, which is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniques:
    """Shares of rows that are unique in the keys, by the names of the paper: UiO, UiS, UiOiS and repU."""

    keys: tuple[str, ...]
    in_original: float
    in_synthetic: float
    keys_in_synthetic: float
    replicated: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """Shares of rows, by the names of the paper: Dorig, Dsyn, iS, DiS, DiSCO, DiSDiO and DCAPd."""

    target: str
    keys: tuple[str, ...]
    in_original: float
    in_synthetic: float
    keys_in_synthetic: float
    disclosive: float
    correct: float
    in_both: float
    attributed: float


def replicated_uniques(real: ExactTable, synthetic: ExactTable, keys: Sequence[str] | None) -> Score:
    """repU over the keys, or all columns, on the full public grid."""
    (one, ones), (two, twos) = (np.unique(row_keys(t, keys), return_counts=True) for t in (real, synthetic))
    lone, rows = one[ones == 1], min(real.rows, synthetic.rows)
    found = Uniques(
        keys=tuple(keys or real.names),
        in_original=len(lone) / real.rows,
        in_synthetic=int((twos == 1).sum()) / synthetic.rows,
        keys_in_synthetic=int(np.isin(lone, two).sum()) / real.rows,
        replicated=int(np.isin(lone, two[twos == 1]).sum()) / real.rows,
    )
    known = None if keys is None else f"keys: {', '.join(keys)}."
    return Score(about=UNIQUES, value=found.replicated, rows=rows, reason=known, behind=found)


def disco(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, target: str, keys: Sequence[str] | None) -> Score:
    """DiSCO on the coarse public grid, with the other shares behind it."""
    chosen = tuple(keys or [name for name in real.names if name != target][:KEYS])
    found = disclosure(real, synthetic, grid, target, chosen)
    told = f"keys: {', '.join(chosen)}{'' if keys else '; none were named, so these are the first columns'}."
    return Score(about=DISCO, value=found.correct, rows=min(real.rows, synthetic.rows), reason=told, behind=found)


def disclosure(
    real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, target: str, keys: Sequence[str]
) -> Disclosure:
    """All shares of attribute disclosure."""
    joint = [row_keys(table, keys, grid.lookups) for table in (real, synthetic)]
    _, places = np.unique(np.concatenate(joint), return_inverse=True)
    size = grid.sizes[target]
    values = [grid.lookups[target][table.codes[target]] for table in (real, synthetic)]
    (d_cells, d), (s_cells, s) = (
        np.unique(place * size + value, return_counts=True)
        for place, value in zip(np.split(places, [real.rows]), values, strict=True)
    )
    d_all, s_all = (np.bincount(cells // size, n, int(places.max()) + 1) for cells, n in ((d_cells, d), (s_cells, s)))
    d_only, s_only = d == d_all[d_cells // size], s == s_all[s_cells // size]
    told = np.isin(d_cells, s_cells[s_only])
    alone = np.zeros(len(d_all), dtype=bool)
    alone[s_cells[s_only] // size] = True
    _, at, its = np.intersect1d(d_cells, s_cells, assume_unique=True, return_indices=True)
    guessed = float((d[at] * s[its] / s_all[s_cells[its] // size]).sum())
    return Disclosure(
        target=target, keys=tuple(keys), in_original=float(d[d_only].sum()) / real.rows,
        in_synthetic=float(s[s_only].sum()) / synthetic.rows,
        keys_in_synthetic=float(d_all[s_all > 0].sum()) / real.rows, disclosive=float(d_all[alone].sum()) / real.rows,
        correct=float(d[told].sum()) / real.rows, in_both=float(d[told & d_only].sum()) / real.rows,
        attributed=guessed / real.rows,
    )  # fmt: skip
