"""Pictures of levels: written for both kinds of vines, labelled, and only as what they are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.pictures import plot_levels, plot_pairs


@pytest.mark.slow
@pytest.mark.parametrize("split", [True, False])
def test_pictures_are_written(table: pa.Table, schema: sklar.Schema, tmp_path: Path, split: bool) -> None:
    model = sklar.fit(table, schema, method="tvine", no_guarantee=True, target="ill", sensitive=["income"],
                      threshold=0.4, families="gaussian", conditional_root=split)  # fmt: skip
    plot_levels(model, tmp_path / "levels.svg", chosen=(1, 3, 5), seed=1)
    plot_pairs(model, tmp_path / "pairs.png")
    assert (tmp_path / "levels.svg").read_text().count("<image") >= 3
    assert (tmp_path / "pairs.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match=r"\.svg or \.png"):
        plot_pairs(model, tmp_path / "pairs.txt")
