"""Sklar: private synthetic tables from copulas.

The public names are loaded when they are first used, so that `import sklar` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sklar.accounting.ledger import Ledger
    from sklar.errors import SklarError
    from sklar.pipeline.attack import Attack, attack
    from sklar.pipeline.attack_method import attack_method
    from sklar.pipeline.auditing.audit import Audit, audit
    from sklar.pipeline.comparison.compare import compare
    from sklar.pipeline.comparison.result import Compared
    from sklar.pipeline.draft import draft_schema
    from sklar.pipeline.evaluate import Evaluation, evaluate
    from sklar.pipeline.fit import fit
    from sklar.pipeline.fitted import Model, load
    from sklar.pipeline.scatter import scatter
    from sklar.pipeline.tradeoff import tradeoff, tradeoff_point
    from sklar.schema import (
        AtMost,
        Boolean,
        Category,
        Datetime,
        Function,
        Id,
        Ignore,
        Integer,
        Never,
        Ordinal,
        Real,
        Schema,
    )

_HOMES: dict[str, str] = {
    "AtMost": "sklar.schema",
    "Attack": "sklar.pipeline.attack",
    "Audit": "sklar.pipeline.auditing.audit",
    "Boolean": "sklar.schema",
    "Category": "sklar.schema",
    "Compared": "sklar.pipeline.comparison.result",
    "Datetime": "sklar.schema",
    "Evaluation": "sklar.pipeline.evaluate",
    "Function": "sklar.schema",
    "Id": "sklar.schema",
    "Ignore": "sklar.schema",
    "Integer": "sklar.schema",
    "Ledger": "sklar.accounting.ledger",
    "Model": "sklar.pipeline.fitted",
    "Never": "sklar.schema",
    "Ordinal": "sklar.schema",
    "Real": "sklar.schema",
    "Schema": "sklar.schema",
    "SklarError": "sklar.errors",
    "compare": "sklar.pipeline.comparison.compare",
    "attack": "sklar.pipeline.attack",
    "attack_method": "sklar.pipeline.attack_method",
    "audit": "sklar.pipeline.auditing.audit",
    "draft_schema": "sklar.pipeline.draft",
    "evaluate": "sklar.pipeline.evaluate",
    "fit": "sklar.pipeline.fit",
    "load": "sklar.pipeline.fitted",
    "scatter": "sklar.pipeline.scatter",
    "tradeoff": "sklar.pipeline.tradeoff",
    "tradeoff_point": "sklar.pipeline.tradeoff",
}

__all__ = [
    "AtMost",
    "Attack",
    "Audit",
    "Boolean",
    "Category",
    "Compared",
    "Datetime",
    "Evaluation",
    "Function",
    "Id",
    "Ignore",
    "Integer",
    "Ledger",
    "Model",
    "Never",
    "Ordinal",
    "Real",
    "Schema",
    "SklarError",
    "attack",
    "attack_method",
    "audit",
    "compare",
    "draft_schema",
    "evaluate",
    "fit",
    "load",
    "scatter",
    "tradeoff",
    "tradeoff_point",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sklar' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
