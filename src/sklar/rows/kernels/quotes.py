"""Following the quotes of delimited text, to tell whether it ends inside one."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from numba import njit

CELL_START, PLAIN, QUOTED, AFTER_QUOTE = 0, 1, 2, 3


@njit(nogil=True, cache=True)
def quote_state(data, delimiter, state):
    """State after these bytes. A quote opens at the start of a cell only; inside, two of them stand for one."""
    for byte in data:
        if state == QUOTED:
            state = AFTER_QUOTE if byte == 34 else QUOTED
        elif state == AFTER_QUOTE and byte == 34:
            state = QUOTED
        elif byte == delimiter or byte == 10 or byte == 13:
            state = CELL_START
        elif byte == 34 and state == CELL_START:
            state = QUOTED
        else:
            state = PLAIN
    return state
