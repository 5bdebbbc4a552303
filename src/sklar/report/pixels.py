"""Grids of numbers as tiny PNG images inside the page: a hundred columns squared weigh a few kilobytes."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Sequence

from sklar.report.colors import Color


def grid_image(rows: Sequence[Sequence[float]], color: Callable[[float], Color]) -> str:
    """A data address of an image with one pixel a number, the first row on top."""
    height, width = len(rows), len(rows[0]) if rows else 0
    raw = b"".join(b"\0" + b"".join(bytes(color(x)) for x in row) for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(raw, 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
