"""The privacy-utility plot marks what nobody beats, in every form."""

from __future__ import annotations

import stat
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from sklar.errors import UsageError
from sklar.lab.attacks.result import Number
from sklar.lab.intervals import Estimate
from sklar.lab.pictures import tradeoff, tradeoff_point
from sklar.report.charts.canvas import to_svg
from sklar.report.charts.plots import tradeoff_chart

POINTS = [
    tradeoff_point("vine <1>", (0.8, 0.7, 0.9), (0.55, 0.5, 0.6), group="vine"),
    tradeoff_point("vine 3", 0.9, 0.7, group="vine"),
    tradeoff_point("copies", 0.9, 0.95),
    tradeoff_point("noise", 0.5, 0.5),
]


def plot(**options: Any):  # type: ignore[no-untyped-def]
    return tradeoff(POINTS, utility="AUC", risk="privacy score", **options)


def test_the_undominated_are_those_nobody_beats() -> None:
    assert [p.name for p in plot().best] == ["vine <1>", "vine 3", "noise"]
    assert [p.name for p in plot(better_risk="higher").best] == ["copies"]


def test_equal_points_do_not_beat_each_other() -> None:
    twins = [tradeoff_point("a", 1.0, 0.5), tradeoff_point("b", 1.0, 0.5)]
    assert tradeoff(twins, utility="u", risk="r").best == tuple(twins)


def test_a_number_of_an_attack_is_a_risk() -> None:
    number = Number(name="n", title="t", says="s", attack=Estimate(value=0.6, low=0.5, high=0.7))
    assert tradeoff_point("x", 1, number).risk == (0.6, 0.5, 0.7)


def test_the_svg_is_whole_and_told_in_words() -> None:
    tree = ElementTree.fromstring(to_svg(tradeoff_chart(plot())))
    titles = [node.text or "" for node in tree.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 4 and titles[0].startswith("vine <1>: utility 0.800 (0.700 to 0.900)")
    assert sum("undominated" in title for title in titles) == 3
    alone = tradeoff([tradeoff_point("one", 0.0, (0.0, float("-inf"), float("inf")))], utility="u", risk="r")
    ElementTree.fromstring(to_svg(tradeoff_chart(alone)))


def test_files(tmp_path: Path) -> None:
    for name, start in (("p.svg", b"<svg"), ("p.png", b"\x89PNG")):
        plot(path=tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    with pytest.raises(UsageError, match=r"\.svg or \.png"):
        plot(path=tmp_path / "p.pdf")
    assert (tmp_path / "p.svg").read_text() == to_svg(tradeoff_chart(plot()))
    with pytest.raises(UsageError, match="no point"):
        tradeoff([], utility="u", risk="r", path=tmp_path / "q.svg")
    with pytest.raises(UsageError, match="higher"):
        plot(better_risk="up")
