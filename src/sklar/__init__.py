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
    from sklar.lab.attacks.method import attack_method
    from sklar.lab.attacks.release import Attack, attack
    from sklar.lab.audit.audit import Audit, audit
    from sklar.lab.compare.compare import compare
    from sklar.lab.compare.result import Compared
    from sklar.lab.drafting.draft import draft_schema
    from sklar.lab.evaluate import Evaluation, evaluate
    from sklar.lab.pictures import scatter, tradeoff, tradeoff_point
    from sklar.pipeline.fit.run import fit
    from sklar.pipeline.model import Model, load
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
    "Attack": "sklar.lab.attacks.release",
    "Audit": "sklar.lab.audit.audit",
    "Boolean": "sklar.schema",
    "Category": "sklar.schema",
    "Compared": "sklar.lab.compare.result",
    "Datetime": "sklar.schema",
    "Evaluation": "sklar.lab.evaluate",
    "Function": "sklar.schema",
    "Id": "sklar.schema",
    "Ignore": "sklar.schema",
    "Integer": "sklar.schema",
    "Ledger": "sklar.accounting.ledger",
    "Model": "sklar.pipeline.model",
    "Never": "sklar.schema",
    "Ordinal": "sklar.schema",
    "Real": "sklar.schema",
    "Schema": "sklar.schema",
    "SklarError": "sklar.errors",
    "compare": "sklar.lab.compare.compare",
    "attack": "sklar.lab.attacks.release",
    "attack_method": "sklar.lab.attacks.method",
    "audit": "sklar.lab.audit.audit",
    "draft_schema": "sklar.lab.drafting.draft",
    "evaluate": "sklar.lab.evaluate",
    "fit": "sklar.pipeline.fit.run",
    "load": "sklar.pipeline.model",
    "scatter": "sklar.lab.pictures",
    "tradeoff": "sklar.lab.pictures",
    "tradeoff_point": "sklar.lab.pictures",
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
