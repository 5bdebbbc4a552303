"""Measure the facts that a schema marks "pay", without fitting a model, and return the completed schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from sklar.accounting.budget import Budget
from sklar.accounting.ledger import fits_total
from sklar.accounting.unit import Neighbours, Unit, make_unit
from sklar.errors import BudgetError, UsageError
from sklar.methods.facts.fit import FactsOptions, collect_facts, label_threshold, measured_columns
from sklar.methods.facts.marks import labels_to_pay, must_pay, require_payable
from sklar.pipeline.fit.book import open_book, warn_of_ledgers
from sklar.pipeline.fit.paid import facts_part, measure_marked_facts, set_aside
from sklar.pipeline.fit.prices import require_addable
from sklar.pipeline.fit.run import session_opener
from sklar.pipeline.fit.warnings import warn_of_large_epsilon
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.table import Schema

DEFAULT_DELTA = 1e-10
MAX_PRINTED_NOTES = 30
"""Maximum number of findings that `print` shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """Measured facts and their price.

    Attributes:
        schema: The schema with the facts; their source is "measured", and their price is among its prices.
        notes: The findings, column by column.
        epsilon: The epsilon spent, at `delta`.
        delta: The delta spent.
        rho: The price in zCDP.
        ledger: The ledger file that was charged; None if there is none.
    """

    schema: Schema
    notes: tuple[str, ...]
    epsilon: float
    delta: float
    rho: float
    ledger: str | None

    def __str__(self) -> str:
        spent = f"Spent: epsilon {self.epsilon:.4g} at delta {self.delta:.4g}"
        more = (
            [f"and {len(self.notes) - MAX_PRINTED_NOTES} more; see .notes"]
            if len(self.notes) > MAX_PRINTED_NOTES
            else []
        )
        return "\n".join([spent, *self.notes[:MAX_PRINTED_NOTES], *more])

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the schema, as plain data."""
        return {key: value for key, value in asdict(self).items() if key != "schema"}


def rows_to_find_label(schema: Schema, budget: Budget, unit: Unit) -> int | None:
    """Return the number of rows at which a label is found with probability 1/2; None if no labels are sought."""
    if not labels_to_pay(schema):
        return None
    return label_threshold(schema, facts_part(schema, budget, unit).allowance, unit)[0]


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

    What the schema states under such a mark is not used, since it may come from the rows. The price is written into the
    schema: a fit that uses it adds the price to its own epsilon and delta.

    Args:
        data: The same as in `fit`.
        schema: A schema with marks, or the path of one.
        epsilon: The budget for the facts. It has no default.
        delta: The same as in `fit`; labels cannot be found with 0.
        ledger: The same as in `fit`, like `neighbours`, `rows_per_person`, `rho`, `new_ledger`, `resume` and `read`.
        keep_listed: Keep stated facts, which are known without these rows: labels stay, and bounds are searched within
            the stated ones. They are `assumed`; the price and the claim of a fit list them.
    """
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    if not must_pay(facts):
        raise UsageError('the schema marks no fact to be measured: set source = "pay" where one should be')
    if epsilon is None and rho is None:
        raise BudgetError("epsilon has no default: state the budget for the facts, such as epsilon=0.2")
    require_payable(facts)
    budget = Budget(epsilon=epsilon, rho=rho, delta=delta)
    if not measured_columns(facts):
        free = collect_facts(facts, facts)
        return Payment(schema=free.schema, notes=free.notes, epsilon=0.0, delta=0.0, rho=0.0, ledger=None)
    set_aside(budget, labels=bool(labels_to_pay(facts)))  # refuses before a ledger is made
    warn_of_large_epsilon(budget)
    options = read_options(read, facts.null_values)
    book = open_book(data, ledger, neighbours or "add-remove", new_ledger=new_ledger, sql=options.sql)
    unit = make_unit(facts.person, neighbours or book.header.neighbours, rows_per_person, options.null_values)
    require_addable(facts.prices, unit, book)
    opener = session_opener(data, book, unit, resume=resume, read=options)
    wanted = FactsOptions(marked=facts, keep_listed=keep_listed)
    part = facts_part(facts, budget, unit)
    with measure_marked_facts(wanted, part, unit, opener, book, options.assumptions) as (found, session):
        warn_of_ledgers(data, book, (session.record,))
    total = fits_total((session.record,))
    path = None if book.path is None else str(book.path)
    return Payment(
        schema=found.schema, notes=found.notes, epsilon=total.epsilon, delta=total.delta, rho=total.rho, ledger=path
    )
