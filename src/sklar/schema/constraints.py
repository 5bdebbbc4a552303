"""Public rules that every synthetic row obeys. The custodian states them; they cost nothing and always hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

Label = str | int | bool
Pairs = tuple[tuple[str, Label], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """In every row the value of `low` is at most the value of `high` (rows where either is null are free)."""

    low: str
    high: str

    kind: ClassVar[str] = "at-most"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it speaks of."""
        return (self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """No row has all of these values at once (a structural zero), as {"sex": "M", "pregnant": True}."""

    values: Mapping[str, Label] | Pairs

    kind: ClassVar[str] = "never"

    def __post_init__(self) -> None:
        pairs = self.values.items() if isinstance(self.values, Mapping) else self.values
        object.__setattr__(self, "values", tuple(dict(pairs).items()))

    @property
    def pairs(self) -> Pairs:
        """The forbidden combination as pairs of column and value."""
        return tuple(self.values)  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it speaks of."""
        return tuple(name for name, _ in self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """The value of `column` is a public function of the value of `of`, as a region of its town.

    Values of `of` that the table does not list leave `column` as it was drawn.
    """

    column: str
    of: str
    table: Mapping[str, Label] | Pairs

    kind: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        pairs = self.table.items() if isinstance(self.table, Mapping) else self.table
        object.__setattr__(self, "table", tuple({_key(key): value for key, value in pairs}.items()))

    @property
    def pairs(self) -> Pairs:
        """The function as pairs of a value of `of` (as text) and the value of `column`."""
        return tuple(self.table)  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it speaks of."""
        return (self.column, self.of)


def _key(value: object) -> str:
    """A value of the argument column as the schema file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


Constraint = AtMost | Never | Function
CONSTRAINTS: dict[str, type[AtMost] | type[Never] | type[Function]] = {
    "at-most": AtMost,
    "never": Never,
    "function": Function,
}
