"""The time that a job still takes is estimated from an earlier one of the same commands, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sklar.cli.terminal.progress import FileBar
from sklar.studio.timing import END, TIMES, describe_seconds, estimate_seconds_left, read_stages

EARLIER = {"fit": 100.0, "reading": 102.0, "margins": 150.0, "pairs": 180.0, END: 200.0}


@pytest.mark.parametrize(
    ("done", "now", "left"),
    [
        ({"fit": 0.0, "reading": 4.0, "margins": 100.0}, 110.0, 90.0),  # half as fast as the earlier one
        ({"fit": 0.0, "reading": 1.0, "margins": 25.0, "new": 30.0}, 30.0, 20.0),
        ({"fit": 0.0, "reading": 2.0}, 20.0, None),  # too little is done
        ({"fit": 0.0, "margins": 1.0}, 1.0, None),  # too little time
        ({"fit": 0.0, "margins": 50.0}, 300.0, None),  # longer than estimated: no number rather than a wrong one
        ({"other": 0.0}, 5.0, None),
    ],
)
def test_the_rest_takes_as_long_as_the_stages_done_suggest(
    done: dict[str, float], now: float, left: float | None
) -> None:
    found = estimate_seconds_left(done, EARLIER, now)
    assert found == (None if left is None else pytest.approx(left))
    assert estimate_seconds_left(done, {name: at for name, at in EARLIER.items() if name != END}, now) is None


def test_beginnings_of_stages_are_kept_beside_the_progress(tmp_path: Path) -> None:
    bar = FileBar(str(tmp_path / "progress"), "reading rows")
    bar.update(None, completed=0.5)
    bar.update(None, description="margins")
    bar.reset(None, description="margins", total=1.0)
    assert list(read_stages(tmp_path)) == ["reading rows", "margins"]
    (tmp_path / TIMES).write_text(json.dumps({"what": "fit", "at": 5}) + "\n{torn")
    assert read_stages(tmp_path) == {"fit": 5.0} and read_stages(tmp_path / "none") == {}


def test_times_left_are_rough() -> None:
    assert [describe_seconds(one) for one in (None, 0.2, 42.4, 400.0)] == [
        "", "about 1 s left", "about 42 s left", "about 7 min left",
    ]  # fmt: skip
