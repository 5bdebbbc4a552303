"""Identity and attribute disclosure as Raab, Nowok and Dibben (2024, arXiv:2406.16826, appendix) define them.

Keys q are the columns that an intruder knows, the target t is what the intruder wants to learn. With counts d of the N
original rows and s of the synthetic ones, over cells of keys (and target):
  UiO   = sum of d(q) where d(q) = 1, / N: unique in original;  UiS is the same for the synthetic rows;
  UiOiS = the rows of UiO with s(q) > 0, / N;
  repU  = those with s(q) = 1, / N: original rows that are unique and have a unique synthetic twin;
  Dorig = sum of d(t, q) where all original rows with q have t, / N;  Dsyn is the same for the synthetic rows;
  iS    = sum of d(q) where s(q) > 0, / N;
  DiS   = sum of d(q) where all synthetic rows with q share one t, / N: disclosive in synthetic;
  DiSCO = sum of d(t, q) where all synthetic rows with q have t, / N: disclosive in synthetic, correct in original;
  DiSDiO = the same where all original rows with q have t, too, / N;
  DCAPd = sum of d(t, q) s(t, q) / s(q), / N: how often a random synthetic row with q has the true t.
The function `disclosure` of synthpop 1.9 agrees (for iS the appendix has s(t, q) > 0, but its code s(q) > 0). TCAP of
Little et al. (2022) is DiSCO / DiS. All shares but UiS and Dsyn are of the original rows, and a missing value counts as
a value. Unlike in synthpop, which uses each distinct number or groups, numbers are on a coarse public grid, and nothing
is excluded. A fresh real sample also discloses something: that is the floor.
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
    reference=REFERENCE, good=0.02, fair=0.10,
)  # fmt: skip
DISCO = About(
    name="disco",
    title="Attribute disclosure: disclosive in synthetic, correct in original (DiSCO)",
    says="Share of the real rows whose keys occur in the synthetic table with the true value of the target only.",
    reference=REFERENCE, good=0.05, fair=0.20,
)  # fmt: skip
DEFAULT_KEYS = 4
"""Number of keys if none are given: the first columns that are not the target, as the result states."""


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
    """Return repU over the keys, or all columns, on the full public grid."""
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


def measure_disco(
    real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, target: str, keys: Sequence[str] | None
) -> Score:
    """Return DiSCO on the coarse public grid, with the other shares as details."""
    chosen = tuple(keys or [name for name in real.names if name != target][:DEFAULT_KEYS])
    found = measure_disclosure(real, synthetic, grid, target, chosen)
    note = f"keys: {', '.join(chosen)}{'' if keys else '; none were given, so these are the first columns'}."
    return Score(about=DISCO, value=found.correct, rows=min(real.rows, synthetic.rows), reason=note, behind=found)


def measure_disclosure(
    real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, target: str, keys: Sequence[str]
) -> Disclosure:
    """Compute all shares of attribute disclosure."""
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
    correct = np.isin(d_cells, s_cells[s_only])
    alone = np.zeros(len(d_all), dtype=bool)
    alone[s_cells[s_only] // size] = True
    _, at, its = np.intersect1d(d_cells, s_cells, assume_unique=True, return_indices=True)
    guessed = float((d[at] * s[its] / s_all[s_cells[its] // size]).sum())
    return Disclosure(
        target=target, keys=tuple(keys), in_original=float(d[d_only].sum()) / real.rows,
        in_synthetic=float(s[s_only].sum()) / synthetic.rows,
        keys_in_synthetic=float(d_all[s_all > 0].sum()) / real.rows, disclosive=float(d_all[alone].sum()) / real.rows,
        correct=float(d[correct].sum()) / real.rows, in_both=float(d[correct & d_only].sum()) / real.rows,
        attributed=guessed / real.rows,
    )  # fmt: skip
