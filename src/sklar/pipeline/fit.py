"""Fit a model: open the source, the budget and the ledger, build a Door, and hand it to the method."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from typing import Any, cast

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import plan_events
from sklar.accounting.ledger import Ledger
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import BudgetError, UsageError
from sklar.methods.facts_digits import with_found_digits
from sklar.methods.method import Method
from sklar.methods.registry import find_method
from sklar.pipeline.book import open_book, warn_of_ledgers
from sklar.pipeline.claims import make_claim
from sklar.pipeline.disclosed_fit import find_disclosed, fit_disclosed
from sklar.pipeline.fitted import Model
from sklar.pipeline.modelfile import Stored
from sklar.pipeline.paid import OpenWall, Paid, paid_first
from sklar.pipeline.prices import require_addable, with_own_price
from sklar.pipeline.promise import warn_of_large_delta, warn_of_large_epsilon
from sklar.pipeline.signal import warn_of_weak_margins
from sklar.private.session import Reservation, Session, open_session
from sklar.release.record import record_line
from sklar.sample.rng import generator
from sklar.schema.table import Schema

DEFAULT_DELTA = 1e-9
READER = (
    "delimiter", "encoding", "null_values", "sql", "rows_are_rows", "progress", "cache", "cache_bytes", "threads",
    "spark",
)  # fmt: skip
"""What can be said about how a source is read."""
DEFAULT_PAY_SHARE = 0.1
"""Share of the budget that pays for facts, where the schema marks any to be measured first."""


def fit(
    data: Any,
    schema: Schema | str | PathLike[str],
    method: str | None = None,
    epsilon: float | None = None,
    delta: float = DEFAULT_DELTA,
    ledger: str | PathLike[str] | None = None,
    neighbours: Neighbours | None = None,
    rows_per_person: int = 1,
    target: str | None = None,
    *,
    rho: float | None = None,
    no_guarantee: bool = False,
    new_ledger: bool = False,
    resume: bool = True,
    reader: Mapping[str, Any] | None = None,
    seed: int | None = None,
    pay_share: float = DEFAULT_PAY_SHARE,
    **options: Any,
) -> Model:
    """Learn a private model of a table.

    Args:
        data: A file (CSV, TSV, Parquet, Arrow) or a folder of them, a data frame (also of Spark), or anything that
            speaks Arrow.
        schema: Public facts about the columns, or the path of a schema file.
        method: A name from `sklar methods`; the DP vine by default.
        epsilon: The privacy budget. It has no default: choose it.
        delta: What may be added to exp(epsilon) times a probability; 0 means Laplace noise only.
        ledger: The ledger file to charge, which must exist. By default FILE.ledger beside a file (made without a cap if
            need be, with a warning), and none beyond this fit for frames.
        neighbours: "add-remove" or "replace"; by default what the ledger says, else what the method prefers.
        rows_per_person: The most rows any one person has in the table.
        target: A column that users will predict (public knowledge); some methods move budget to it.
        rho: A zCDP budget instead of epsilon.
        no_guarantee: Must be True for methods that promise nothing, and only for those.
        new_ledger: Make the named ledger, without a cap, if it does not exist.
        resume: Take up an unfinished fit of the same settings, if the ledger has one.
        reader: How to read the source: delimiter, encoding, null_values, sql, rows_are_rows (you vouch that each row of
            the query's result comes from one row of the table alone), progress (called with 0.0 when a pass
            begins), cache (a private folder for codes that outgrow the memory), spark (master of a cluster).
        seed: Refused for private methods: seeded noise would void the guarantee. Seed the samples instead.
        pay_share: Share of the budget that pays for the facts which the schema marks "pay", if any.
        options: Options of the method.

    Returns:
        A model to sample from, with its claim.
    """
    with fitting(
        data, schema, method=method, epsilon=epsilon, delta=delta, ledger=ledger, neighbours=neighbours,
        rows_per_person=rows_per_person, target=target, rho=rho, no_guarantee=no_guarantee,
        new_ledger=new_ledger, resume=resume, reader=reader, seed=seed, pay_share=pay_share, options=options,
    ) as model:  # fmt: skip
        return model


@contextmanager
def fitting(
    data: Any,
    schema: Schema | str | PathLike[str],
    *,
    method: str | None = None,
    epsilon: float | None = None,
    delta: float = DEFAULT_DELTA,
    ledger: str | PathLike[str] | None = None,
    neighbours: Neighbours | None = None,
    rows_per_person: int = 1,
    target: str | None = None,
    rho: float | None = None,
    no_guarantee: bool = False,
    new_ledger: bool = False,
    resume: bool = True,
    reader: Mapping[str, Any] | None = None,
    seed: int | None = None,
    pay_share: float = DEFAULT_PAY_SHARE,
    options: Mapping[str, Any] | None = None,
) -> Generator[Model]:
    """As `fit`, but the fit stays open in the ledger until the block ends.

    Save the model inside the block: if that fails, say for a full disk, the same fit can be resumed at no further cost.
    """
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    _refuse_unusable(ledger, reader)
    disclosed = find_disclosed(method)
    if disclosed is not None:
        yield fit_disclosed(
            data, facts, disclosed, no_guarantee=no_guarantee, epsilon=epsilon, rho=rho, ledger=ledger,
            new_ledger=new_ledger or None, neighbours=neighbours, target=target, seed=seed, reader=reader,
            options=options,
        )  # fmt: skip
        return
    _refuse_what_voids(seed, no_guarantee)
    chosen = find_method(method)
    settings = chosen.read_options({**(options or {}), **_target_option(chosen, target)})
    chosen.check(facts, settings)
    budget = _budget(epsilon, rho, delta, chosen)
    chosen.settle(settings, budget)  # refuses what does not fit before anything is paid
    facts.require_confirmed()
    warn_of_large_epsilon(budget)
    book = open_book(data, ledger, neighbours or chosen.neighbours, new_ledger=new_ledger)
    unit = Unit(neighbours=neighbours or book.header.neighbours, rows_per_person=rows_per_person)
    chosen.require_relation(unit.neighbours)
    require_addable(facts.prices, unit, book)
    wall = open_wall(data, book, unit, resume=resume, reader=reader or {})
    with paid_first(facts, budget, unit, pay_share, wall, book) as paid:
        settings = chosen.settle(settings, paid.rest)
        reservation = _reservation(paid.schema, chosen, settings, paid.rest, unit)
        with open_session(data, paid.schema, book, reservation, resume=resume, reader=reader or {}) as session:
            warn_of_ledgers(data, book, (*paid.records, session.record))
            model = chosen.fit(session.door, settings, generator(session.record.seed))
            warn_of_weak_margins(session.recorded)
            records = (*paid.records, session.record)
            warn_of_large_delta(budget, model.rows_estimate)
            found = with_found_digits(paid.schema, model.margins)
            found = with_own_price(found, paid.schema, records, budget, book)
            yield Model(
                Stored(
                    schema=found,
                    claim=make_claim(found, chosen, records, budget, book, reader or {}),
                    fit=_fit_facts(chosen, settings, session, paid),
                    recorded=session.recorded,
                    model=model,
                )
            )


def open_wall(data: Any, book: Ledger, unit: Unit, *, resume: bool, reader: Mapping[str, Any]) -> OpenWall:
    """What opens a Door over these rows for a measurement before the fit."""

    def opened(
        schema: Schema, *, method: str, budget: Budget, allowance: Allowance, fingerprint: str
    ) -> AbstractContextManager[Session]:
        reservation = Reservation(
            method=method,
            budget=budget,
            allowance=allowance,
            unit=unit,
            seed=fresh_seed(),
            fingerprint=fingerprint,
            plan=None,
        )
        return open_session(data, schema, book, reservation, resume=resume, reader=reader, again=True)

    return opened


def fresh_seed() -> int:
    """A seed for the post-processing (never for noise), recorded so that a resumed fit comes to the same model."""
    return secrets.randbits(63)


def _refuse_unusable(ledger: object, reader: object) -> None:
    """A ledger that is no path, and ways of reading that nobody knows."""
    if ledger is not None and not isinstance(ledger, str | PathLike):
        raise UsageError(f"ledger is the path of a ledger file, not a {type(ledger).__name__}")
    if reader is None:
        return
    if not isinstance(reader, Mapping):
        raise UsageError("reader is a mapping, as {'delimiter': ';'}")
    unknown = [name for name in cast("Mapping[Any, Any]", reader) if name not in READER]
    if unknown:
        raise UsageError(f"reader has no '{unknown[0]}'; it has: {', '.join(READER)}")


def _refuse_what_voids(seed: int | None, no_guarantee: bool) -> None:
    if seed is not None:
        raise UsageError(
            "a private fit takes no seed: noise that can be repeated protects nobody. Seed the sample instead"
        )
    if no_guarantee:
        raise UsageError("no_guarantee=True is for methods without a guarantee; this method has one, so leave it out")


def _target_option(method: Method, target: str | None) -> dict[str, Any]:
    if target is None:
        return {}
    if not method.takes_target:
        raise UsageError(f"method '{method.name}' makes no use of a target; leave it out")
    return {"target": target}


def _budget(epsilon: float | None, rho: float | None, delta: float, method: Method) -> Budget:
    if epsilon is None and rho is None:
        raise BudgetError("epsilon has no default: say how much privacy may be lost, as epsilon=1.0")
    budget = Budget(epsilon=epsilon, rho=rho, delta=delta)
    if budget.pure and method.needs_delta:
        raise BudgetError(f"method '{method.name}' needs delta above 0, as 1e-9; with delta = 0 use 'independent'")
    return budget


def _reservation(schema: Schema, method: Method, options: Any, budget: Budget, unit: Unit) -> Reservation:
    allowance, plan = method.allowance(schema, options, budget, unit)
    return Reservation(
        method=method.name,
        budget=budget,
        allowance=allowance,
        unit=unit,
        seed=fresh_seed(),
        fingerprint=_fingerprint(schema, method, options, budget, unit),
        plan=plan_events(allowance, unit, plan) if plan else None,
    )


def _fingerprint(schema: Schema, method: Method, options: Any, budget: Budget, unit: Unit) -> str:
    """Recognizes a fit of the same settings; it says nothing about rows."""
    parts = [schema.fingerprint, method.name, options, budget, unit, sklar.__version__]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _finite(amount: float) -> float | None:
    return None if amount == float("inf") else amount


def _fit_facts(method: Method, options: Any, session: Session, paid: Paid) -> dict[str, Any]:
    record = session.record
    bought = {"notes": paid.notes, "releases": [record_line(step) for step in paid.recorded]}
    return {
        "method": method.name,
        "options": json.loads(json.dumps(dataclasses.asdict(options), default=str)),
        "budget": dataclasses.asdict(record.budget),
        "allowance": dataclasses.asdict(record.allowance),
        "unit": dataclasses.asdict(record.unit),
        "rows": session.door.rows,
        "seed": record.seed,
        "steps": [
            {"label": step.label, "cost": fit.cost(step), "rho": step.rho, "epsilon": _finite(step.epsilon)}
            for fit in (*paid.records, record)
            for step in fit.steps
        ],
        **({"paid": bought} if paid.records else {}),
    }
