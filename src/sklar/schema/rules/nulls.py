"""Columns that are null together, or filled only where another column says so (skip patterns)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from sklar.schema.columns import Column
from sklar.schema.rules.values import Label, is_value, key_text

Wanted = tuple[tuple[str, tuple[Label, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """In every row all of the columns are null, or none is; the first one decides.

    Attributes:
        columns: Nullable columns; one is enough if `only_if` is given.
        only_if: They are filled only in rows where each of these columns has the value, or one of the values, given.
    """

    columns: Sequence[str]
    only_if: Mapping[str, Label | Sequence[Label]] | Wanted = ()
    source: str = "assumed"

    kind: ClassVar[str] = "together"

    def __post_init__(self) -> None:
        pairs = self.only_if.items() if isinstance(self.only_if, Mapping) else self.only_if
        wanted = {name: tuple(v) if isinstance(v, list | tuple) else (cast(Label, v),) for name, v in pairs}
        object.__setattr__(self, "only_if", tuple(wanted.items()))
        object.__setattr__(self, "columns", tuple(self.columns))

    @property
    def wanted(self) -> Wanted:
        """The values that other columns must have, column by column."""
        return tuple(self.only_if)  # type: ignore[arg-type]

    def describe(self) -> str:
        """Return the rule in words."""
        filled = [f"{name} is {' or '.join(map(key_text, values))}" for name, values in self.wanted]
        if len(self.columns) == 1:
            return f"{self.columns[0]} is filled only if {' and '.join(filled)}"
        where = f", and filled only if {' and '.join(filled)}" if filled else ""
        return f"{', '.join(self.columns)} are missing together{where}"

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its columns are modelled."""
        if len(self.columns) < (1 if self.wanted else 2) or len(set(self.columns)) < len(self.columns):
            return ["it needs two or more different columns, or one and an only_if"]
        faults = [f"'{name}' must be nullable" for name in self.columns if columns[name].null_code is None]
        for name, values in self.wanted:
            if name not in columns or not columns[name].modelled or name in self.columns:
                faults.append(f"'{name}' is not another modelled column")
            else:
                faults += [f"'{v}' is not a value of '{name}'" for v in values if not is_value(columns[name], v)]
                faults += [] if values else [f"only_if names no value of '{name}'"]
        return faults
