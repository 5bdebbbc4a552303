"""*** The lab: real rows WITHOUT noise. *** For the custodian only; nothing here promises privacy.

It is above the product: it may call any use case, and no use case of the product can import it. Every result states
that it is not private. Start with `evaluate` (quality of a table; of a `binary` one; of two in `families`), then
`attacks` (what does it reveal?), `compare` (compare methods), `audit` (is a claim true?), `completing` (rows with
missing values), `drafting` (a first schema) and `baselines` (methods without a guarantee); `tables` reads the rows for
all of them, and `people` is a made-up table for `demo`. Public names beside those of the package are listed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklar.lazy import load_lazily

if TYPE_CHECKING:
    from sklar.lab.attacks.method import attack_method
    from sklar.lab.baselines.levels import (
        at_level,
        candidate_levels,
        choose_level,
        privacy_utility,
        sweep,
        truncation_levels,
    )
    from sklar.lab.binary import evaluate_binary
    from sklar.lab.entries.check import verify_entry
    from sklar.lab.families import evaluate_tables
    from sklar.lab.levels import compare_levels
    from sklar.lab.metrics.ranges import RangeWorkload
    from sklar.lab.pictures import draw_model, plot_levels, plot_pairs, scatter, tradeoff, tradeoff_point
    from sklar.lab.tables.checks import audit_schema

_HOMES = {
    "sklar.lab.attacks.method": "attack_method",
    "sklar.lab.baselines.levels": "at_level candidate_levels choose_level privacy_utility sweep truncation_levels",
    "sklar.lab.binary": "evaluate_binary",
    "sklar.lab.entries.check": "verify_entry",
    "sklar.lab.families": "evaluate_tables",
    "sklar.lab.levels": "compare_levels",
    "sklar.lab.metrics.ranges": "RangeWorkload",
    "sklar.lab.pictures": "draw_model plot_levels plot_pairs scatter tradeoff tradeoff_point",
    "sklar.lab.tables.checks": "audit_schema",
}
"""Module to the public names it holds."""

__all__ = [
    "RangeWorkload", "at_level", "attack_method", "audit_schema", "candidate_levels", "choose_level",
    "compare_levels", "draw_model", "evaluate_binary", "evaluate_tables", "plot_levels", "plot_pairs",
    "privacy_utility", "scatter", "sweep", "tradeoff", "tradeoff_point", "truncation_levels", "verify_entry",
]  # fmt: skip

__getattr__ = load_lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
