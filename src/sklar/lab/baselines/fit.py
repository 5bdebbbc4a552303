"""Fit a model with a method without a guarantee, and label the model accordingly."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import sklar
from sklar.accounting.claim import Claim
from sklar.arrays import one_blas_thread
from sklar.errors import UsageError
from sklar.lab.baselines.method import BaselineMethod
from sklar.lab.baselines.registry import BASELINES
from sklar.lab.tables.reading import read_table
from sklar.pipeline.fit.request import FitRequest
from sklar.pipeline.model import Model
from sklar.pipeline.model_file import Stored
from sklar.sample.rng import generator
from sklar.schema.table import Schema


def fit_baseline(request: FitRequest) -> Model:
    """Fit a model to the rows.

    A drafted schema is accepted: facts read off the rows reveal no more than the model does. There is no budget, so a
    rho, a ledger or a neighbour relation is rejected; an epsilon is accepted by methods with such an option, which is
    no guarantee. The seed is used by methods with random steps.
    """
    method, schema = BASELINES[request.method or ""], request.schema
    if request.no_guarantee is not True:  # any other value, such as "no" or 0.1, is not consent
        raise UsageError(
            f"method '{method.name}' has no DP guarantee: it learns from the rows without enough noise. To use it "
            "nevertheless, pass no_guarantee=True (--no-guarantee)"
        )
    _reject_budget(method, request)
    own = {} if request.epsilon is None else {"epsilon": request.epsilon}
    settings = method.fitting(schema, {**request.options, **own}, request.target)
    table = read_table(request.data, schema, generator(request.seed), role="real", read=request.read)
    table = method.regrid(table, settings)
    with one_blas_thread():
        model = method.fit(table, settings, generator(request.seed))
    options = json.loads(json.dumps(dataclasses.asdict(settings), default=str))
    facts = {"method": method.name, "guarantee": False, "options": options, "warning": method.learned(settings)}
    claim = _make_claim(schema, method, settings)
    return Model(Stored(schema=table.schema, claim=claim, fit=facts, recorded=(), model=model))


def _reject_budget(method: BaselineMethod, request: FitRequest) -> None:
    """Reject budgets, and read options for streamed counts: the rows must be in memory."""
    for name in ("rho", "ledger", "new_ledger", "neighbours"):
        if (value := getattr(request, name)) is not None and value is not False:
            raise UsageError(f"method '{method.name}' has no DP guarantee, so it takes no {name}; leave it out")
    for name in ("cache", "cache_bytes", "threads", "spark"):
        if name in request.read.stated_names:
            raise UsageError(f"method '{method.name}' reads its rows into memory and ignores {name}; leave it out")
    if request.epsilon is not None and not method.takes_epsilon:
        raise UsageError(f"method '{method.name}' has no DP guarantee and takes no epsilon; leave it out")


def _make_claim(schema: Schema, method: BaselineMethod, settings: Any) -> Claim:
    return Claim(
        method=method.name, guarantee=False, epsilon=None, delta=None, rho=None, accounting="none", neighbours="none",
        rows_per_person=1, ledger=None, public=(), assumed=(), measured=(), numerics="", version=sklar.__version__,
        rules=tuple(rule.describe() for rule in schema.rules), caveats=(method.learned(settings), *method.caveats),
        not_covered=("everything: no differential privacy is promised",),
    )  # fmt: skip
