"""Scatter grids: files, permissions and refusals."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from sklar.errors import UsageError
from sklar.report.scatter_grid import scatter_grid


def rows(seed: int) -> dict[str, np.ndarray]:
    z = np.random.default_rng(seed).normal(size=(300, 2))
    return {"a": z[:, 0], "b": z.sum(axis=1)}


def test_pictures_are_written_and_real_rows_are_for_their_owner(tmp_path: Path):
    scatter_grid(tmp_path / "made.png", rows(0))
    assert (tmp_path / "made.png").read_bytes().startswith(b"\x89PNG")
    private = tmp_path / "both.custodian.svg"
    scatter_grid(private, rows(0), real=rows(1))
    assert b"<svg" in private.read_bytes() and stat.S_IMODE(private.stat().st_mode) == 0o600


def test_refusals(tmp_path: Path):
    with pytest.raises(UsageError, match="custodian"):
        scatter_grid(tmp_path / "both.svg", rows(0), real=rows(1))
    with pytest.raises(UsageError, match="svg or"):
        scatter_grid(tmp_path / "made.pdf", rows(0))
    with pytest.raises(UsageError, match="2 to 8"):
        scatter_grid(tmp_path / "made.svg", {"a": np.zeros(3)})
    with pytest.raises(UsageError, match="same columns"):
        scatter_grid(tmp_path / "x.custodian.svg", rows(0), real={"a": np.zeros(3), "c": np.zeros(3)})
    assert not list(tmp_path.iterdir())
