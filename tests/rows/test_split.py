"""Splitting text into cells agrees with Python's csv module, wherever the blocks are cut."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sklar.errors import SourceError
from sklar.rows.sources.source import SourceOptions
from sklar.rows.sources.text import QUOTE_FAULT, RAGGED_FAULT, TextFile

cells = st.text('ab,;"\n\ré \t', max_size=6)


class Pieces:
    """A stream that gives a few bytes at a time, whatever is asked for."""

    def __init__(self, content: bytes, size: int):
        self.content, self.size, self.at = content, size, 0

    def read(self, size: int) -> bytes:
        self.at += self.size
        return self.content[self.at - self.size : self.at]


@pytest.fixture(scope="module")
def opened(write: Any) -> Any:
    def make(width: int, delimiter: str) -> TextFile:
        return TextFile(
            str(write(delimiter.join(f"c{k}" for k in range(width)))), SourceOptions(schema=None, delimiter=delimiter)
        )

    return {(width, mark): make(width, mark) for width in (1, 2, 3) for mark in ",;\t"}


def split(source: TextFile, content: bytes, size: int, columns: list[str]) -> list[list[str]]:
    rows: list[list[str]] = []
    for batch in source._split(Pieces(content, size), b"", columns):  # type: ignore[arg-type]
        texts = [[text.entry(i).decode() for i in range(len(text))] for text in batch.columns]
        assert texts == [text.to_arrow().to_pylist() for text in batch.columns]
        rows += [list(row) for row in zip(*texts, strict=True)]
    return rows


@given(
    table=st.integers(1, 3).flatmap(
        lambda w: st.lists(st.lists(cells, min_size=w, max_size=w), min_size=1, max_size=6)
    ),
    mark=st.sampled_from(",;\t"),
    line=st.sampled_from(["\n", "\r\n", "\r"]),
    everything=st.booleans(),
    size=st.integers(1, 40),
    end=st.booleans(),
)
def test_written_tables_come_back(
    table: Any, mark: str, line: str, everything: bool, size: int, end: bool, opened: Any
) -> None:
    lines = [mark.join(_quoted(cell, everything or len(row) == 1) for cell in row) for row in table]
    text = line.join(lines) + line * end
    width = len(table[0])
    names = [f"c{k}" for k in range(width)]
    assert split(opened[width, mark], text.encode(), size, names) == table
    assert split(opened[width, mark], text.encode(), size, names[-1:]) == [row[-1:] for row in table]


@given(text=st.text('ab,"\n', max_size=25), size=st.integers(1, 30))
@example(text='"a""b"c"d,"\n"', size=3)
@example(text='a"b,c\n"x"y,', size=1)
def test_any_text_is_split_as_the_csv_module_does(text: str, size: int, opened: Any) -> None:
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    open_quote = _ends_inside_a_quote(text)
    ragged = any(len(row) != 2 for row in rows)
    try:
        found = split(opened[2, ","], text.encode(), size, ["c0", "c1"])
    except SourceError as error:
        assert (str(error) == QUOTE_FAULT and open_quote) or (str(error) == RAGGED_FAULT and ragged)
        return
    assert found == rows and not open_quote and not ragged


def _quoted(cell: str, always: bool) -> str:
    return '"' + cell.replace('"', '""') + '"' if always or any(c in cell for c in ',;\t"\r\n') else cell


def _ends_inside_a_quote(text: str) -> bool:
    """The csv module takes an open quote for closed at the end; a mark behind the text shows whether it was."""
    return list(csv.reader(io.StringIO(text + "\n\n!", newline="")))[-1] != ["!"]
