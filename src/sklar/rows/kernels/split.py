"""Splitting delimited text into cells: where each wanted cell starts and ends, without reading any of them."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import numpy as np

from sklar.arrays import compiled, compiled_part

FINE, RAGGED, OPEN_QUOTE = 0, 1, 2
QUOTE, LINE_FEED, RETURN = 34, 10, 13


@compiled_part(error_model="numpy")
def _quoted_cell(data, at, stop, delimiter, spare):
    """Return (start, end, place after the cell, end of the spare room used); the place is -1 if the text ends too soon.

    Two quotes inside stand for one. Such a cell, and one with text after its closing quote, is put together in the
    spare room behind the text, so that the text itself stays as it was.
    """
    left = at + 1
    at = left
    while at < stop and data[at] != QUOTE:
        at += 1
    if at + 1 < stop and (data[at + 1] == delimiter or data[at + 1] == LINE_FEED or data[at + 1] == RETURN):
        return left, at, at + 1, spare
    start = spare
    for k in range(left, min(at, stop)):
        data[spare] = data[k]
        spare += 1
    quoted = True
    while at < stop:
        byte = data[at]
        if quoted and byte == QUOTE:
            if at + 1 < stop and data[at + 1] == QUOTE:
                at += 1
            else:
                quoted = False
                at += 1
                continue
        elif not quoted and byte in (delimiter, LINE_FEED, RETURN):
            break
        data[spare] = byte
        spare += 1
        at += 1
    return start, spare, (-1 if quoted else at), spare


@compiled(error_model="numpy")
def split_cells(data, stop, final, delimiter, slots, starts, ends):
    """Split all complete rows; return (rows, bytes used, fault).

    Lines end with LF, CR or both; blank lines are skipped. A quote opens at the start of a cell only.

    Args:
        data: The text in data[:stop], one byte to spare, and as much room again.
        stop: Number of bytes of text.
        final: Whether no more text follows, so that the last row needs no line break.
        delimiter: The byte between cells.
        slots: For each column of the file the row of `starts` and `ends` it goes to, or -1.
        starts: Place of the first byte of each wanted cell, one row of the matrix a wanted column.
        ends: Place after the last byte.
    """
    width, capacity = len(slots), starts.shape[1]
    at = rows = used = np.int64(0)
    ending = np.zeros(256, dtype=np.bool_)
    ending[delimiter] = ending[LINE_FEED] = ending[RETURN] = True
    # A line break behind the text stops the innermost loop, which so need not watch for the end.
    data[stop] = LINE_FEED
    spare = np.int64(stop + 1)
    while at < stop and rows < capacity:
        if data[at] == LINE_FEED or data[at] == RETURN:
            at += 1
            used = at
            continue
        column = 0
        while True:
            if at < stop and data[at] == QUOTE:
                left, right, after, spare = _quoted_cell(data, at, stop, delimiter, spare)
                if after < 0 or (after >= stop and not final):
                    return rows, used, (OPEN_QUOTE if final else FINE)
                at = after
            else:
                left = at
                while not ending[data[np.uintp(at)]]:
                    at += 1
                right = at
                if at >= stop and not final:
                    return rows, used, FINE
            if column < width and slots[column] >= 0:
                starts[slots[column], rows] = left
                ends[slots[column], rows] = right
            column += 1
            if at < stop and data[at] == delimiter:
                at += 1
            else:
                break
        if column != width:
            return rows, used, RAGGED
        rows += 1
        at += 1
        used = min(at, stop)
    return rows, used, FINE


@compiled()
def gather(data, begins, ends, out):
    """Put cells one after the other."""
    at = 0
    for i in range(len(begins)):
        for k in range(begins[i], ends[i]):
            out[at] = data[k]
            at += 1
