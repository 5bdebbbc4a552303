"""Pay for the facts that a schema marks "pay", on their own: a schema goes in, one with measured facts comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.ledger import fits_total
from sklar.accounting.unit import Neighbours, Unit, unit_of
from sklar.errors import BudgetError, UsageError
from sklar.methods.facts.fit import FactsOptions, label_threshold, measured_columns, settled
from sklar.methods.facts.marks import labels_to_pay, must_pay, require_payable
from sklar.pipeline.fit.book import open_book, warn_of_ledgers
from sklar.pipeline.fit.paid import measured, set_aside
from sklar.pipeline.fit.prices import require_addable
from sklar.pipeline.fit.run import open_wall
from sklar.pipeline.fit.warnings import warn_of_large_epsilon
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.table import Schema

DEFAULT_DELTA = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """Measured facts and their price.

    Attributes:
        schema: The schema with the facts; their source is "measured", and their price is among its prices.
        notes: What was found, column by column.
        epsilon: What was spent, at `delta`.
        delta: What may be added to exp(epsilon) times a probability.
        rho: The same in zCDP.
        ledger: The ledger file that was charged; None if there is none.
    """

    schema: Schema
    notes: tuple[str, ...]
    epsilon: float
    delta: float
    rho: float
    ledger: str | None

    def to_dict(self) -> dict[str, Any]:
        """All but the schema, as plain data."""
        return {key: value for key, value in asdict(self).items() if key != "schema"}


def rows_of_a_label(schema: Schema, budget: Budget, unit: Unit) -> int | None:
    """Rows that a label needs to be found as often as not, told before anything is paid; None if none are sought."""
    if not labels_to_pay(schema):
        return None
    aside = set_aside(budget, labels=True)
    return label_threshold(schema, calibrate(budget, unit, discovery=aside), unit)[0]


def pay(
    data: Any,
    schema: Schema | str | PathLike[str],
    epsilon: float | None = None,
    delta: float = DEFAULT_DELTA,
    ledger: str | PathLike[str] | None = None,
    neighbours: Neighbours | None = None,
    rows_per_person: int = 1,
    *,
    rho: float | None = None,
    keep_listed: bool = False,
    new_ledger: bool = False,
    resume: bool = True,
    read: ReadOptions | Mapping[str, Any] | None = None,
) -> Payment:
    """Measure every bound and list of labels that the schema marks "pay".

    What the schema states under such a mark is not used, since it may have been read off the rows. The price is written
    into the schema: a fit that uses it adds the price to its own epsilon and delta.

    Args:
        data: What `fit` takes.
        schema: A schema with marks, or the path of one.
        epsilon: What the facts may cost. It has no default.
        delta: As in `fit`; labels cannot be found with 0.
        ledger: As in `fit`, like `neighbours`, `rows_per_person`, `rho`, `new_ledger`, `resume` and `read`.
        keep_listed: What is stated is known without these rows: labels stay, and bounds are searched within the stated
            ones. Such facts are `assumed`; the price and the claim of a fit list what was stated.
    """
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    if not must_pay(facts):
        raise UsageError(
            'the schema marks no fact to be paid for: set source = "pay" where something is to be measured'
        )
    if epsilon is None and rho is None:
        raise BudgetError("epsilon has no default: say how much the facts may cost, as epsilon=0.2")
    require_payable(facts)
    budget = Budget(epsilon=epsilon, rho=rho, delta=delta)
    if not measured_columns(facts):
        free = settled(facts, facts)
        return Payment(schema=free.schema, notes=free.notes, epsilon=0.0, delta=0.0, rho=0.0, ledger=None)
    set_aside(budget, labels=bool(labels_to_pay(facts)))  # refuses before a ledger is made
    warn_of_large_epsilon(budget)
    options = read_options(read, facts.null_values)
    book = open_book(data, ledger, neighbours or "add-remove", new_ledger=new_ledger, sql=options.sql)
    unit = unit_of(facts.person, neighbours or book.header.neighbours, rows_per_person, options.null_values)
    require_addable(facts.prices, unit, book)
    wall = open_wall(data, book, unit, resume=resume, read=options)
    asked = FactsOptions(marked=facts, keep_listed=keep_listed)
    with measured(asked, budget, unit, wall, book, options.assumptions) as (found, session):
        warn_of_ledgers(data, book, (session.record,))
    total = fits_total((session.record,))
    path = None if book.path is None else str(book.path)
    return Payment(
        schema=found.schema, notes=found.notes, epsilon=total.epsilon, delta=total.delta, rho=total.rho, ledger=path
    )
