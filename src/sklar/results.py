"""Types of what the public functions return, for annotations and `isinstance`; none has to be made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklar.lazy import load_lazily

if TYPE_CHECKING:
    from sklar.accounting.ledger import LedgerView
    from sklar.inference.combine import Combined
    from sklar.inference.estimates import Estimated
    from sklar.lab.attacks.release import Attack
    from sklar.lab.audit.audit import Audit
    from sklar.lab.binary import BinaryEvaluation
    from sklar.lab.compare.result import Compared
    from sklar.lab.evaluation import Evaluation
    from sklar.lab.families import TablesEvaluation
    from sklar.lab.levels import LevelChoice
    from sklar.methods.expectation import Expectation
    from sklar.pipeline.fit.pay import Payment
    from sklar.pipeline.plan import Plan, PlanLine, PlannedFit
    from sklar.pipeline.verify.findings import Check, Verified

_HOMES = {
    "sklar.accounting.ledger": "LedgerView",
    "sklar.inference.combine": "Combined",
    "sklar.inference.estimates": "Estimated",
    "sklar.lab.attacks.release": "Attack",
    "sklar.lab.audit.audit": "Audit",
    "sklar.lab.binary": "BinaryEvaluation",
    "sklar.lab.compare.result": "Compared",
    "sklar.lab.evaluation": "Evaluation",
    "sklar.lab.families": "TablesEvaluation",
    "sklar.lab.levels": "LevelChoice",
    "sklar.methods.expectation": "Expectation",
    "sklar.pipeline.fit.pay": "Payment",
    "sklar.pipeline.plan": "Plan PlanLine PlannedFit",
    "sklar.pipeline.verify.findings": "Check Verified",
}
"""Module to the public names it holds."""

__all__ = [
    "Attack", "Audit", "BinaryEvaluation", "Check", "Combined", "Compared", "Estimated", "Evaluation",
    "Expectation", "LedgerView", "LevelChoice", "Payment", "Plan", "PlanLine", "PlannedFit", "TablesEvaluation",
    "Verified",
]  # fmt: skip

__getattr__ = load_lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
