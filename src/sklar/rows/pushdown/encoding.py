"""The code of a column as SQL, exactly that of `sklar.rows.encode`; or the reason why it cannot be said.

Where only a few values matter (truth values, labels), the encoder itself computes their codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.rows.encode import encoder_of
from sklar.rows.encode.arrays import listed_in, listed_numbers, number_texts
from sklar.rows.encode.labels import boolean_names, float_names, integer_names, label_names
from sklar.rows.encode.moment import null_micros
from sklar.rows.encode.numbers import missing_code, unit_range
from sklar.rows.pushdown.dialects import LARGEST, SMALLEST, Coded, Dialect, format_number
from sklar.schema import Boolean, Column, Datetime, Integer, Labels, Real
from sklar.schema.grid import RESOLUTIONS

DAY_MICROS = 86_400_000_000
TYPES: dict[str, pa.DataType] = {
    "integer": pa.int64(), "real": pa.float64(), "single": pa.float32(), "truth": pa.bool_(), "text": pa.string(),
}  # fmt: skip
"""Name of a type to the Arrow type in which its values are streamed."""


class InexactError(Exception):
    """SQL cannot express this code exactly; the message gives the reason, without a value."""


class ColumnCode:
    """Writes the code of one column.

    Args:
        column: The public facts.
        kind: Of the values: integer, real, single, truth, text, decimal, date, moment or zoned.
        x: The column as SQL writes it.
        name: For tables of constants; no other column has it.
        digits: Of decimals, the expression for their text without zeros at the end.
    """

    def __init__(
        self, column: Column, kind: str, x: str, name: str, dialect: Dialect, null_values: tuple[str, ...], digits: str
    ):
        self.column, self.kind, self.x, self.name, self.say = column, kind, x, name, dialect
        self.null_values, self.digits = null_values, digits

    def coded(self) -> Coded:
        """Return the code, never null."""
        if self.kind == "truth":
            return self._encode_truth()
        if isinstance(self.column, Labels):
            return self._encode_labels(self.column)
        if isinstance(self.column, Boolean):
            return self._encode_boolean(self.column)
        if isinstance(self.column, Integer | Real):
            return self._encode_number(self.column)
        if not isinstance(self.column, Datetime):
            raise InexactError("classes of cells")
        return self._encode_timestamp(self.column)

    def _codes(self, values: Sequence[Any]) -> list[int]:
        """Return the codes of some values by the encoder itself, null last."""
        array = pa.array([*values, None], TYPES[self.kind])
        return encoder_of(self.column, self.null_values)(array).tolist()

    def _known(self, code: Coded, missing: int, *, listed: str = "") -> Coded:
        """Return SQL for a code that is `missing` where the column is null."""
        nan = f" OR {self.x} = {self.say.nan}" if self.kind in ("real", "single") else ""
        wrong = f"{self.x} IS NULL{nan}{listed}"
        return code.inside(f"CASE WHEN {wrong} THEN {missing} ELSE ", " END")

    def _encode_truth(self) -> Coded:
        no, yes, missing = self._codes([False, True])
        return Coded(sql=f"CASE WHEN {self.x} IS NULL THEN {missing} WHEN {self.x} THEN {yes} ELSE {no} END")

    def _encode_labels(self, column: Labels) -> Coded:
        other = len(column.values)
        missing = other if column.null_code is None else column.null_code
        names = label_names(column, self.null_values, missing)
        if self.kind in ("text", "decimal"):
            return self._known(self._match_label(self._get_text(), names, other), missing)
        if self.kind in ("integer", "real", "single"):
            known: Any = integer_names(names) if self.kind == "integer" else float_names(names)
            return self._known(self.say.member(self.name, self._plain(), known, other), missing)
        raise InexactError("labels that are moments")

    def _encode_boolean(self, column: Boolean) -> Coded:
        if self.kind in ("integer", "real", "single"):
            no, yes, missing = self._codes([0, 1])
            return self._known(
                Coded(sql=f"CASE {self.x} WHEN 0 THEN {no} WHEN 1 THEN {yes} ELSE {missing} END"), missing
            )
        if self.kind in ("text", "decimal"):
            names, missing = boolean_names(column, self.null_values)
            return self._known(self._match_label(self.say.stripped(self._get_text()), names, missing), missing)
        raise InexactError("truth values that are moments")

    def _get_text(self) -> str:
        return self.digits if self.kind == "decimal" else self.x

    def _match_label(self, text: str, names: dict[str, int], other: int) -> Coded:
        return self.say.member(self.name, self.say.text(text), names, other)

    def _plain(self) -> str:
        """Return the number as the widest of its kind."""
        return f"({self.x})::bigint" if self.kind == "integer" else f"({self.x})::{self.say.double}"

    def _encode_number(self, column: Integer | Real) -> Coded:
        if self.kind not in ("integer", "real", "single", "decimal"):
            raise InexactError(
                "numbers that come as text" if self.kind == "text" else "numbers that come as timestamps"
            )
        whole = isinstance(column, Integer)
        starts = column.grid.starts if whole else column.grid.starts.astype(np.float64)
        value = self._whole() if whole else self._cast_to_double()
        return self._known(self._find_cell(value, starts, column), missing_code(column), listed=self._listed())

    def _find_cell(self, value: str, starts: Any, column: Integer | Real | Datetime) -> Coded:
        if starts.dtype.kind == "i":
            unit, lowest, highest = unit_range(column.grid)
            if unit:
                low, high = format_number(lowest), format_number(highest)
                return Coded(sql=f"(least(greatest({value}, {low}), {high}) - {low})")
        found = self.say.cell(self.name, value, starts)
        if found is None:
            raise InexactError("a grid whose cells lie too close together")
        return found

    def _listed(self) -> str:
        """Return numbers that stand for null, as the encoders compare them: each in the type of the column."""
        if not self.null_values:
            return ""
        if self.kind == "decimal":
            x, values = self.say.text(self.digits), list[Any](number_texts(self.null_values))
        else:
            x, values = self._plain(), listed_in(TYPES[self.kind], listed_numbers(self.null_values))
        listed = [constant for value in values if (constant := self.say.constant(value)) is not None]
        return f" OR {x} IN ({', '.join(listed)})" if listed else ""

    def _cast_to_double(self) -> str:
        return self.say.decimal_as_double(f"({self.x})") if self.kind == "decimal" else f"({self.x})::{self.say.double}"

    def _whole(self) -> str:
        """Return the nearest 64-bit integer."""
        if self.kind == "integer":
            return f"({self.x})::bigint"
        x = f"({self.x})"
        nearest = _nearest_decimal(x) if self.kind == "decimal" else self.say.half_even(f"{x}::{self.say.double}")
        top, bottom = ("9223372036854775807", "-9223372036854775808")
        if self.kind != "decimal":
            top, bottom = f"9223372036854775808::{self.say.double}", f"(-9223372036854775808)::{self.say.double}"
        return (
            f"CASE WHEN {x} >= {top} THEN {LARGEST} WHEN {x} <= {bottom} THEN {format_number(SMALLEST)} "
            f"ELSE ({nearest})::bigint END"
        )

    def _encode_timestamp(self, column: Datetime) -> Coded:
        if self.kind not in ("date", "moment", "zoned"):
            raise InexactError("timestamps that come as text or numbers")
        if self.kind == "zoned" and column.zone is not None:
            raise InexactError("timestamps with a time zone in a column with another time zone")
        if null_micros(column.format, self.null_values):
            raise InexactError("moments that stand for null")
        tick = RESOLUTIONS[column.resolution]
        if self.kind == "date":
            factor = DAY_MICROS // tick
            top = LARGEST // factor
            ticks = f"(least(greatest({self.say.days(self.x)}, -{top}), {top}) * {factor})"
        else:
            top = LARGEST - 2 * tick  # far outside any bounds, and nothing below overflows
            micros = f"least(greatest({self.say.micros(self.x)}, -{top}), {top})"
            ticks = f"(({micros} - (({micros} % {tick}) + {tick}) % {tick}) {self.say.over} {tick})"
        return self._known(self._find_cell(ticks, column.grid.starts, column), missing_code(column))


def _nearest_decimal(x: str) -> str:
    """Round to the nearest integer, ties to even; beyond 18 digits fractions are cut, as for text."""
    down = f"floor({x})"
    return (
        f"CASE WHEN abs({x}) >= 1000000000000000000 THEN trunc({x}) WHEN {x} - {down} < 0.5 THEN {down} "
        f"WHEN {x} - {down} > 0.5 OR {down} % 2 <> 0 THEN {down} + 1 ELSE {down} END"
    )
