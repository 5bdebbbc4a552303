"""Delimited text files (CSV, TSV): every cell is read as text, so that no type is ever guessed from values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sklar.errors import SourceError
from sklar.rows.encode.text import Text
from sklar.rows.sources.bytes import Utf8Bytes, wrong_encoding
from sklar.rows.sources.files import FileStamp, suffix_of
from sklar.rows.sources.header import header_end, read_header
from sklar.rows.sources.source import ColumnBatch, Source, SourceOptions

BLOCK_BYTES = 4 << 20
LARGEST_BLOCK = 128 << 20
LARGEST_HEADER = 16 << 20
RAGGED_FAULT = "the file is ragged: a row has more or fewer cells than the header; check delimiter and quotes"
QUOTE_FAULT = "a quote is opened in the file and never closed; close it, or double it inside a cell"


class TextFile(Source):
    """One delimited text file with a header."""

    reads_ahead = True
    what = "the text file"

    def __init__(self, path: str, options: SourceOptions):
        self._stamp, self._options = FileStamp(path), options
        super().__init__(options.progress, [self._stamp])
        tabbed = suffix_of(path) in (".tsv", ".tab")
        stated = "\t" if tabbed and options.delimiter is None else options.delimiter
        if stated is not None and (len(stated) != 1 or not stated.isascii() or stated in '"\r\n\0'):
            raise SourceError("delimiter must be one ASCII character other than a quote or a line break")
        with Utf8Bytes(self._stamp, options.encoding, None) as stream:
            line, _ = _first_line(stream)
            self._header = read_header(_decoded(line, stream.encoding), options.schema, stated)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._header.names

    def scan(self, columns: Sequence[str]) -> Iterator[ColumnBatch]:
        with Utf8Bytes(self._stamp, self._options.encoding, self._options.progress) as stream:
            _, rest = _first_line(stream)
            yield from self._split(stream, rest, columns)

    def _split(self, stream: Utf8Bytes, rest: bytes, columns: Sequence[str]) -> Iterator[ColumnBatch]:
        """Split block after block; what follows the last whole row of a block waits for the next."""
        slots = self._slots(columns)
        # A wide table needs bigger blocks, or each would hold a few rows only.
        size = min(max(BLOCK_BYTES, 4096 * len(slots)), LARGEST_BLOCK // 2)
        final = False
        while not final:
            chunk = stream.read(size)
            final = not chunk
            block = rest + chunk
            batch, used = _split_block(block, final, ord(self._header.delimiter), slots, len(columns))
            rest = block[used:]
            if batch.num_rows:
                yield batch
            # A row that is longer than a block: read more at a time, so that the whole is not split again and again.
            size = max(size, min(2 * len(rest), LARGEST_BLOCK))
            if len(rest) > LARGEST_BLOCK:
                raise SourceError("a row of the file is longer than 128 MB, or " + QUOTE_FAULT)

    def _slots(self, columns: Sequence[str]) -> Any:
        wanted = {name: at for at, name in enumerate(columns)}
        return np.array([wanted.get(name, -1) for name in self._header.names], dtype=np.int32)


def _split_block(block: bytes, final: bool, delimiter: int, slots: Any, wanted: int) -> tuple[ColumnBatch, int]:
    """(the whole rows of a block, the number of bytes they take)."""
    from sklar.rows.kernels.split import OPEN_QUOTE, RAGGED, split_cells

    data = np.empty(2 * len(block) + 1, dtype=np.uint8)
    data[: len(block)] = np.frombuffer(block, dtype=np.uint8)
    most = len(block) // max(len(slots), 1) + 1
    begins, ends = np.empty((wanted, most), dtype=np.int32), np.empty((wanted, most), dtype=np.int32)
    split: Any = split_cells(data, len(block), final, delimiter, slots, begins, ends)
    rows, used, fault = map(int, split)
    if fault == RAGGED:
        raise SourceError(RAGGED_FAULT)
    if fault == OPEN_QUOTE:
        raise SourceError(QUOTE_FAULT)
    valid = np.ones(rows, dtype=bool)
    texts = [Text(data=data, begins=b[:rows], ends=e[:rows], valid=valid) for b, e in zip(begins, ends, strict=True)]
    return ColumnBatch(num_rows=rows, columns=tuple(texts)), used


def _first_line(stream: Utf8Bytes) -> tuple[bytes, bytes]:
    """(header line, what was read beyond it)."""
    text = b""
    while len(text) < LARGEST_HEADER:
        chunk = stream.read(max(1 << 16, len(text)))  # doubling, so that a long header is not looked at again and again
        text += chunk
        end = header_end(text if chunk else text + b"\n")
        if end is not None:
            return text[:end], text[end:]
        if not chunk and text.strip(b"\r\n"):
            raise SourceError(QUOTE_FAULT)
        if not chunk:
            return text, b""
    raise SourceError("the header line of the file does not end within 16 MB; is it a text file?")


def _decoded(line: bytes, encoding: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise SourceError(wrong_encoding(encoding))
