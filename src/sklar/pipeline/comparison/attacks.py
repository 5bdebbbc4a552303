"""Attacks inside a comparison: each on the rows a system learned from, with the held-out fold as the control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.errors import SklarError, UsageError

if TYPE_CHECKING:
    from sklar.disclosed.metrics.table import ExactTable


def attack_numbers(
    kinds: Sequence[str], real: ExactTable, synthetic: ExactTable, holdout: ExactTable, rng: np.random.Generator
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """The numbers of all attacks as `attack.number`, with what each means; and why some attacks did not apply."""
    from sklar.disclosed.attacks.registry import TABLE_ATTACKS

    found: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for kind in kinds:
        try:
            result = TABLE_ATTACKS[kind](real, synthetic, rng, holdout=holdout, done=lambda what, fraction: None)
        except SklarError as error:
            missing[kind] = str(error)
            continue
        for number in result.numbers:
            found[f"{kind}.{number.name}"] = {
                "value": float(number.attack.value), "title": f"{result.title}: {number.title}", "says": number.says,
                "better": "lower" if number.worse == "higher" else "higher",
            }  # fmt: skip
    return found, missing


def require_attacks(kinds: Sequence[str]) -> tuple[str, ...]:
    """Refuse attacks that do not exist, or that attack a method and not a table, before any work is done."""
    if not kinds:
        return ()
    from sklar.disclosed.attacks.registry import TABLE_ATTACKS

    if "attribute" in kinds:
        raise UsageError(
            "the attack 'attribute' needs a sensitive column, and a comparison has none; use `sklar attack`"
        )
    known = tuple(kind for kind in TABLE_ATTACKS if kind != "attribute")
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        raise UsageError(f"there is no attack on tables '{unknown[0]}'; those are: {', '.join(known)}")
    return tuple(kind for kind in known if kind in kinds)
