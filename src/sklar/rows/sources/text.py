"""Delimited text files (CSV, TSV): every cell is read as text, so that no type is ever guessed from values."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.errors import SourceError
from sklar.rows.encode.text import Text
from sklar.rows.sources.source import ColumnBatch, FileStamp, Progress, Source, SourceOptions, call_shielded, suffix_of
from sklar.schema import Schema
from sklar.schema.address import find_scheme, remove_secrets

BLOCK_BYTES = 4 << 20
"""Bytes read and split at once: more takes memory, less leaves few rows for each column of a wide table."""
MAX_ROW_BYTES = 128 << 20
"""Longest row: a quote that is never closed must not fill the memory."""
MAX_HEADER_BYTES = 16 << 20
"""Longest header, for the same reason."""
NUMBER = re.compile(
    r"[-+]?[$€£]?[0-9]*[.,]?[0-9]+[.,]?(e[-+]?[0-9]+)?[%$€£]?|[0-9]{1,4}([-/.])[0-9]{1,2}\2[0-9]{1,4}([ T].*)?", re.I
)
"""A number or a day, which is not a name of a column, unless columns are numbered."""
MIN_YEARS = 3
"""Minimum number of consecutive years in a first line that are taken for column names instead of values."""
RAGGED_FAULT = "the file is ragged: a row has more or fewer cells than the header; check delimiter and quotes"
QUOTE_FAULT = "a quote is opened in the file and never closed; close it, or double it inside a cell"


class TextFile(Source):
    """One delimited text file with a header."""

    reads_ahead = True
    what = "the text file"

    def __init__(self, path: str, options: SourceOptions):
        self._stamp, self._options = FileStamp(path), options
        tabbed = suffix_of(path) in (".tsv", ".tab")
        stated = "\t" if tabbed and options.delimiter is None else options.delimiter
        if stated is not None and (len(stated) != 1 or not stated.isascii() or stated in '"\r\n\0'):
            raise SourceError("delimiter must be one ASCII character other than a quote or a line break")
        with Utf8Bytes(self._stamp, options.encoding, None) as stream:
            line, _ = _first_line(stream)
            header = read_header(decode_text(line), options.schema, stated)
            encoding = stream.encoding if _is_utf8(line) else "cp1252"
        super().__init__(header.names, options.progress, [self._stamp])
        self._delimiter = ord(header.delimiter)
        self.dialect = header.delimiter, encoding
        """What separates cells, and the encoding that was stated or that mark and header show."""

    def scan(self, columns: Sequence[str]) -> Iterator[ColumnBatch]:
        with Utf8Bytes(self._stamp, self._options.encoding, self._options.progress) as stream:
            _, rest = _first_line(stream)
            yield from self._split(stream, rest, columns)

    def _split(self, stream: Utf8Bytes, rest: bytes, columns: Sequence[str]) -> Iterator[ColumnBatch]:
        """Split block after block; what follows the last whole row of a block waits for the next."""
        wanted = {name: at for at, name in enumerate(columns)}
        slots = np.array([wanted.get(name, -1) for name in self.column_names], dtype=np.int32)
        # A wide table needs bigger blocks, or each would hold a few rows only.
        size = min(max(BLOCK_BYTES, 4096 * len(slots)), MAX_ROW_BYTES // 2)
        final = False
        while not final:
            chunk = stream.read(size)
            final = not chunk
            block = rest + chunk
            batch, used = _split_block(block, final, self._delimiter, slots, len(columns))
            rest = block[used:]
            if batch.num_rows:
                yield batch
            # A row that is longer than a block: read more at a time, so that the whole is not split again and again.
            size = max(size, min(2 * len(rest), MAX_ROW_BYTES))
            if len(rest) > MAX_ROW_BYTES:
                raise SourceError("a row of the file is longer than 128 MB, or " + QUOTE_FAULT)


def _split_block(block: bytes, final: bool, delimiter: int, slots: Any, wanted: int) -> tuple[ColumnBatch, int]:
    """Return (the complete rows of a block, their number of bytes)."""
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
    data.flags.writeable = False  # as text from Arrow is: loops are then compiled once for both
    begins, ends = begins[:, :rows], ends[:, :rows]
    if not _is_utf8(block[:used]):
        data, begins, ends = _decode_cells(data, begins, ends)
    valid = np.ones(rows, dtype=bool)
    texts = [Text(data=data, begins=b, ends=e, valid=valid) for b, e in zip(begins, ends, strict=True)]
    return ColumnBatch(num_rows=rows, columns=tuple(texts)), used


def decode_text(text: bytes) -> str:
    """Decode UTF-8, or else Windows-1252, the usual encoding of files that are not UTF-8.

    The five bytes that Windows-1252 leaves out are taken for the control characters of Latin-1.
    """
    try:
        return text.decode()
    except UnicodeDecodeError:
        return "".join(map(_WINDOWS_1252.__getitem__, text))


_WINDOWS_1252 = [bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)]


def _is_utf8(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _decode_cells(data: Any, begins: Any, ends: Any) -> tuple[Any, Any, Any]:
    """Return the cells of a block of which some are not UTF-8: each of those is decoded by itself, and added at the
    end.

    Delimiters, quotes and line breaks are the same bytes in both encodings, so that cells end where they end anyway.
    """
    begins, ends, strange = begins.copy(), ends.copy(), np.concatenate([[0], np.cumsum(data > 127)])
    more: list[bytes] = []
    end = len(data)
    for place in zip(*np.nonzero(strange[ends] > strange[begins]), strict=True):
        cell = data[begins[place] : ends[place]].tobytes()
        if not _is_utf8(cell):
            more.append(decode_text(cell).encode())
            begins[place], ends[place] = end, end + len(more[-1])
            end += len(more[-1])
    data = np.concatenate([data, np.frombuffer(b"".join(more), dtype=np.uint8)])
    data.flags.writeable = False
    return data, begins, ends


def _first_line(stream: Utf8Bytes) -> tuple[bytes, bytes]:
    """Return (header line, what was read beyond it)."""
    text = b""
    while len(text) < MAX_HEADER_BYTES:
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


MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_name(encoding: str) -> str:
    """Return the codec's own name; ASCII is a part of UTF-8."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, ValueError):
        raise SourceError(
            "encoding is not the name of a known text encoding, such as utf-8, latin-1 or utf-16"
        ) from None
    return "utf-8" if name in ("ascii", "utf-8-sig") else name


class Utf8Bytes(io.RawIOBase):
    """The bytes of one text file: decompressed by its ending, transcoded to UTF-8 from the stated encoding or
    the one of its byte-order mark, without that mark, and free of NUL bytes. Bytes of a file that says nothing about
    its encoding stay as they are: each cell is decoded by itself (`decode_text`).
    """

    def __init__(self, stamp: FileStamp, encoding: str | None, progress: Progress | None):
        super().__init__()
        self._file = call_shielded(f"cannot read {remove_secrets(stamp.path)}", stamp.open)
        self._stream = call_shielded(f"cannot read {remove_secrets(stamp.path)}", _decompress, self._file, stamp.path)
        self._damaged = f"cannot read {remove_secrets(stamp.path)}: it is damaged or cut short"
        self._size, self._progress = stamp.size, progress
        self._waiting = call_shielded(self._damaged, self._stream.read, 4)
        marked = next(((mark, name) for mark, name in MARKS if self._waiting.startswith(mark)), None)
        self.encoding = encoding_name(encoding) if encoding else (marked[1] if marked else "utf-8")
        if marked and self.encoding == "utf-8":
            self._waiting = self._waiting.removeprefix(marked[0])
        self._unstated = encoding is None and self.encoding == "utf-8"
        self._decoder = codecs.getincrementaldecoder(self.encoding)()

    def close(self) -> None:
        self._file.close()
        super().close()

    def read(self, size: int = -1) -> bytes:
        """Return at least one byte unless the file has ended: about `size` bytes of the source at once."""
        while True:
            chunk = self._waiting or call_shielded(self._damaged, self._stream.read, size)
            self._waiting = b""
            last = not chunk
            text = chunk if self._unstated else self._transcode(chunk, last)
            if b"\0" in text:
                raise SourceError(
                    "the file contains NUL bytes, which no text has; if it is UTF-16, state encoding='utf-16'"
                )
            if text or last:
                if self._progress and self._size:
                    self._progress(min(1.0, self._file.tell() / self._size))
                return text

    def _transcode(self, chunk: bytes, last: bool) -> bytes:
        """Transcode text to UTF-8; ASCII, the usual case, needs no decoding."""
        if self.encoding == "utf-8" and not last and chunk.isascii() and not self._decoder.getstate()[0]:
            return chunk
        fault = f"the file is not {self.encoding} text; state its encoding, such as encoding='latin-1'"
        text = call_shielded(fault, self._decoder.decode, chunk, last)
        return text.encode("utf-8", "surrogatepass")


def _decompress(file: Any, path: str) -> Any:
    name = path.lower().partition("?")[0] if find_scheme(path) else path.lower()
    if name.endswith(".gz"):
        import gzip

        return gzip.GzipFile(fileobj=file)
    if name.endswith(".bz2"):
        import bz2

        return bz2.BZ2File(file)
    if name.endswith((".zst", ".lz4")):
        return pa.CompressedInputStream(file, "zstd" if name.endswith(".zst") else "lz4")
    return file


DELIMITERS = (",", "\t", ";", "|")
_MARKS = re.compile(rb'"+|[\r\n]')


@dataclass(frozen=True, slots=True, kw_only=True)
class TextHeader:
    """Names in order and the delimiter between them."""

    names: tuple[str, ...]
    delimiter: str


def header_end(text: bytes) -> int | None:
    """Return the number of bytes up to and with the end of the first line that is not blank; None if the text ends
    before.

    A line break inside quotes belongs to a name. As in cells, quotes open at the start of a name only.
    """
    start = len(text) - len(text.lstrip(b"\r\n"))
    if text.find(b"\n", start) < 0 and text.find(b"\r", start) < 0:
        return None
    quoted = False
    for mark in _MARKS.finditer(text, start):
        at, byte = mark.start(), mark.group()
        if byte[0] == 34:
            if len(byte) % 2:  # a pair of quotes leaves everything as it is
                quoted = not quoted and (at == start or not _in_a_word(text[at - 1]))
        elif not quoted and byte == b"\n":
            return at + 1
        elif not quoted and at + 1 < len(text):
            return at + 1 + (text[at + 1] == 10)
    return None


def _in_a_word(byte: int) -> bool:
    """Return whether a quote after this byte is a sign inside a name, as in 5" pipe."""
    return byte > 127 or chr(byte).isalnum()


def read_header(line: str, schema: Schema | None, delimiter: str | None) -> TextHeader:
    """Split the header line; without a stated delimiter, the one that shows most names (of the schema)."""
    line = line.strip("\r\n")
    if not line.strip():
        raise SourceError("the file is empty: it needs a header line with the names of the columns")
    if delimiter is not None:
        return _check_header(TextHeader(names=_split(line, delimiter, schema), delimiter=delimiter), schema)
    headers = [TextHeader(names=_split(line, mark, schema), delimiter=mark) for mark in DELIMITERS]
    if schema is None:
        return _check_header(max(headers, key=lambda header: len(header.names)), None)
    wanted = set(schema.modelled)
    return _check_header(max(headers, key=lambda header: len(wanted.intersection(header.names))), schema)


def _split(line: str, delimiter: str, schema: Schema | None) -> tuple[str, ...]:
    try:
        fields = next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        fields = line.split(delimiter)
    known = schema or ()  # a name of the schema may have blanks around it
    return tuple(field if field in known else field.strip() for field in fields)


def _check_header(header: TextHeader, schema: Schema | None) -> TextHeader:
    """Check a header; names of the file are shown only if the schema has them: without a header they are cells."""
    if schema is not None and not set(header.names) & set(schema.names):
        return header  # There seems to be no header: the check of columns reports it better.
    # A first column without a name holds row names, as R and pandas write them; no schema can ask for it.
    blank = [place for place, name in enumerate(header.names, 1) if not name and (place > 1 or len(header.names) == 1)]
    if blank:
        raise SourceError(f"the header of the file has no name for column number {blank[0]}; name it or drop it")
    first: dict[str, int] = {}
    for place, name in enumerate(header.names, 1):
        if name in first:
            shown = f" ('{name}')" if schema is not None and name in schema else ""
            raise SourceError(f"columns number {first[name]} and {place} of the file have the same name{shown}")
        first[name] = place
    if schema is None:
        _require_names(header.names)
    return header


def _require_names(names: tuple[str, ...]) -> None:
    """Refuse a row in place of the header: numbers there must be consecutive, as 0, 1, 2 or as years."""
    numbers = [(place, name) for place, name in enumerate(names, 1) if NUMBER.fullmatch(name)]
    if not numbers:
        return
    first, every = numbers[0][1], len(numbers) == len([name for name in names if name])
    counts = (first in ("0", "1") and every) or (len(first) == 4 and first.isdigit() and len(numbers) >= MIN_YEARS)
    if not counts or [name for _, name in numbers] != [str(int(first) + step) for step in range(len(numbers))]:
        raise SourceError(
            f"the first line of the file seems to be a row: column number {numbers[0][0]} has a number or a day for a "
            "name; add a line with the names of the columns"
        )
