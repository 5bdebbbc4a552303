"""A combination of values that no row has (a structural zero)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sklar.schema.columns import Column
from sklar.schema.rules.values import Label, Pairs, is_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """No row has all of these values at once (a structural zero), as {"sex": "M", "pregnant": True}."""

    values: Mapping[str, Label] | Pairs
    source: str = "assumed"

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
        return tuple(name for name, _ in self.pairs)

    def describe(self) -> str:
        """Return the rule in words."""
        return "never " + " with ".join(f"{name} = {value}" for name, value in self.pairs)

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its columns are modelled."""
        if not self.pairs:
            return ["it names no values"]
        return [f"'{v}' is not a value of '{n}'" for n, v in self.pairs if not is_value(columns[n], v)]
