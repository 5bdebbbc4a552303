"""Columns with a numeric range: integers, reals and datetimes, each on a public grid."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from sklar.schema.calendar import PARTS, Calendar, Part, choose_calendar
from sklar.schema.columns import INT64_MAX, INT64_MIN, Column, SourceMark, is_unicode, to_plain
from sklar.schema.grid import (
    MAX_CELLS,
    RESOLUTIONS,
    Grid,
    Unit,
    find_multiple_range,
    integer_grid,
    parse_time,
    real_grid,
    to_ticks,
)
from sklar.schema.number_formats import format_faults
from sklar.schema.zones import is_zone


@dataclass(frozen=True, slots=True)
class Ranged(Column):
    """Base class of the kinds with a public grid between two bounds; that of datetimes is in ticks."""

    numeric: ClassVar[bool] = True
    ordered: ClassVar[bool] = True

    @property
    def grid(self) -> Grid:
        raise NotImplementedError

    @property
    def span(self) -> tuple[int | float, int | float]:
        """Smallest and largest value; for datetimes, in ticks."""
        raise NotImplementedError

    @property
    def value_cells(self) -> int:
        return self.grid.cells


@dataclass(frozen=True, slots=True)
class Integer(Ranged):
    """Whole numbers from `lower` to `upper`, both included; values outside are clipped.

    Attributes:
        bins: Number of equal cells of the finest grid; by default every integer is a cell if the range is at most
            200,000 values, else 2,048 cells and about 100 single cells at round values.
        edges: Cell edges instead of `bins`, from `lower` to `upper + 1`.
        atoms: Values that get a cell of their own on a coarser grid.
        step: All values are multiples of it, as 100; others are read as the multiple below.
        format: How text writes the number 1234.56, as "1.234,56 €"; with a decimal point and nothing else by default.
        missing_value: What a missing or unreadable value becomes if the column is not nullable; `lower` by default.
    """

    lower: int
    upper: int
    _: KW_ONLY
    bins: int | None = None
    edges: Sequence[int] = ()
    atoms: Sequence[int] = ()
    step: int | None = None
    format: str | None = None
    nullable: bool = False
    missing_value: int | None = None
    source: SourceMark = ()

    kind: ClassVar[str] = "integer"
    facts: ClassVar[tuple[str, ...]] = (
        "kind", "lower", "upper", "bins", "edges", "atoms", "step", "format", "nullable", "missing_value",
    )  # fmt: skip

    def __post_init__(self) -> None:
        _normalize_fields(self, lists=("edges", "atoms"))
        object.__setattr__(self, "step", to_plain(self.step))
        Column.__post_init__(self)

    @property
    def span(self) -> tuple[int | float, int | float]:
        return self.lower, self.upper

    @property
    def grid(self) -> Grid:
        return integer_grid(self.lower, self.upper, self.bins, tuple(self.edges), tuple(self.atoms), self.step or 1)

    @property
    def unit(self) -> Fraction:
        """The unit whose multiples all values are."""
        return Fraction(self.step or 1)

    def faults(self) -> list[str]:
        faults = Column.faults(self)
        numbers = {"lower": self.lower, "upper": self.upper, "missing_value": self.missing_value or 0}
        wrong = [f"{name} must be an integer" for name, x in numbers.items() if type(x) is not int]
        wrong += [f"{name} must be integers" for name in ("edges", "atoms") if not _are_all(getattr(self, name), int)]
        if wrong:
            return faults + wrong
        if not INT64_MIN <= self.lower <= self.upper < INT64_MAX:
            return [*faults, "lower and upper must be 64-bit integers with lower <= upper < 2^63 - 1"]
        if self.step is not None:
            faults += _step_faults(self, type(self.step) is int and 1 <= self.step < 2**31)
        return faults + _find_grid_faults(self, self.upper + 1)


@dataclass(frozen=True, slots=True)
class Real(Ranged):
    """Real numbers from `lower` to `upper`; values outside are clipped, and both bounds are cells of their own.

    Attributes:
        bins: Number of equal cells of the finest grid, 2,048 by default.
        edges: Cell edges instead of `bins`, from `lower` to `upper`.
        atoms: Values that occur exactly (0, 99, ...) and so get a cell of their own.
        decimals: Digits after the point in the output; by default those that a fit finds, or all of them. Negative ones
            are a step: -2 is step=100.
        step: All values are multiples of it, as 0.25 or 1000; others are read as the nearest one.
        format: How text writes the number 1234.56, as "1.234,56 €"; with a decimal point and nothing else by default.
        missing_value: What a missing or unreadable value becomes if the column is not nullable; `lower` by default.
    """

    lower: float
    upper: float
    _: KW_ONLY
    bins: int | None = None
    edges: Sequence[float] = ()
    atoms: Sequence[float] = ()
    decimals: int | None = None
    step: float | None = None
    format: str | None = None
    nullable: bool = False
    missing_value: float | None = None
    source: SourceMark = ()

    kind: ClassVar[str] = "real"
    facts: ClassVar[tuple[str, ...]] = (
        "kind", "lower", "upper", "bins", "edges", "atoms", "decimals", "step", "format", "nullable", "missing_value",
    )  # fmt: skip

    def __post_init__(self) -> None:
        _normalize_fields(self, lists=("edges", "atoms"))
        _convert_decimals_to_step(self)
        for name in ("lower", "upper", "step", "missing_value"):
            object.__setattr__(self, name, _to_float(to_plain(getattr(self, name))))
        for name in ("edges", "atoms"):
            object.__setattr__(self, name, tuple(_to_float(x) for x in getattr(self, name)))
        Column.__post_init__(self)

    @property
    def span(self) -> tuple[int | float, int | float]:
        return self.lower, self.upper

    @property
    def grid(self) -> Grid:
        step = None if self.step is None else Fraction(repr(self.step))
        return real_grid(self.lower, self.upper, self.bins, tuple(self.edges), tuple(self.atoms), step)

    @property
    def unit(self) -> Unit | None:
        """The unit whose multiples all values are: the step, or the declared digits; None without either."""
        return self.decimals if self.step is None else Fraction(repr(self.step))

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers, declared atoms apart."""
        return self.decimals == 0 or (self.step is not None and self.step.is_integer())

    def faults(self) -> list[str]:
        faults = Column.faults(self)
        if not all(_are_all(x, float) for x in (self.edges, self.atoms)):
            return [*faults, "edges and atoms must be numbers"]
        if not all(type(x) is float and math.isfinite(x) for x in (self.lower, self.upper, self.missing_value or 0.0)):
            return [*faults, "lower, upper and missing_value must be finite numbers"]
        if not self.lower < self.upper or not math.isfinite(self.upper - self.lower):
            faults.append("lower must be below upper, and their distance finite")
        if self.decimals is not None and not (type(self.decimals) is int and 0 <= self.decimals <= 15):
            faults.append("decimals must be a whole number from -15 to 15")
        if self.step is not None:
            faults += _step_faults(self, type(self.step) is float and 1e-15 <= self.step <= 1e15)
            faults += ["give decimals or step, not both"] if self.decimals is not None else []
        return faults + _find_grid_faults(self, self.upper)


@dataclass(frozen=True, slots=True)
class Datetime(Ranged):
    """Dates or times from `lower` to `upper`, both included, as the clock of `zone` shows them.

    Attributes:
        resolution: One of day, hour, minute, second, millisecond, microsecond; by default day if both bounds are
            plain dates, else second.
        format: How text input is read and text output written (as in strptime); ISO 8601 by default.
        zone: The time zone of the column, as Europe/Vienna: input with a zone of its own is converted to it, input
            without is taken as it is, and the output has it. By default input with a zone is
            converted to UTC, and the output has none.
        calendar: The parts of the calendar (month, weekday, hour) that are measured in addition to the years; by
            default those that the bounds and the resolution suggest (`sklar.schema.calendar`).
        bins: Number of equal cells of the finest grid; by default as for an integer number of ticks.
    """

    lower: str
    upper: str
    _: KW_ONLY
    resolution: str = ""
    format: str | None = None
    zone: str | None = None
    calendar: Sequence[str] | None = None
    bins: int | None = None
    nullable: bool = False
    missing_value: str | None = None
    source: SourceMark = ()

    kind: ClassVar[str] = "datetime"
    facts: ClassVar[tuple[str, ...]] = (
        "kind", "lower", "upper", "resolution", "format", "zone", "calendar", "bins", "nullable", "missing_value",
    )  # fmt: skip

    def __post_init__(self) -> None:
        _normalize_fields(self)
        for name in ("lower", "upper", "missing_value"):
            if hasattr(moment := getattr(self, name), "isoformat"):
                object.__setattr__(self, name, moment.isoformat())
        if self.calendar is not None and not isinstance(self.calendar, str):
            object.__setattr__(self, "calendar", tuple(self.calendar))
        if not self.resolution:
            dates = all(isinstance(t, str) and len(t) <= 10 for t in (self.lower, self.upper))
            object.__setattr__(self, "resolution", "day" if dates else "second")
        Column.__post_init__(self)

    def tick(self, moment: str) -> int:
        """Return the ticks of an ISO date or time."""
        return to_ticks(moment, self.resolution)

    @property
    def span(self) -> tuple[int, int]:
        return self.tick(self.lower), self.tick(self.upper)

    @property
    def grid(self) -> Grid:
        return integer_grid(*self.span, self.bins, (), ())

    @property
    def calendar_parts(self) -> Calendar | None:
        """The parts of datetimes; None where the column has none, or states bins."""
        if self.bins is not None and self.calendar is None:
            return None
        wanted: tuple[Part, ...] | None = None
        if self.calendar is not None:
            wanted = tuple(part for part in PARTS if part in self.calendar)
        return choose_calendar(*self.span, self.resolution, wanted)

    def faults(self) -> list[str]:
        faults = Column.faults(self)
        if self.resolution not in RESOLUTIONS:
            faults.append(f"resolution must be one of {', '.join(RESOLUTIONS)}")
        times = (self.lower, self.upper, *([] if self.missing_value is None else [self.missing_value]))
        if not all(isinstance(t, str) and _is_time(t) for t in times):
            return [
                *faults,
                "lower, upper and missing_value must be ISO dates or times without a zone, such as 2024-12-31",
            ]
        if not parse_time(self.lower) <= parse_time(times[-1]) <= parse_time(self.upper):
            faults.append("lower must not be after upper, and missing_value must lie between them")
        if self.format is not None and not _is_format(self.format):
            faults.append("format must name at least year, month and day in the letters of strptime, such as %d.%m.%Y")
        if self.zone is not None and not is_zone(self.zone):
            faults.append("zone must be the name of a time zone, as Europe/Vienna or UTC")
        parts = () if self.calendar is None else self.calendar
        if type(parts) is not tuple or len(set(parts)) < len(parts) or not set(parts) <= set(PARTS):
            faults.append(f"calendar must list parts among {', '.join(PARTS)}; an empty list means no parts")
        elif self.calendar and not faults and self.calendar_parts is None:
            faults.append("calendar lists parts that follow from its bounds and resolution, or that it does not have")
        return faults + _find_bins_faults(self.bins)


def _normalize_fields(column: Column, lists: tuple[str, ...] = ()) -> None:
    """Store numpy scalars as plain numbers and the named lists as tuples of them."""
    for name in ("lower", "upper", "missing_value", "bins"):
        object.__setattr__(column, name, to_plain(getattr(column, name)))
    for name in lists:
        object.__setattr__(column, name, tuple(to_plain(x) for x in getattr(column, name)))


def _convert_decimals_to_step(column: Real) -> None:
    """Convert negative decimals to a power of ten as the step, with the provenance of the fact."""
    decimals = to_plain(column.decimals)
    if type(decimals) is not int or not -15 <= decimals < 0 or column.step is not None:
        return
    object.__setattr__(column, "step", 10.0**-decimals)
    object.__setattr__(column, "decimals", None)
    if not isinstance(column.source, str):
        marks = dict(column.source)
        moved = {"step": marks.pop("decimals")} if "decimals" in marks else {}
        object.__setattr__(column, "source", {**marks, **moved})


def _step_faults(column: Integer | Real, plausible: bool) -> list[str]:
    """List the faults of a step: the bounds must have a multiple between them, and atoms must be multiples."""
    if not plausible:
        return [f"step must be a positive {'whole number' if column.kind == 'integer' else 'number'}"]
    step = Fraction(repr(column.step))
    first, last = find_multiple_range(float(column.lower), float(column.upper), step)
    if not first <= last:
        return [f"no multiple of the step {column.step:g} lies between lower and upper"]
    if max(abs(first), abs(last)) >= 2.0**53:
        return ["step is too small for these bounds"]
    off = [atom for atom in column.atoms if (Fraction(repr(atom)) / step).denominator != 1]
    return [f"atoms must be multiples of the step {column.step:g}"] if off else []


def _to_float(x: Any) -> Any:
    """Convert whole numbers to floats; one beyond the floats becomes infinite, which faults() reports."""
    if type(x) is not int:
        return x
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def _are_all(values: Sequence[object], kind: type) -> bool:
    return all(type(x) is kind for x in values)


_TRIAL_DAYS = (datetime(1999, 12, 31, tzinfo=UTC), datetime(2001, 2, 3, tzinfo=UTC))


def _is_format(format: object) -> bool:
    """Return whether texts in this format name a day: writing a date and reading it back must give the same date."""
    if not (isinstance(format, str) and is_unicode(format)):
        return False
    try:
        return all(datetime.strptime(d.strftime(format), format).date() == d.date() for d in _TRIAL_DAYS)
    except (ValueError, re.error):
        return False


def _is_time(text: str) -> bool:
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def _find_bins_faults(bins: int | None) -> list[str]:
    if bins is None or (type(bins) is int and 1 <= bins <= MAX_CELLS):
        return []
    return [f"bins must be a whole number from 1 to {MAX_CELLS:,}"]


def _find_grid_faults(column: Integer | Real, end: int | float) -> list[str]:
    edges, atoms, missing = column.edges, column.atoms, column.missing_value
    outside = missing is not None and not column.lower <= missing <= column.upper
    faults = ["missing_value must lie between lower and upper"] if outside else []
    faults += [*_find_bins_faults(column.bins), *format_faults(column.format)]
    if edges and column.bins is not None:
        faults.append("give bins or edges, not both")
    if edges and (edges[0] != column.lower or edges[-1] != end):
        faults.append(f"edges must start at lower and end at {'upper + 1' if column.kind == 'integer' else 'upper'}")
    if any(not a < b for a, b in pairwise(edges)) or len(edges) > MAX_CELLS:
        faults.append(f"edges must increase, and be at most {MAX_CELLS:,}")
    if not all(column.lower <= a <= column.upper for a in atoms):
        faults.append("atoms must lie between lower and upper")
    return faults
