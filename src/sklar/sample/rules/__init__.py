"""Enforce public rules in every sample: rows that break one are drawn again, then repaired, then replaced by others.

Rules are defined in `sklar.schema.rules`; each module here checks one family of rules and repairs rows. Private rows
are never read here. Start with `enforce`; `every` maps each kind of rule to its check.
"""

from sklar.sample.rules.enforce import enforce
from sklar.sample.rules.every import rules_hold

__all__ = ["enforce", "rules_hold"]
