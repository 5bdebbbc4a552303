"""Sklar: differentially private synthetic tables from copulas.

The public names are loaded at first use, so that `import sklar` is fast. Everything else may change. Five of them are
modules: `rules` between columns, `errors`, `results` (types of what functions return), `lab` (more that reads rows
without noise) and `adapters` (for code written for SDV, SDGym, SmartNoise or synthcity).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklar.lazy import load_lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sklar import adapters, errors, lab, results
    from sklar.accounting.budget import risk
    from sklar.accounting.claim import Claim
    from sklar.accounting.ledger import Ledger, read_ledger, verify_ledger
    from sklar.inference.combine import combine
    from sklar.lab.attacks.release import attack
    from sklar.lab.audit.audit import audit
    from sklar.lab.compare.compare import compare
    from sklar.lab.completing import complete
    from sklar.lab.demo import demo
    from sklar.lab.drafting.draft import draft_schema
    from sklar.lab.evaluate import evaluate
    from sklar.lab.methods import list_methods
    from sklar.lab.split import split
    from sklar.lab.tables.checks import check_schema
    from sklar.pipeline.agents import serve_model
    from sklar.pipeline.bundle.bundle import bundle
    from sklar.pipeline.bundle.keys import make_key
    from sklar.pipeline.fit.pay import pay
    from sklar.pipeline.fit.prior import Prior
    from sklar.pipeline.fit.run import fit
    from sklar.pipeline.model import Model, load
    from sklar.pipeline.plan import plan
    from sklar.pipeline.synth import synth
    from sklar.pipeline.verify.verify import verify
    from sklar.schema import (
        Boolean,
        Category,
        Datetime,
        Id,
        Ignore,
        Integer,
        Ordinal,
        Person,
        Real,
        Schema,
        Unknown,
        rules,
    )
    from sklar.schema.persons.tables import Tables
    from sklar.schema.reading import ReadOptions
    from sklar.studio.serve import open_studio

_HOMES = {
    "": "adapters errors lab results",
    "sklar.accounting.budget": "risk",
    "sklar.accounting.claim": "Claim",
    "sklar.accounting.ledger": "Ledger read_ledger verify_ledger",
    "sklar.inference.combine": "combine",
    "sklar.lab.attacks.release": "attack",
    "sklar.lab.audit.audit": "audit",
    "sklar.lab.compare.compare": "compare",
    "sklar.lab.completing": "complete",
    "sklar.lab.demo": "demo",
    "sklar.lab.drafting.draft": "draft_schema",
    "sklar.lab.evaluate": "evaluate",
    "sklar.lab.methods": "list_methods",
    "sklar.lab.split": "split",
    "sklar.lab.tables.checks": "check_schema",
    "sklar.pipeline.agents": "serve_model",
    "sklar.pipeline.bundle.bundle": "bundle",
    "sklar.pipeline.bundle.keys": "make_key",
    "sklar.pipeline.fit.pay": "pay",
    "sklar.pipeline.fit.prior": "Prior",
    "sklar.pipeline.fit.run": "fit",
    "sklar.pipeline.model": "Model load",
    "sklar.pipeline.plan": "plan",
    "sklar.pipeline.synth": "synth",
    "sklar.pipeline.verify.verify": "verify",
    "sklar.schema": "Boolean Category Datetime Id Ignore Integer Ordinal Person Real Schema Unknown rules",
    "sklar.schema.persons.tables": "Tables",
    "sklar.schema.reading": "ReadOptions",
    "sklar.studio.serve": "open_studio",
}
"""Module to the public names it holds."""

__all__ = [
    "Boolean", "Category", "Claim", "Datetime", "Id", "Ignore", "Integer", "Ledger", "Model", "Ordinal",
    "Person", "Prior", "ReadOptions", "Real", "Schema", "Tables", "Unknown", "adapters", "attack", "audit",
    "bundle", "check_schema", "combine", "compare", "complete", "demo", "draft_schema", "errors", "evaluate",
    "fit", "lab", "list_methods", "load", "make_key", "open_studio", "pay", "plan", "read_ledger", "results",
    "risk", "rules", "serve_model", "split", "synth", "verify", "verify_ledger",
]  # fmt: skip

__getattr__ = load_lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
