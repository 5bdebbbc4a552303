"""Hold-outs: every row on one side, cells as they were, people together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import SourceError, UsageError


def test_each_row_goes_to_one_side_as_it_was_written(tmp_path: Path) -> None:
    lines = [f'{i:03d},"a, b",,1.50' for i in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["k,text,none,x", *lines]) + "\n")
    train, held = tmp_path / "train.csv", tmp_path / "held.csv"
    words = ["split", str(tmp_path / "t.csv"), "-o", str(train), "--holdout", str(held), "--seed", "1"]
    assert CliRunner().invoke(app, words).exit_code == 0
    both = train.read_text().splitlines()[1:], held.read_text().splitlines()[1:]
    assert [len(side) for side in both] == [80, 20] and sorted([*both[0], *both[1]]) == lines
    assert train.stat().st_mode & 0o077 == 0 and held.stat().st_mode & 0o077 == 0
    again = sklar.split(tmp_path / "t.csv", seed=1)[1]
    assert again["k"].to_pylist() == [line[:3] for line in both[1]]


def test_people_stay_together() -> None:
    frame = pd.DataFrame({"who": [i // 4 for i in range(400)], "x": range(400)})
    train, held = sklar.split(frame, share=0.25, key="who", seed=2)
    assert not set(train["who"].to_pylist()) & set(held["who"].to_pylist())
    assert held.num_rows == 100 and train.num_rows == 300


def test_rows_without_a_key_form_a_group_of_their_own() -> None:
    """A missing key differs from every key, the first one included."""
    table = {"who": ["a", None, "b", None], "x": [1, 2, 3, 4]}
    held = [set(sklar.split(table, share=0.4, key="who", seed=seed)[1]["x"].to_pylist()) for seed in range(20)]
    assert {frozenset(rows) for rows in held} == {frozenset({1}), frozenset({2, 4}), frozenset({3})}


def test_the_command_passes_on_share_and_key(tmp_path: Path) -> None:
    pd.DataFrame({"who": [i // 4 for i in range(80)], "x": range(80)}).to_csv(tmp_path / "t.csv", index=False)
    train, held = tmp_path / "train.csv", tmp_path / "held.csv"
    words = ["split", str(tmp_path / "t.csv"), "-o", str(train), "--holdout", str(held)]
    assert CliRunner().invoke(app, [*words, "--share", "0.4", "--key", "who", "--seed", "1"]).exit_code == 0
    people = [set(pd.read_csv(path)["who"]) for path in (train, held)]
    assert not people[0] & people[1] and len(people[1]) == 8 and len(pd.read_csv(held)) == 32


@pytest.mark.parametrize(
    ("data", "options", "error"),
    [
        ({"a": [1, 2]}, {"share": 1.0}, UsageError),
        ({"a": [1, 2]}, {"key": "b"}, UsageError),
        ({"a": [1, 1]}, {"key": "a"}, UsageError),
        ({"a": [1]}, {}, SourceError),
        ({"a": [1, 2]}, {"train": "x.docx"}, UsageError),
    ],
)
def test_what_cannot_be_split_is_refused(data: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        sklar.split(data, **options)
