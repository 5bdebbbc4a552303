"""Progress in a file, for a page that shows it: what is being done and the fraction, whole at any time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sklar.cli.terminal import progress
from sklar.cli.terminal.progress import PROGRESS_FILE, pass_bar, row_bar, step_bar


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, object]]:
    monkeypatch.setenv(PROGRESS_FILE, str(tmp_path / "progress"))
    monkeypatch.setattr(progress, "WRITE_INTERVAL", 0.0)
    return lambda: _without_time(json.loads((tmp_path / "progress").read_text()))


def _without_time(said: dict[str, object]) -> dict[str, object]:
    assert isinstance(said.pop("since"), float)
    return said


def test_passes_tell_what_they_are_for(told: Callable[[], dict[str, object]]) -> None:
    with pass_bar("reading rows") as passes:
        assert told() == {"what": "reading rows", "fraction": 0.0}
        passes.doing("measuring margins")
        assert told()["what"] == "measuring margins"
        passes(0.0)
        passes(0.5)
        assert told() == {"what": "measuring margins, pass 1", "fraction": 0.5}
        passes(0.0)
        assert told() == {"what": "measuring margins, pass 2", "fraction": 0.0} and passes.count == 2


def test_rows_and_steps(told: Callable[[], dict[str, object]]) -> None:
    with row_bar("sampling rows", 200) as rows:
        assert rows is not None
        rows(50)
        rows(50)
        assert told() == {"what": "sampling rows", "fraction": 0.5}
        rows(500)
        assert told()["fraction"] == 1.0
    with row_bar("sampling rows", None) as rows:
        assert rows is not None
        rows(50)
        assert told()["fraction"] == 0.0  # of how many is not known
    with step_bar("evaluating") as steps:
        assert steps is not None
        steps("learning", 0.25)
        assert told() == {"what": "evaluating: learning", "fraction": 0.25}


def test_fractions_are_not_written_more_often_than_anyone_looks(
    told: Callable[[], dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "WRITE_INTERVAL", 1e6)
    with pass_bar("reading rows") as passes:
        passes(0.0)
        passes(0.5)
        assert told()["fraction"] == 0.0
        passes.doing("working on pairs")  # words are told at once, with the fraction so far
        assert told() == {"what": "working on pairs", "fraction": 0.5}
