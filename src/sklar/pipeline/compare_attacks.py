"""Attacks inside a comparison: each on the rows a system learned from, with the held-out fold as the control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklar.errors import UsageError
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.disclosed.metrics.table import ExactTable


def attack_numbers(
    kinds: Sequence[str], real: ExactTable, synthetic: ExactTable, holdout: ExactTable, schema: Schema, seed: int
) -> dict[str, dict[str, Any]]:
    """The numbers of all attacks as `attack.number`, with what each means."""
    raise UsageError("attacks are not available yet")


def require_attacks(kinds: Sequence[str]) -> tuple[str, ...]:
    """Refuse attacks that do not exist, or that need more than a table, before any work is done."""
    if kinds:
        raise UsageError("attacks are not available yet")
    return tuple(kinds)
