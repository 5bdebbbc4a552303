"""Fit a model with a method that promises nothing: read the rows, hand them over, and label all that comes of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sklar
from sklar.accounting.claim import Claim
from sklar.errors import UsageError
from sklar.methods.registry import METHODS
from sklar.pipeline.claims import describe_rule
from sklar.pipeline.fitted import Model
from sklar.pipeline.modelfile import Stored
from sklar.sample.rng import generator
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.disclosed.method import DisclosedMethod


def find_disclosed(name: str | None) -> DisclosedMethod | None:
    """The method without a guarantee of this name; None if the name is of a DP method or left out."""
    from sklar.disclosed.registry import DISCLOSED

    if name is None or name in METHODS:
        return None
    if name not in DISCLOSED:
        raise UsageError(
            f"there is no method '{name}'; the methods are: {', '.join(METHODS)}; and, without any guarantee: "
            f"{', '.join(DISCLOSED)}"
        )
    return DISCLOSED[name]


def fit_disclosed(
    data: Any,
    schema: Schema,
    method: DisclosedMethod,
    *,
    no_guarantee: bool,
    epsilon: float | None = None,
    rho: float | None = None,
    ledger: object = None,
    new_ledger: object = None,
    neighbours: object = None,
    target: str | None = None,
    seed: int | None = None,
    reader: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Model:
    """Learn a model from the rows themselves.

    A drafted schema is taken as it is: facts read off the rows give away no more than the model does.

    Args:
        data: What `fit` takes.
        schema: Facts about the columns.
        method: The method.
        no_guarantee: Must be True: nobody gets such a model by mistake.
        epsilon: Only for methods that have an epsilon of their own, which is no guarantee.
        rho: Refused, like `ledger` and `neighbours`: there is no budget to spend.
        ledger: Refused.
        new_ledger: Refused.
        neighbours: Refused.
        target: The response, for methods that have one.
        seed: Seed of the fit, for methods with random steps.
        reader: How to read the source.
        options: Options of the method.
    """
    from sklar.disclosed.metrics.reading import read_table

    _require_said(method, no_guarantee)
    _refuse_budget(method, rho=rho, ledger=ledger, new_ledger=new_ledger, neighbours=neighbours)
    _refuse_scale(method, reader or {})
    settings = method.read_options({**(options or {}), **_own_options(method, epsilon, target)})
    method.check(schema, settings)
    reading = {name: value for name, value in (reader or {}).items() if value is not None}
    table = read_table(data, schema, generator(seed), role="real", reader=reading)
    return Model(
        Stored(
            schema=schema,
            claim=_claim(schema, method, settings),
            fit=_facts(method, settings),
            recorded=(),
            model=method.fit(table, settings, generator(seed)),
        )
    )


def _require_said(method: DisclosedMethod, no_guarantee: bool) -> None:
    if no_guarantee is not True:  # "no" or 0.1 is not somebody who said so
        raise UsageError(
            f"method '{method.name}' has no DP guarantee: it learns from the rows without enough noise. If that is "
            "what you want, say so with no_guarantee=True (--no-guarantee)"
        )


def _refuse_budget(method: DisclosedMethod, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"method '{method.name}' has no DP guarantee, so it takes no {name}; leave it out")


def _refuse_scale(method: DisclosedMethod, reader: Mapping[str, Any]) -> None:
    """Ways of reading that are for counts alone; these methods need rows in memory."""
    for name in ("cache", "cache_bytes", "threads", "spark"):
        if reader.get(name) is not None:
            raise UsageError(
                f"method '{method.name}' reads its rows into memory and makes no use of {name}; leave it out"
            )


def _own_options(method: DisclosedMethod, epsilon: float | None, target: str | None) -> dict[str, Any]:
    if epsilon is not None and not method.takes_epsilon:
        raise UsageError(f"method '{method.name}' has no DP guarantee and takes no epsilon; leave it out")
    if target is not None and not method.takes_target:
        raise UsageError(f"method '{method.name}' makes no use of a target; leave it out")
    own = {"epsilon": epsilon, "target": target}
    return {name: value for name, value in own.items() if value is not None}


def _claim(schema: Schema, method: DisclosedMethod, settings: Any) -> Claim:
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
        rules=tuple(describe_rule(rule) for rule in schema.constraints),
        caveats=(method.learned(settings), *method.caveats),
        not_covered=("everything: no differential privacy is promised",),
        numerics="",
        version=sklar.__version__,
    )


def _facts(method: DisclosedMethod, settings: Any) -> dict[str, Any]:
    options = json.loads(json.dumps(dataclasses.asdict(settings), default=str))
    return {"method": method.name, "guarantee": False, "options": options, "warning": method.learned(settings)}
