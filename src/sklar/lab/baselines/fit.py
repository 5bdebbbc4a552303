"""Fit a model with a method that promises nothing: read the rows, hand them over, and label all that comes of it."""

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
    """Learn a model from the rows themselves.

    A drafted schema is taken as it is: facts read off the rows give away no more than the model does. There is no
    budget to spend, so a rho, a ledger or a neighbour relation is refused; an epsilon is for methods that have one of
    their own, which is no guarantee. The seed is that of the fit, for methods with random steps.
    """
    method, schema = BASELINES[request.method or ""], request.schema
    if request.no_guarantee is not True:  # "no" or 0.1 is not somebody who said so
        raise UsageError(
            f"method '{method.name}' has no DP guarantee: it learns from the rows without enough noise. If that is "
            "what you want, say so with no_guarantee=True (--no-guarantee)"
        )
    _refuse_budget(method, request)
    own = {} if request.epsilon is None else {"epsilon": request.epsilon}
    settings = method.fitting(schema, {**request.options, **own}, request.target)
    table = read_table(request.data, schema, generator(request.seed), role="real", read=request.read)
    table = method.regrid(table, settings)
    with one_blas_thread():
        model = method.fit(table, settings, generator(request.seed))
    claim, facts = _claim(schema, method, settings), _facts(method, settings)
    return Model(Stored(schema=table.schema, claim=claim, fit=facts, recorded=(), model=model))


def _refuse_budget(method: BaselineMethod, request: FitRequest) -> None:
    """No budget is spent here, and ways of reading that are for counts alone are of no use: rows must be in memory."""
    for name in ("rho", "ledger", "new_ledger", "neighbours"):
        if (value := getattr(request, name)) is not None and value is not False:
            raise UsageError(f"method '{method.name}' has no DP guarantee, so it takes no {name}; leave it out")
    for name in ("cache", "cache_bytes", "threads", "spark"):
        if name in request.read.said:
            raise UsageError(
                f"method '{method.name}' reads its rows into memory and makes no use of {name}; leave it out"
            )
    if request.epsilon is not None and not method.takes_epsilon:
        raise UsageError(f"method '{method.name}' has no DP guarantee and takes no epsilon; leave it out")


def _claim(schema: Schema, method: BaselineMethod, settings: Any) -> Claim:
    return Claim(
        method=method.name,
        guarantee=False,
        epsilon=None,
        delta=None,
        rho=None,
        accounting="none",
        neighbours="none",
        rows_per_person=1,
        ledger=None,
        public=(),
        assumed=(),
        measured=(),
        rules=tuple(rule.describe() for rule in schema.rules),
        caveats=(method.learned(settings), *method.caveats),
        not_covered=("everything: no differential privacy is promised",),
        numerics="",
        version=sklar.__version__,
    )


def _facts(method: BaselineMethod, settings: Any) -> dict[str, Any]:
    options = json.loads(json.dumps(dataclasses.asdict(settings), default=str))
    return {"method": method.name, "guarantee": False, "options": options, "warning": method.learned(settings)}
