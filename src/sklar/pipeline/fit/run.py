"""Fit a private model: validate the request, open the ledger, pay for facts, reserve, run the method, claim."""

from __future__ import annotations

import dataclasses
import importlib
import json
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from os import PathLike
from typing import Any

from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import plan_events
from sklar.accounting.ledger import FitRecord, Ledger
from sklar.accounting.unit import Neighbours, Unit, make_unit
from sklar.errors import BudgetError, FlatColumnWarning, TableTooLargeError, UsageError, warn_user
from sklar.methods.evidence import Setting, measure_all
from sklar.methods.facts.marks import must_pay, with_calendars, with_found_digits
from sklar.methods.method import Method, as_if_paid
from sklar.notebook import notebook_bar
from sklar.pipeline.accept import Criteria, not_accepted
from sklar.pipeline.fit.book import open_book, warn_of_ledgers
from sklar.pipeline.fit.claim import declared_digest, make_claim, settings_digest
from sklar.pipeline.fit.paid import (
    BudgetPart,
    Paid,
    PaidStage,
    Rest,
    SessionOpener,
    finds_labels,
    paid_first,
    set_aside,
)
from sklar.pipeline.fit.prices import require_addable, stated_digest, step_costs, with_own_price
from sklar.pipeline.fit.prior import count_prior, require_public
from sklar.pipeline.fit.request import DEFAULT_DELTA, FitRequest, fit_request
from sklar.pipeline.fit.warnings import (
    warn_of_copied_prior,
    warn_of_large_delta,
    warn_of_large_epsilon,
    warn_of_new_moment,
    warn_of_weak_margins,
)
from sklar.pipeline.inspection import flat_columns
from sklar.pipeline.model import Model
from sklar.pipeline.model_file import Stored
from sklar.pipeline.versions import list_versions
from sklar.private.noise import SYSTEM, NoiseSource
from sklar.private.requests import check_step
from sklar.private.session import Conditions, Reservation, Session, hold_snapshot, open_session
from sklar.release.measurements import Recorded, encode_step
from sklar.sample.rng import generator
from sklar.schema.coordinates import coordinates
from sklar.schema.persons.person import list_declared
from sklar.schema.persons.tables import Tables
from sklar.schema.prior import PublicPrior
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema, schema_to_toml

BASELINE_FIT = "sklar.lab.baselines.fit"
"""Module that fits methods without a guarantee: imported by name, so that a private fit never reaches it."""


def fit(
    data: Any,
    schema: Schema | Tables | str | PathLike[str] | None = None,
    method: str | Method[Any] | None = None,
    epsilon: float | None = None,
    delta: float = DEFAULT_DELTA,
    ledger: str | PathLike[str] | None = None,
    neighbours: Neighbours | None = None,
    rows_per_person: int = 1,
    target: str | None = None,
    prior: Any = None,
    *,
    rho: float | None = None,
    no_guarantee: bool = False,
    new_ledger: bool = False,
    resume: bool = True,
    read: ReadOptions | Mapping[str, Any] | None = None,
    seed: int | None = None,
    pay_share: float | None = None,
    check_share: float = 0.0,
    accept: Criteria | Mapping[str, Any] | str | PathLike[str] | None = None,
    **options: Any,
) -> Model:
    """Fit a model to a table: a private one or, with `no_guarantee`, one of a method without a guarantee.

    Args:
        data: A file (CSV, TSV, Parquet, Arrow) or a folder of them, the URL of a table in a database, a data frame
            (also of Spark), or any object with the Arrow interface.
        schema: Public facts about the columns, or the path of a schema file. For `Tables` the data are a mapping of
            both tables, a folder with a file for each, or a database. Without one, kinds, bounds and labels are
            measured and paid for from the budget: only the names and the number of columns are taken as public.
        method: A name from `sklar methods`, or a `Method` of your own; the DP vine by default.
        epsilon: The privacy budget. It has no default: choose it.
        delta: The delta of (epsilon, delta)-differential privacy; 0 means Laplace noise only.
        ledger: The ledger to charge, or its file, which must exist. By default FILE.ledger beside a file (created
            without a cap if it does not exist, with a warning); for frames, one in memory for this fit.
        neighbours: "add-remove" or "replace"; by default that of the ledger, else that of the method.
        rows_per_person: The maximum number of rows of one person in the table.
        target: A column that users will predict (public knowledge); some methods give it more budget.
        prior: A public table of the same columns (or some of them), the model of one or its file, or a `Prior` that
            names who vouches for it. The fit shrinks towards it to the extent that its own measurements agree with it.
            Nothing in it is protected, and its counts are stored in the model file.
        rho: A zCDP budget instead of epsilon.
        no_guarantee: Must be True for methods without a guarantee, and only for those.
        new_ledger: Create the named ledger, without a cap, if it does not exist.
        resume: Resume an unfinished fit of the same settings, if the ledger has one.
        read: How to read the source.
        seed: Refused for private methods: seeded noise would void the guarantee. Seed the samples instead.
        pay_share: Share of the budget for facts that the schema marks "pay", if any; by default a tenth, or what
            columns of unknown kinds need.
        check_share: Share of the budget for tables that the model is not fitted to and that check it in its report;
            none by default.
        accept: Criteria (typical_error, auc_gap, contradictions, confidence), or a TOML file of them, that the model
            must meet on those tables. Otherwise it is not released (`NotAcceptedError`), and the budget is still spent.
        options: Options of the method.

    Returns:
        A model to sample from, with its claim.
    """
    request = fit_request(
        data, schema, method=method, epsilon=epsilon, delta=delta, ledger=ledger, neighbours=neighbours,
        rows_per_person=rows_per_person, target=target, prior=prior, rho=rho, no_guarantee=no_guarantee,
        new_ledger=new_ledger, resume=resume, read=read, seed=seed, pay_share=pay_share, check_share=check_share,
        accept=accept, **options,
    )  # fmt: skip
    bar = None if request.read.progress else notebook_bar("fitting")
    if bar is not None:
        request = dataclasses.replace(request, read=dataclasses.replace(request.read, progress=bar))
    with open_fit(request) as model:
        if bar is not None:
            bar.close()
        return model


@contextmanager
def open_fit(request: FitRequest, noise: NoiseSource = SYSTEM) -> Generator[Model]:
    """Fit as `fit` does, in a context: the fit stays open in the ledger until the block ends.

    Save the model inside the block: if that fails, as on a full disk, the same fit can be resumed at no further cost.
    """
    if not request.private:
        yield importlib.import_module(BASELINE_FIT).fit_baseline(request)
        return
    with _opened(request, noise) as opened, _paid(opened) as paid, _reserved(opened, paid) as (session, setting):
        warn_of_ledgers(request.data, opened.book, (*paid.records, session.record))
        if session.resumed and opened.data is not request.data:
            warn_of_new_moment()
        model = opened.method.fit(setting, session.door)
        claimed = _claimed(opened, paid, session, setting, model)
        reasons = claimed.unmet(request.accept) if request.accept is not None else ()
        if not reasons:
            yield claimed
    if reasons:  # the ledger entry is closed first: the fit cannot be resumed
        raise not_accepted(reasons)


def run_for_releases(request: FitRequest, last: str | None = None, noise: NoiseSource = SYSTEM) -> tuple[Recorded, ...]:
    """Run a private fit for its releases alone, as an audit does, up to the step labelled `last`; build no model.

    Everything released until then is charged, measured and recorded as in any fit.
    """
    with _opened(request, noise) as opened, _paid(opened) as paid, _reserved(opened, paid) as (session, setting):
        measure_all(opened.method.ask, setting, session.door, last)
        return session.recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A validated request, the ledger it is charged to, and one snapshot of the rows."""

    request: FitRequest
    data: Any
    method: Method[Any]
    settings: Any
    budget: Budget
    book: Ledger
    unit: Unit
    noise: NoiseSource


@contextmanager
def _opened(request: FitRequest, noise: NoiseSource) -> Generator[_Opened]:
    """Open the ledger, after everything that does not need it was checked."""
    method, settings = request.private_method()
    budget = request.budget(method)
    warn_of_large_epsilon(budget)
    preferred = request.neighbours or method.neighbours
    sql = request.read.sql
    book = open_book(request.data, request.ledger, preferred, new_ledger=request.new_ledger, sql=sql)
    relation, nulls = request.neighbours or book.header.neighbours, request.read.null_values
    unit = make_unit(request.schema.person, relation, request.rows_per_person, nulls)
    method.require_unit(unit)
    require_addable(request.schema.prices, unit, book)
    if request.prior is not None:
        require_public(request.prior, request.data, request.schema, request.read, [fit.id for fit in book.fits])
    with hold_snapshot(request.data, request.read) as data:
        yield _Opened(
            request=request, data=data, method=method, settings=settings, budget=budget, book=book, unit=unit,
            noise=noise,
        )  # fmt: skip


def _paid(opened: _Opened) -> AbstractContextManager[Paid]:
    """Pay for the facts that the schema marks, if any."""
    request = opened.request
    if not must_pay(request.schema):
        return nullcontext(Paid(schema=request.schema))
    opener = session_opener(
        opened.data, opened.book, opened.unit, resume=request.resume, read=request.read, noise=opened.noise,
        before=lambda rest: _prepared(opened, as_if_paid(request.schema), rest),
    )  # fmt: skip
    reading = request.read.assumptions
    return paid_first(request.schema, _whole(opened), opened.unit, request.pay_share, opener, opened.book, reading)


def _whole(opened: _Opened) -> BudgetPart:
    """Return the budget of facts and model together, with its allowance: it depends on public facts alone."""
    schema, budget = opened.request.schema, opened.budget
    aside = set_aside(budget, labels=finds_labels(schema))
    counted = coordinates(as_if_paid(with_calendars(schema))).schema
    settings = opened.method.resolve(opened.settings, budget)
    allowance = opened.method.unplanned_allowance(counted, settings, budget, opened.unit, aside)
    return BudgetPart(budget=budget, allowance=allowance)


@contextmanager
def _reserved(opened: _Opened, paid: Paid) -> Generator[tuple[Session, Setting[Any]]]:
    """Reserve the remaining budget and open the Door; yield it with the setting of the fit."""
    with ExitStack() as stack:
        with _mention_paid_facts(paid):
            prepared = _prepared(opened, paid.schema, paid.rest, "".join(record.id for record in paid.records))
            opening = open_session(
                opened.data, paid.schema, opened.book, prepared.reservation, resume=opened.request.resume,
                read=opened.request.read, noise=opened.noise, conditions=Conditions(admit=prepared.admit),
            )  # fmt: skip
            session = stack.enter_context(opening)
        yield session, session_setting(session, prepared.settings, prepared.prior)


def session_setting(session: Session, options: Any, prior: PublicPrior | None = None) -> Setting[Any]:
    """Return the setting of an open fit."""
    record = session.record
    return Setting(
        schema=session.schema, options=options, allowance=record.allowance, unit=record.unit,
        rows=session.door.public_rows, prior=prior, generator=lambda: generator(record.seed),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A fit ready to reserve its budget: only the rows and the cap can still refuse it."""

    method: Method[Any]
    settings: Any
    prior: PublicPrior | None
    reservation: Reservation
    counted: Schema

    def admit(self, rows: int | None) -> None:
        """Refuse a fit that cannot succeed, given the number of persons if it is public."""
        allowance, unit = self.reservation.allowance, self.reservation.unit
        for line in self.method.require_possible(self.counted, self.settings, allowance, unit, rows):
            inside = line.noise.scale / (line.resolution * unit.resolution)
            check_step(line.label, dataclasses.replace(line.noise, scale=inside), max(line.cells, line.all_cells))


def _prepared(opened: _Opened, schema: Schema, rest: BudgetPart | None, paid: str = "") -> _Prepared:
    """Return a fit with this schema as it is decided before anything is reserved.

    `rest` is what a measurement of facts left of the budget, and `paid` identifies that measurement.
    """
    request, settings = opened.request, opened.method.resolve(opened.settings, _budget(opened, rest))
    if request.target is not None:  # its coordinate depends on bounds, which may have just been measured
        settings = dataclasses.replace(settings, target=coordinates(schema).find_coordinate(request.target))
    prior = None if request.prior is None else count_prior(request.prior, schema, request.read)
    stated = stated_digest(request.read.assumptions) + declared_digest(_declared(request, prior))
    return _Prepared(
        method=opened.method,
        settings=settings,
        prior=prior,
        reservation=_make_reservation(opened, schema, rest, settings, stated, paid),
        counted=coordinates(schema).schema,
    )


@contextmanager
def _mention_paid_facts(paid: Paid) -> Generator[None]:
    """Add to a refusal after facts were paid for that only these were charged."""
    try:
        yield
    except (UsageError, BudgetError, TableTooLargeError) as error:
        if paid.records:
            error.args = (
                f"{error}. Only the measurement of the schema's facts was charged; a fit with the same epsilon, delta "
                "and pay_share and a ledger file uses them again at no further cost",
            )
        raise


def _claimed(opened: _Opened, paid: Paid, session: Session, setting: Setting[Any], model: Any) -> Model:
    """Return the model with its claim."""
    warn_of_weak_margins(session.recorded)
    warn_of_large_delta(opened.budget, model.rows_estimate)
    warn_of_copied_prior(setting.prior, session.recorded)
    records = (*paid.records, session.record)
    found = with_found_digits(paid.schema, model.margins)
    reading = opened.request.read.assumptions
    found = with_own_price(found, paid.schema, records, opened.budget, opened.book, reading).without_notes()
    prior = setting.prior
    criteria = opened.request.accept is not None
    claim = make_claim(found, opened.method, records, opened.budget, opened.book, reading, prior, criteria=criteria)
    facts = _fit_facts(opened, setting, session, paid)
    stored = Stored(schema=found, claim=claim, fit=facts, recorded=session.recorded, model=model, prior=prior)
    for sentence in flat_columns(stored):
        warn_user(sentence, FlatColumnWarning)
    return Model(stored)


def session_opener(
    data: Any, book: Ledger, unit: Unit, *, resume: bool, read: ReadOptions, noise: NoiseSource = SYSTEM,
    before: Callable[[BudgetPart], _Prepared] | None = None,
) -> SessionOpener:  # fmt: skip
    """Return a function that opens a Door over these rows for a measurement before the fit.

    Args:
        data: The source of the rows.
        book: The ledger that is charged.
        unit: The unit of privacy.
        resume: Whether to resume an unfinished measurement.
        read: How the source is read.
        noise: The source of noise.
        before: Prepares the fit that follows with what is left: if it cannot succeed, nothing is measured.
    """

    def opened(
        schema: Schema, *, method: str, part: BudgetPart, fingerprint: str, rest: Rest | None
    ) -> AbstractContextManager[Session]:
        next_fit = before(rest.model) if before is not None and rest is not None else None
        reservation = Reservation(
            method=method,
            budget=part.budget,
            allowance=part.allowance,
            unit=unit,
            seed=fresh_seed(),
            fingerprint=fingerprint,
            plan=None,
            whole=None if rest is None else rest.whole,
        )
        conditions = Conditions(admit=(lambda rows: None) if next_fit is None else next_fit.admit, again=True)
        return open_session(
            data, schema, book, reservation, resume=resume, read=read, noise=noise, conditions=conditions
        )

    return opened


def fresh_seed() -> int:
    """Return a seed for the post-processing (never for noise), recorded so that a resumed fit gives the same model."""
    return secrets.randbits(63)


def _budget(opened: _Opened, rest: BudgetPart | None) -> Budget:
    return opened.budget if rest is None else rest.budget


def _make_reservation(
    opened: _Opened, schema: Schema, rest: BudgetPart | None, options: Any, stated: str, paid: str
) -> Reservation:
    method, unit, budget = opened.method, opened.unit, _budget(opened, rest)
    if rest is not None and rest.allowance.dither:  # facts and model are added up in squared shifts, without a plan
        allowance, plan = rest.allowance, ()
    else:
        allowance, plan = method.allowance(coordinates(schema).schema, options, budget, unit)
    seen = schema.with_prices(opened.request.schema.prices)
    return Reservation(
        method=method.name,
        budget=budget,
        allowance=allowance,
        unit=unit,
        seed=fresh_seed(),
        fingerprint=settings_digest(seen, method, options, budget, unit, paid=paid) + stated,
        plan=plan_events(allowance, unit, plan) if plan else None,
    )


def _declared(request: FitRequest, prior: PublicPrior | None) -> dict[str, Any]:
    """Return what was declared before anything was measured, as the model file stores it; empty by default."""
    return {
        **({"check_share": request.check_share} if request.check_share else {}),
        **({"accepted": request.accept.to_dict()} if request.accept is not None else {}),
        **({} if prior is None else {"prior": prior.digest}),
        **({} if request.schema.person is None else {"person": list_declared(request.schema.person)}),
    }


def _fit_facts(opened: _Opened, setting: Setting[Any], session: Session, paid: Paid) -> dict[str, Any]:
    record = session.record
    return {
        "method": opened.method.name,
        "options": json.loads(json.dumps(dataclasses.asdict(setting.options), default=str)),
        "requested": dataclasses.asdict(opened.budget),
        **_record_reserved_amounts(record),
        "unit": record.unit.to_dict(),
        "rows": setting.rows,
        "seed": record.seed,
        "steps": step_costs((*paid.records, record)),
        "versions": list_versions(),
        **_declared(opened.request, setting.prior),
        **({"reading": reading} if (reading := opened.request.read.assumptions) else {}),
        **({} if paid.kinds is None else {"kinds": _record_paid_stage(paid.kinds)}),
        **({} if paid.facts is None else {"paid": _record_paid_stage(paid.facts)}),
    }


def _record_paid_stage(stage: PaidStage) -> dict[str, Any]:
    # The queries follow from the schema with placeholders, which is stored: only the values need be kept.
    return {
        "requested": schema_to_toml(stage.requested),
        "notes": stage.notes,
        "releases": [encode_step(step) for step in stage.session.recorded],
        "label_weight": stage.label_weight,
        **_record_reserved_amounts(stage.session.record),
    }


def _record_reserved_amounts(record: FitRecord) -> dict[str, Any]:
    amounts = {"budget": dataclasses.asdict(record.budget), "allowance": dataclasses.asdict(record.allowance)}
    return {"fit": record.id, **amounts}
