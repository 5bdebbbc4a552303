"""Scatter grids of tables and models: both forms, files for the owner, refusals before any row is read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.pictures import draw_model
from tests.lab.test_evaluate import SCHEMA, people


def test_pictures_are_written_and_real_rows_are_for_their_owner(tmp_path: Path) -> None:
    sklar.lab.scatter(people(), SCHEMA, tmp_path / "made.png")
    assert (tmp_path / "made.png").read_bytes().startswith(b"\x89PNG")
    private = tmp_path / "both.custodian.svg"
    sklar.lab.scatter(people(seed=1), SCHEMA, private, real=people(), columns=["income", "age"])
    assert private.read_text().count("<image") == 2 and stat.S_IMODE(private.stat().st_mode) == 0o600


def test_a_model_alone_is_drawn(tmp_path: Path) -> None:
    model = sklar.fit(people(), SCHEMA, method="plain-gaussian", no_guarantee=True)
    draw_model(model, tmp_path / "model.svg", "scatter")
    assert "synthetic rows" in (tmp_path / "model.svg").read_text()


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="custodian"):
        sklar.lab.scatter("gone.csv", SCHEMA, tmp_path / "both.svg", real="gone.csv")
    with pytest.raises(UsageError, match="svg or"):
        sklar.lab.scatter("gone.csv", SCHEMA, tmp_path / "made.pdf")
    with pytest.raises(UsageError, match="'sex' is not a numeric column"):
        sklar.lab.scatter("gone.csv", SCHEMA, tmp_path / "made.svg", columns=["age", "sex"])
    assert not list(tmp_path.iterdir())
