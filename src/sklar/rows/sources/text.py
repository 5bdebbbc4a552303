"""Delimited text files (CSV, TSV): every cell is read as text, so that no type is ever guessed from values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sklar.errors import SklarError, SourceError
from sklar.rows.sources.bytes import Utf8Bytes, wrong_encoding
from sklar.rows.sources.files import FileStamp, suffix_of
from sklar.rows.sources.header import header_end, read_header
from sklar.rows.sources.source import ReadOptions, Source

BLOCK_BYTES = 4 << 20
LARGEST_BLOCK = 256 << 20
LARGEST_HEADER = 64 << 20


class TextFile(Source):
    """One delimited text file with a header."""

    what = "the text file"

    def __init__(self, path: str, options: ReadOptions):
        super().__init__()
        self._stamp, self._options = FileStamp(path), options
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

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        self._stamp.require_unchanged()
        with Utf8Bytes(self._stamp, self._options.encoding, self._options.progress) as stream:
            _, rest = _first_line(stream)
            body = _Rest(stream, rest)
            yield from self._parsed(body, columns)
        if body.quotes % 2:
            self._require_closed_quotes()

    def _require_closed_quotes(self) -> None:
        """Arrow takes a quote that is never closed for one long cell, and so would lose all rows after it."""
        from sklar.rows.kernels.quotes import CELL_START, QUOTED, quote_state

        state = CELL_START
        with Utf8Bytes(self._stamp, self._options.encoding, None) as stream:
            while chunk := stream.read(BLOCK_BYTES):
                state = quote_state(np.frombuffer(chunk, np.uint8), ord(self._header.delimiter), state)
        if state == QUOTED:
            raise SourceError("a quote is opened in the file and never closed; close it, or double it inside a cell")

    def _parsed(self, stream: _Rest, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow.csv as pv

        if stream.blank():
            return
        names = [str(place) for place in range(len(self._header.names))]
        place = dict(zip(self._header.names, names, strict=True))
        wanted = [place[name] for name in columns]
        reader = _shown_faults(
            lambda: pv.open_csv(stream, *_settings(names, wanted, self._header.delimiter)), stream.encoding
        )
        while (batch := _shown_faults(lambda: _next(reader), stream.encoding)) is not None:
            yield batch.rename_columns(list(columns))


class _Rest:
    """A stream from which some bytes were already taken; counts the quotes that pass."""

    closed = False

    def __init__(self, stream: Utf8Bytes, taken: bytes):
        self._stream, self._taken = stream, taken
        self.encoding, self.quotes = stream.encoding, 0

    def blank(self) -> bool:
        """Whether nothing but line breaks is left; looks ahead until something else is found."""
        while not self._taken.strip(b"\r\n"):
            self._taken = self._stream.read(BLOCK_BYTES)
            if not self._taken:
                return True
        return False

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; some unless the file has ended."""
        chunk = self._taken or self._stream.read(size)
        if size > 0 and len(chunk) > size:
            chunk, self._taken = chunk[:size], chunk[size:]
        else:
            self._taken = b""
        self.quotes += chunk.count(b'"')
        return chunk

    def close(self) -> None:
        """The owner of the stream closes it."""

    def readable(self) -> bool:
        """Arrow asks."""
        return True


def _settings(names: Sequence[str], wanted: Sequence[str], delimiter: str) -> tuple[Any, Any, Any]:
    import pyarrow as pa
    import pyarrow.csv as pv

    # A wide table needs bigger blocks, or each would hold a few rows only.
    block = min(max(BLOCK_BYTES, 4096 * len(names)), LARGEST_BLOCK)
    reading = pv.ReadOptions(column_names=list(names), block_size=block, use_threads=True)
    parsing = pv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    converting = pv.ConvertOptions(
        include_columns=list(wanted),
        column_types={name: pa.string() for name in wanted},
        null_values=[],
        strings_can_be_null=False,
        auto_dict_encode=False,
    )
    return reading, parsing, converting


def _first_line(stream: Utf8Bytes) -> tuple[bytes, bytes]:
    """(header line, what was read beyond it)."""
    text = b""
    while len(text) < LARGEST_HEADER:
        chunk = stream.read(1 << 16)
        text += chunk
        end = header_end(text) if chunk else len(text)
        if end is not None:
            return text[:end], text[end:]
    raise SourceError("the header line of the file does not end within 64 MB; is it a text file?")


def _decoded(line: bytes, encoding: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise SourceError(wrong_encoding(encoding))


def _next(reader: Any) -> Any:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None


def _shown_faults(call: Any, encoding: str) -> Any:
    """Run a step of Arrow's reader and name a fault by its kind; Arrow's own words quote the line."""
    try:
        return call()
    except (SklarError, MemoryError):
        raise
    except Exception as error:
        words = str(error)
    raise SourceError(_fault(words, encoding))


def _fault(words: str, encoding: str) -> str:
    if "UTF8" in words or "UTF-8" in words:
        return wrong_encoding(encoding)
    if "columns, got" in words:
        return "the file is ragged: a row has more or fewer cells than the header; check delimiter and quotes"
    if "straddl" in words or "block" in words:
        return "a row of the file is too long, or a quote is never closed"
    return "the file cannot be read as delimited text; check delimiter, quotes and encoding"
