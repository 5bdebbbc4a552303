"""The bytes of a text file as UTF-8: decompressed, transcoded, without byte-order mark, and free of NUL bytes."""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import Any

from sklar.errors import SourceError
from sklar.rows.shield import shielded
from sklar.rows.sources.files import FileStamp
from sklar.rows.sources.source import Progress

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_name(encoding: str) -> str:
    """The codec's own name; ASCII is a part of UTF-8."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, ValueError):
        raise SourceError("encoding is not the name of a known text encoding, as utf-8, latin-1 or utf-16") from None
    return "utf-8" if name in ("ascii", "utf-8-sig") else name


class Utf8Bytes(io.RawIOBase):
    """A readable stream of UTF-8 bytes of one text file.

    Args:
        stamp: The file; its compression is told by its ending.
        encoding: As stated; by default what the byte-order mark says, else UTF-8.
        progress: Told the fraction of the file that was read.
    """

    def __init__(self, stamp: FileStamp, encoding: str | None, progress: Progress | None):
        super().__init__()
        self._file = shielded(f"cannot read {stamp.path}", Path(stamp.path).open, "rb")
        self._stream = shielded(f"cannot read {stamp.path}", _decompressed, self._file, stamp.path)
        self._damaged = f"cannot read {stamp.path}: it is damaged or cut short"
        self._size, self._progress = stamp.size, progress
        self._waiting = shielded(self._damaged, self._stream.read, 4)
        marked = next(((mark, name) for mark, name in MARKS if self._waiting.startswith(mark)), None)
        self.encoding = encoding_name(encoding) if encoding else (marked[1] if marked else "utf-8")
        if marked and self.encoding == "utf-8":
            self._waiting = self._waiting.removeprefix(marked[0])
        self._decoder = codecs.getincrementaldecoder(self.encoding)()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At least one byte unless the file has ended; with a size, about that many source bytes at once."""
        while True:
            chunk = self._waiting or shielded(self._damaged, self._stream.read, size if size > 0 else -1)
            self._waiting = b""
            last = not chunk
            text = self._checked(chunk, last) if self.encoding == "utf-8" else self._transcoded(chunk, last)
            if b"\0" in text:
                raise SourceError(
                    "the file contains NUL bytes, which no text has; if it is UTF-16, state encoding='utf-16'"
                )
            if text or last:
                self._tell()
                return text

    def close(self) -> None:
        self._file.close()
        super().close()

    def _checked(self, chunk: bytes, last: bool) -> bytes:
        """UTF-8 as it is, after a look whether it is; ASCII, the usual case, needs no decoding."""
        if last or not chunk.isascii() or self._decoder.getstate()[0]:
            shielded(wrong_encoding(self.encoding), self._decoder.decode, chunk, last)
        return chunk

    def _transcoded(self, chunk: bytes, last: bool) -> bytes:
        return shielded(wrong_encoding(self.encoding), self._decoder.decode, chunk, last).encode(
            "utf-8", "surrogatepass"
        )

    def _tell(self) -> None:
        if self._progress and self._size:
            self._progress(min(1.0, self._file.tell() / self._size))


def wrong_encoding(encoding: str) -> str:
    """What to say about text that cannot be decoded."""
    return f"the file is not {encoding} text; state its encoding, as encoding='latin-1'"


def _decompressed(file: Any, path: str) -> Any:
    name = path.lower()
    if name.endswith(".gz"):
        import gzip

        return gzip.GzipFile(fileobj=file)
    if name.endswith(".bz2"):
        import bz2

        return bz2.BZ2File(file)
    if name.endswith((".zst", ".lz4")):
        import pyarrow as pa

        return pa.CompressedInputStream(file, "zstd" if name.endswith(".zst") else "lz4")
    return file
