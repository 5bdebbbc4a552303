"""Sklar: differentially private synthetic tables from copulas.

The public names are loaded at first use, so that `import sklar` is fast. Everything else may change. `rules` is the
module of public rules between columns.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sklar.accounting.budget import risk
    from sklar.accounting.claim import Claim
    from sklar.accounting.ledger import Ledger, LedgerView, read_ledger, verify_ledger
    from sklar.errors import (
        BudgetError,
        LedgerError,
        NotAcceptedError,
        OverspendError,
        SchemaError,
        SklarError,
        SklarWarning,
        SourceError,
        UsageError,
    )
    from sklar.inference.combine import Combined, combine
    from sklar.inference.estimates import Estimated
    from sklar.lab.attacks.method import attack_method
    from sklar.lab.attacks.release import Attack, attack
    from sklar.lab.audit.audit import Audit, audit
    from sklar.lab.baselines.levels import (
        at_level,
        candidate_levels,
        choose_level,
        privacy_utility,
        sweep,
        truncation_levels,
    )
    from sklar.lab.binary import BinaryEvaluation, evaluate_binary
    from sklar.lab.compare.compare import compare
    from sklar.lab.compare.result import Compared
    from sklar.lab.completing import complete
    from sklar.lab.demo import demo
    from sklar.lab.drafting.draft import draft_schema
    from sklar.lab.entries.check import verify_entry
    from sklar.lab.evaluate import evaluate
    from sklar.lab.evaluation import Evaluation
    from sklar.lab.families import TablesEvaluation, evaluate_tables
    from sklar.lab.levels import LevelChoice, levels
    from sklar.lab.methods import list_methods
    from sklar.lab.metrics.ranges import RangeWorkload
    from sklar.lab.pictures import draw_model, plot_levels, plot_pairs, scatter, tradeoff, tradeoff_point
    from sklar.lab.split import split
    from sklar.lab.tables.checks import audit_schema, check_schema
    from sklar.methods.expectation import Expectation
    from sklar.pipeline.agents import serve_model
    from sklar.pipeline.bundle.bundle import bundle
    from sklar.pipeline.bundle.keys import make_key
    from sklar.pipeline.fit.pay import Payment, pay
    from sklar.pipeline.fit.prior import Prior
    from sklar.pipeline.fit.run import fit
    from sklar.pipeline.model import Model, load
    from sklar.pipeline.plan import Plan, PlanLine, PlannedFit, plan
    from sklar.pipeline.sdgym import sdgym_functions
    from sklar.pipeline.smartnoise import Synthesizer
    from sklar.pipeline.synth import synth
    from sklar.pipeline.synthcity import synthcity_plugin
    from sklar.pipeline.synthesizer import SklarSynthesizer
    from sklar.pipeline.verify.findings import Check, Verified
    from sklar.pipeline.verify.verify import verify
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
        Person,
        Real,
        Schema,
        Unknown,
        rules,
    )
    from sklar.schema.persons.tables import Tables
    from sklar.schema.reading import ReadOptions
    from sklar.schema.sdv import read_sdv, schema_from_sdv, tables_from_sdv, to_sdv
    from sklar.studio.serve import open_studio

_HOMES = {
    "sklar.accounting.budget": "risk",
    "sklar.accounting.claim": "Claim",
    "sklar.accounting.ledger": "Ledger LedgerView read_ledger verify_ledger",
    "sklar.errors": (
        "BudgetError LedgerError NotAcceptedError OverspendError SchemaError SklarError SklarWarning SourceError "
        "UsageError"
    ),
    "sklar.inference.combine": "Combined combine",
    "sklar.inference.estimates": "Estimated",
    "sklar.lab.attacks.method": "attack_method",
    "sklar.lab.attacks.release": "Attack attack",
    "sklar.lab.audit.audit": "Audit audit",
    "sklar.lab.baselines.levels": "at_level candidate_levels choose_level privacy_utility sweep truncation_levels",
    "sklar.lab.binary": "BinaryEvaluation evaluate_binary",
    "sklar.lab.compare.compare": "compare",
    "sklar.lab.compare.result": "Compared",
    "sklar.lab.completing": "complete",
    "sklar.lab.demo": "demo",
    "sklar.lab.drafting.draft": "draft_schema",
    "sklar.lab.entries.check": "verify_entry",
    "sklar.lab.evaluate": "evaluate",
    "sklar.lab.evaluation": "Evaluation",
    "sklar.lab.families": "TablesEvaluation evaluate_tables",
    "sklar.lab.levels": "LevelChoice levels",
    "sklar.lab.methods": "list_methods",
    "sklar.lab.metrics.ranges": "RangeWorkload",
    "sklar.lab.pictures": "draw_model plot_levels plot_pairs scatter tradeoff tradeoff_point",
    "sklar.lab.split": "split",
    "sklar.lab.tables.checks": "audit_schema check_schema",
    "sklar.methods.expectation": "Expectation",
    "sklar.pipeline.agents": "serve_model",
    "sklar.pipeline.bundle.bundle": "bundle",
    "sklar.pipeline.bundle.keys": "make_key",
    "sklar.pipeline.fit.pay": "Payment pay",
    "sklar.pipeline.fit.prior": "Prior",
    "sklar.pipeline.fit.run": "fit",
    "sklar.pipeline.model": "Model load",
    "sklar.pipeline.plan": "Plan PlanLine PlannedFit plan",
    "sklar.pipeline.sdgym": "sdgym_functions",
    "sklar.pipeline.smartnoise": "Synthesizer",
    "sklar.pipeline.synth": "synth",
    "sklar.pipeline.synthcity": "synthcity_plugin",
    "sklar.pipeline.synthesizer": "SklarSynthesizer",
    "sklar.pipeline.verify.findings": "Check Verified",
    "sklar.pipeline.verify.verify": "verify",
    "sklar.schema": "AtMost Boolean Category Datetime Function Id Ignore Integer Never Ordinal Person Real Schema "
    "Unknown",
    "sklar.schema.persons.tables": "Tables",
    "sklar.schema.reading": "ReadOptions",
    "sklar.schema.sdv": "read_sdv schema_from_sdv tables_from_sdv to_sdv",
    "sklar.studio.serve": "open_studio",
}
"""Module to the public names it holds."""
_PLACES = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AtMost", "Attack", "Audit", "BinaryEvaluation", "Boolean", "BudgetError", "Category", "Check", "Claim",
    "Combined", "Compared", "Datetime", "Estimated", "Evaluation", "Expectation", "Function", "Id", "Ignore",
    "Integer", "Ledger", "LedgerError", "LedgerView", "LevelChoice", "Model", "Never", "NotAcceptedError",
    "Ordinal", "OverspendError", "Payment", "Person", "Plan", "PlanLine", "PlannedFit", "Prior", "RangeWorkload",
    "ReadOptions", "Real", "Schema", "SchemaError", "SklarError", "SklarSynthesizer", "SklarWarning", "SourceError",
    "Synthesizer", "Tables", "TablesEvaluation", "Unknown", "UsageError", "Verified", "at_level", "attack",
    "attack_method", "audit", "audit_schema", "bundle", "candidate_levels", "check_schema", "choose_level", "combine",
    "compare", "complete",
    "demo", "draft_schema", "draw_model", "evaluate", "evaluate_binary", "evaluate_tables", "fit", "levels",
    "list_methods", "load", "make_key", "open_studio", "pay", "plan", "plot_levels", "plot_pairs", "privacy_utility",
    "read_ledger", "read_sdv", "risk", "rules", "scatter", "schema_from_sdv", "sdgym_functions", "serve_model", "split",
    "sweep",
    "synth", "synthcity_plugin", "tables_from_sdv", "to_sdv",
    "tradeoff", "tradeoff_point", "truncation_levels", "verify", "verify_entry", "verify_ledger",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "rules":
        return importlib.import_module("sklar.schema.rules")
    if name not in _PLACES:
        raise AttributeError(f"module 'sklar' has no attribute '{name}'")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
