"""What an attack on a method needs: something that is fitted on a sample of rows and then draws tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

ONLY = ""
"""The name of the level of a generator that has only one."""


class Fitted(Protocol):
    """A generator after its fit."""

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Independent synthetic rows of one level, as anything that can be read as a table."""
        ...


class Generator(Protocol):
    """A way to synthesize; `levels` are names of variants that one fit gives, such as truncation levels."""

    @property
    def levels(self) -> tuple[str, ...]: ...

    def fit(self, table: Any, seed: int) -> Fitted:
        """Learn from an Arrow table."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionGenerator:
    """A function (table, rows, seed) -> table as a generator: fitted anew for each call."""

    function: Callable[[Any, int, int], Any]
    levels: tuple[str, ...] = (ONLY,)

    def fit(self, table: Any, seed: int) -> Fitted:
        """Keep the rows until a table is asked for."""
        return _Kept(self.function, table)


@dataclass(frozen=True, slots=True)
class _Kept:
    function: Callable[[Any, int, int], Any]
    table: Any

    def generate(self, level: str, rows: int, seed: int) -> Any:
        return self.function(self.table, rows, seed)
