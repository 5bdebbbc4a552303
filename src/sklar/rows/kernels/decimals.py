"""Reading numbers written as text, straight to grid cells, without an error for any text.

Accepted, after stripping ASCII spaces: an optional sign, digits with an optional point, an optional exponent; and
inf or infinity in any case. Everything else, nan included, is missing.
"""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import numpy as np

from sklar.arrays import compiled, compiled_part
from sklar.rows.kernels.cells import cell_of

MISSING, FINITE, INFINITE = 0, 1, 2
POWERS = np.array([float(f"1e{k}") for k in range(309)])
"""Correctly rounded powers of ten; exact up to 10^22."""
INTEGER_POWERS = np.array([10**k for k in range(20)], dtype=np.uint64)
INT64_TOP = np.uint64(2**63)
UNREAD = -1
"""Stands for the cell of a text that must be read by the slower, careful way."""


@compiled(error_model="numpy")
def is_space(byte):
    return byte == 32 or (9 <= byte <= 13)


@compiled_part(error_model="numpy")
def _word_kind(data, at, end):
    """Return INFINITE for inf and infinity in any case, else MISSING."""
    length = end - at
    if length != 3 and length != 8:
        return MISSING
    word = b"infinity"
    for k in range(length):
        if (data[at + k] | 32) != word[k]:
            return MISSING
    return INFINITE


@compiled_part(error_model="numpy")
def decimal_of(data, at, end):
    """Return (kind, negative, digits, exponent, more): the number is (digits + [0, 1) if more) * 10^exponent.

    Digits holds the first 19 significant digits, which always fit 64 bits.
    """
    zero = np.uint64(0)
    while at < end and is_space(data[at]):
        at += 1
    while end > at and is_space(data[end - 1]):
        end -= 1
    negative = False
    if at < end and (data[at] == 45 or data[at] == 43):
        negative = data[at] == 45
        at += 1
    digits, seen, kept, exponent, more, point = zero, 0, 0, 0, False, False
    while at < end:
        byte = data[at]
        if 48 <= byte <= 57:
            seen += 1
            if kept < 19:
                digits = digits * np.uint64(10) + np.uint64(byte - 48)
                kept += 1 if digits > zero else 0
                exponent -= 1 if point else 0
            else:
                more = more or byte != 48
                exponent += 0 if point else 1
        elif byte == 46 and not point:
            point = True
        else:
            break
        at += 1
    if seen == 0:
        return (MISSING if point else _word_kind(data, at, end)), negative, zero, 0, False
    if at < end:
        power, fine = _exponent_of(data, at, end)
        if not fine:
            return MISSING, negative, zero, 0, False
        exponent += power
    return FINITE, negative, digits, exponent, more


@compiled_part(error_model="numpy")
def _exponent_of(data, at, end):
    """Return (exponent, whether the text is e or E, an optional sign and digits)."""
    if (data[at] | 32) != 101:
        return 0, False
    at += 1
    negative = False
    if at < end and (data[at] == 45 or data[at] == 43):
        negative = data[at] == 45
        at += 1
    if at == end:
        return 0, False
    power = 0
    while at < end:
        if not 48 <= data[at] <= 57:
            return 0, False
        power = min(power * 10 + int(data[at] - 48), 1_000_000_000)
        at += 1
    return (-power if negative else power), True


@compiled_part(error_model="numpy")
def _rounded(digits, exponent, more):
    """Return the magnitude rounded to the nearest integer, ties to even; 2^63 stands for everything from there on."""
    if exponent >= 0:
        for _ in range(min(exponent, 20)):
            if digits >= INT64_TOP // np.uint64(10) + np.uint64(1):
                return INT64_TOP
            digits *= np.uint64(10)
        return min(digits, INT64_TOP)
    if exponent < -19:
        return np.uint64(0)
    power = INTEGER_POWERS[-exponent]
    whole, rest = digits // power, digits % power
    half = power // np.uint64(2)
    up = rest > half or (rest == half and (more or whole % np.uint64(2) == np.uint64(1)))
    return min(whole + np.uint64(1) if up else whole, INT64_TOP)


@compiled_part(error_model="numpy")
def _quick(data, at, end):
    """Return (negative, digits, decimals) of up to 19 digits, maybe with minus or point; else decimals are -1."""
    negative = at < end and data[at] == 45
    at += 1 if negative else 0
    digits, point, length = np.uint64(0), -1, end - at
    if length > 20 or length == 0:
        return negative, digits, -1
    for k in range(at, end):
        # Indices known to be positive spare the check for those counted from the end.
        byte = data[np.uintp(k)]
        digit = np.uint64(byte) - np.uint64(48)
        if digit <= np.uint64(9):
            digits = digits * np.uint64(10) + digit
        elif byte == 46 and point < 0:
            point = k
        else:
            return negative, digits, -1
    if point < 0:
        return negative, digits, (0 if length < 20 else -1)
    return negative, digits, (end - 1 - point if length > 1 else -1)


@compiled_part(error_model="numpy")
def _careful_integer(data, at, end):
    """Return (whether it is a number, its nearest int64)."""
    kind, negative, digits, exponent, more = decimal_of(data, at, end)
    if kind == MISSING:
        return False, np.int64(0)
    size = INT64_TOP if kind == INFINITE else _rounded(digits, exponent, more)
    if negative:
        return True, (-np.int64(size) if size < INT64_TOP else np.int64(-(2**63)))
    return True, (np.int64(size) if size < INT64_TOP else np.int64(2**63 - 1))


@compiled(error_model="numpy")
def integer_text_cells(data, begins, ends, valid, starts, first, low, inverse, missing, out):
    """Return the cell of each text read as an integer: exact over all of int64, beyond it clipped, fractions rounded.

    Texts that are more than digits get UNREAD, for `integer_text_values` to read: few files have any.
    """
    lowest, highest = starts[0], starts[-1]
    unit = float(highest) - float(lowest) == len(starts) - 1
    for i in range(len(begins)):
        out[i] = missing
        if not valid[i] or begins[i] == ends[i]:
            continue
        negative, digits, decimals = _quick(data, np.int64(begins[i]), np.int64(ends[i]))
        if decimals != 0 or digits >= INT64_TOP:
            out[i] = UNREAD
            continue
        x = -np.int64(digits) if negative else np.int64(digits)
        if unit:
            out[i] = min(max(x, lowest), highest) - lowest
        else:
            out[i] = cell_of(x, starts, first, low, inverse)


@compiled_part(error_model="numpy")
def _careful_real(data, at, end):
    """Return (kind, value, whether it is the correctly rounded one and not just within 4 units in the last place).

    With at most 2^53 in digits and a power up to 10^22 the product or quotient is the correctly rounded number.
    """
    kind, negative, digits, exponent, more = decimal_of(data, at, end)
    if kind == MISSING:
        return kind, 0.0, True
    exact = digits <= np.uint64(2**53) and not more and -22 <= exponent <= 22
    if kind == INFINITE or exponent > 308:
        x = np.inf if kind == INFINITE or digits > 0 else 0.0
        exact = True
    elif exponent < -308:
        x, exact = 0.0, digits == 0
    elif exponent >= 0:
        x = float(digits) * POWERS[exponent]
    else:
        x = float(digits) / POWERS[-exponent]
    return kind, (-x if negative else x), exact


@compiled(error_model="numpy")
def real_text_cells(data, begins, ends, valid, starts, first, low, inverse, missing, out, doubtful):
    """Return the cell of each text read as a real number, UNREAD where it is more than digits and a point; `doubtful`
    marks those whose cell is not certain.

    A value that is not correctly rounded is off by less than 4 units in the last place, so its cell is certain unless
    a start lies within that distance.
    """
    last = len(starts) - 1
    for i in range(len(begins)):
        out[i] = missing
        doubtful[i] = 0
        if not valid[i] or begins[i] == ends[i]:
            continue
        negative, digits, decimals = _quick(data, np.int64(begins[i]), np.int64(ends[i]))
        if decimals < 0:
            out[i] = UNREAD
            continue
        x = float(digits) / POWERS[decimals]
        x = -x if negative else x
        cell = cell_of(x, starts, first, low, inverse)
        out[i] = cell
        if digits > np.uint64(2**53):
            slack = abs(x) * 1e-15 + 1e-280
            inside = (cell == 0 or x - slack >= starts[cell]) and (cell == last or x + slack < starts[cell + 1])
            doubtful[i] = not inside


@compiled(error_model="numpy")
def integer_text_values(data, begins, ends, valid, out, fine):
    """Return each text read as an integer, as in `integer_text_cells`; `fine` marks where it is one."""
    for i in range(len(begins)):
        number, x = _careful_integer(data, np.int64(begins[i]), np.int64(ends[i]))
        out[i] = x
        fine[i] = valid[i] and number


@compiled(error_model="numpy")
def real_text_values(data, begins, ends, valid, out, doubtful):
    """Return each text read as a real number, NaN where it is none; `doubtful` marks those that may not be rounded
    right."""
    for i in range(len(begins)):
        kind, x, exact = _careful_real(data, np.int64(begins[i]), np.int64(ends[i]))
        number = valid[i] and kind != MISSING
        out[i] = x if number else np.nan
        doubtful[i] = number and not exact
