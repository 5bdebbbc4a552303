"""Codes in chapters: dependence is kept at the level that the noise bears, where single codes have too few rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.model.axis import lay_out
from sklar.model.pairs.grouping import group_cells

CHAPTERS = "ABCDEFGHIJ"
LABELS = [f"{chapter}{code:02d}" for chapter in CHAPTERS for code in range(20)]
ROWS = 20_000


def made() -> pd.DataFrame:
    """200 codes in 10 chapters; age and sex depend on the chapter."""
    rng = np.random.default_rng(0)
    chapter = rng.choice(10, ROWS, p=np.array([20, 16, 14, 12, 10, 8, 7, 5, 4, 4]) / 100)
    code = np.minimum(rng.geometric(0.12, ROWS) - 1, 19)
    level = rng.permutation(10)[chapter]
    return pd.DataFrame(
        {
            "code": np.array(LABELS)[20 * chapter + code],
            "age": np.clip(rng.normal(30 + 5 * level, 10), 0, 99).astype(int),
            "sex": np.where(rng.random(ROWS) < 0.15 + 0.07 * level, "F", "M"),
        }
    )


def kept(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float]:
    """How much of the differences between chapters is kept, of mean age and of the share of women: 1 is all."""
    found = []
    for table in (real, synthetic[synthetic.code != "other"]):
        by = table.assign(woman=table.sex == "F").groupby(table.code.str[0])[["age", "woman"]].mean()
        found.append(by.reindex(list(CHAPTERS)))
    share = real.code.str[0].value_counts(normalize=True).reindex(list(CHAPTERS)).to_numpy()[:, None]
    a, b = (x.to_numpy() - (share * x.to_numpy()).sum(0) for x in found)
    age, woman = (share * a * b).sum(0) / (share * a * a).sum(0)
    return float(age), float(woman)


def fitted(data: pd.DataFrame, **hierarchy: list[int]) -> pd.DataFrame:
    columns = {
        "code": sklar.Category(LABELS, **hierarchy),  # type: ignore[arg-type]
        "age": sklar.Integer(0, 99),
        "sex": sklar.Category(["F", "M"]),
    }
    model = sklar.fit(data, sklar.Schema(columns), epsilon=1.0, delta=1e-9)
    return model.sample(ROWS, seed=1).to_pandas()


@pytest.mark.slow
def test_dependence_at_the_level_of_chapters_is_kept() -> None:
    """Over fits it was .91 and .99, each give or take .015, so that 20% off is seven standard deviations."""
    data = made()
    rows = fitted(data, levels=[1])
    assert all(0.8 < part < 1.2 for part in kept(data, rows))
    assert rows.code.nunique() > 150
    age, _ = kept(data, fitted(data))  # sex has few enough cells beside 200 codes to be counted one by one
    assert age < 0.75  # without the levels (.40 +- .05): what this test would miss


def test_small_siblings_stay_with_their_parent() -> None:
    mass = np.array([0.3, 0.02, 0.02, 0.02, 0.24, 0.2, 0.1, 0.1])
    branches = [(x,) for x in "abcabcab"]
    scale = lay_out(np.arange(8), mass, 8, nominal=True, branches=branches)
    cells = np.array(["abc".index(x) for (x,) in branches])
    assert np.array(["abc"[cells[i]] for i in scale.order]).tolist() == list("aaabbbcc")
    groups = group_cells(scale, 16, 0.06, cells)
    chapters = [{branches[i][0] for i in np.flatnonzero(groups.lookup == g)} for g in range(groups.count)]
    assert all(len(found) == 1 for found in chapters)
    assert groups.count > 3
    few = group_cells(scale, 3, 0.06, cells)
    assert [len({branches[i][0] for i in np.flatnonzero(few.lookup == g)}) for g in range(few.count)] == [1, 1, 1]


def test_levels_nest_from_the_coarsest_down() -> None:
    """Two chapters of two blocks of four codes: groups are chapters, blocks or codes, as far as their number goes."""
    cells = np.arange(16)
    levels = np.array([cells // 8, cells // 4])
    branches = [(f"c{i // 8}", f"b{i // 4}") for i in cells]
    mass = np.repeat([0.08, 0.02, 0.12, 0.03], 4)
    scale = lay_out(cells, mass, 16, nominal=True, branches=branches)
    for most, level in ((2, 8), (4, 4)):
        lookup = group_cells(scale, most, 0.01, levels).lookup
        assert len(set(lookup)) == most
        assert all(len(set(lookup[start : start + level])) == 1 for start in range(0, 16, level))
    finer = group_cells(scale, 8, 0.01, levels).lookup
    assert all(len({block // 4 for block in np.flatnonzero(finer == g)}) == 1 for g in set(finer))
    coarse_only = group_cells(scale, 4, 0.01, levels[0]).lookup
    assert any(len(set(coarse_only[start : start + 4])) > 1 for start in range(0, 16, 4))  # what one level would miss
