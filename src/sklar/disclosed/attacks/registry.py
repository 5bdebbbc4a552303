"""All attacks on a synthetic table, by name."""

from __future__ import annotations

from collections.abc import Callable

from sklar.disclosed.attacks.attribute import infer_attributes
from sklar.disclosed.attacks.copies import find_copies
from sklar.disclosed.attacks.linkability import link
from sklar.disclosed.attacks.membership import monte_carlo
from sklar.disclosed.attacks.result import AttackResult
from sklar.disclosed.attacks.singling_out import single_out

TABLE_ATTACKS: dict[str, Callable[..., AttackResult]] = {
    "membership": monte_carlo,
    "copies": find_copies,
    "singling-out": single_out,
    "linkability": link,
    "attribute": infer_attributes,
}
"""Name to attack: (real, synthetic, rng, *, holdout, done, and options of its own)."""
