"""What the scripts that draw share: where pictures go, and plain figures of lines, boxes and bars."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).resolve().parent / "pictures"


def add_picture_options(parser: argparse.ArgumentParser) -> None:
    """--quick and --out, which every script that draws has."""
    parser.add_argument("--quick", action="store_true", help="fewer rows, runs and settings: minutes, not hours")
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder of the pictures")


def panels(titles: Sequence[str], across: str, up: str, width: float = 4.0) -> tuple[Any, list[Any]]:
    """A figure with one panel a title."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "sklar"}  # letters as text: a tenth of the size
    figure, axes = plt.subplots(1, len(titles), figsize=(width * len(titles), 3.4), squeeze=False)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set(title=title, xlabel=across, ylabel=up)
    return figure, list(axes[0])


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as SVG and say where."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    print(f"drawn: {folder / name}.svg")


def draw_lines(
    folder: Path, name: str, lines: Mapping[str, Mapping[str, Sequence[float]]], across: str, up: str,
    at: Sequence[Any],
) -> None:  # fmt: skip
    """One panel a key; in each, one line a label over the same places."""
    figure, axes = panels(list(lines), across, up)
    for axis, drawn in zip(axes, lines.values(), strict=True):
        for label, values in drawn.items():
            axis.plot(range(len(at)), values, marker="o", label=label)
        axis.set_xticks(range(len(at)), [str(place) for place in at])
        axis.legend(fontsize="x-small")
    save(figure, folder, name)


def draw_boxes(
    folder: Path, name: str, boxes: Mapping[str, Mapping[str, Sequence[float]]], across: str, up: str
) -> None:
    """One panel a key; in each, one box plot a label."""
    figure, axes = panels(list(boxes), across, up)
    for axis, drawn in zip(axes, boxes.values(), strict=True):
        axis.boxplot(list(drawn.values()))
        axis.set_xticks(range(1, len(drawn) + 1), list(drawn))
    save(figure, folder, name)
