"""All arguments of a fit in one frozen value, used by the Python API, the command line and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, cast

from sklar.accounting.budget import Budget
from sklar.accounting.unit import Neighbours
from sklar.errors import BudgetError, UsageError
from sklar.given_numbers import plain_options
from sklar.methods.facts.kinds import unknown_schema
from sklar.methods.method import Method
from sklar.methods.registry import BASELINE_NAMES, find_method, hand_over_method
from sklar.pipeline.accept import Criteria, read_criteria
from sklar.pipeline.fit.prior import as_prior
from sklar.private.session import read_column_names
from sklar.schema.persons.tables import Tables
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.table import Schema

DEFAULT_DELTA = 1e-9
NO_SCHEMA = (
    "a fit needs a schema: public facts about the columns, not taken from the rows. Draft one with "
    "schema = sklar.draft_schema(data), list its questions with schema.questions(), answer each with "
    'schema = schema.confirm("age"), correct facts with schema.confirm("age", lower=0, upper=120), and fit with '
    "sklar.fit(data, schema, epsilon=1.0). At a terminal: sklar schema draft FILE -o s.toml, then sklar schema confirm "
    "s.toml"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
    """A validated request for a fit: all that can be refused without the ledger or the rows is refused here.

    The fields are the arguments of `sklar.fit`, where they are explained; `options` are those of the method.
    """

    data: Any
    schema: Schema
    method: Any = None
    epsilon: float | None = None
    delta: float = DEFAULT_DELTA
    rho: float | None = None
    ledger: str | PathLike[str] | None = None
    new_ledger: bool = False
    neighbours: Neighbours | None = None
    rows_per_person: int = 1
    target: str | None = None
    prior: Any = None
    no_guarantee: bool = False
    resume: bool = True
    read: ReadOptions = field(default_factory=ReadOptions)
    seed: int | None = None
    pay_share: float | None = None
    check_share: float = 0.0
    accept: Criteria | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if self.schema is None:
            if not self.private:
                raise UsageError(NO_SCHEMA)
            object.__setattr__(self, "schema", unknown_schema(read_column_names(self.data, read_options(self.read))))
        if isinstance(self.schema, Tables):
            object.__setattr__(self, "schema", self.schema.schema)
        if not isinstance(self.schema, Schema):
            object.__setattr__(self, "schema", Schema.read(self.schema))
        object.__setattr__(self, "read", read_options(self.read, self.schema.null_values))
        object.__setattr__(self, "prior", as_prior(self.prior))
        object.__setattr__(self, "options", plain_options(self.options))
        if isinstance(self.method, Method):
            object.__setattr__(self, "method", hand_over_method(cast("Method[Any]", self.method)))
        if self.method is not None and not isinstance(self.method, str):
            raise UsageError(f"method must be a name or a Method, not a {type(self.method).__name__}")
        if self.target is not None and not isinstance(self.target, str):
            raise UsageError(f"target must be the name of one column, not a {type(self.target).__name__}")
        if self.accept is not None:
            object.__setattr__(self, "accept", read_criteria(self.accept))
            if not self.check_share:
                raise UsageError("accept needs tables that are held back: also set check_share, such as 0.05")
            if self.accept.auc_gap is not None and self.target is None:
                raise UsageError("auc_gap is about predictions of a target: name it, such as target='income'")
        if self.prior is not None and not self.private:
            raise UsageError(f"method '{self.method}' does not use a prior; leave it out, or use 'vine'")
        if self.check_share and not self.private:
            raise UsageError("check_share is for methods with a guarantee: others have no budget to set aside")
        if self.ledger is not None and not isinstance(self.ledger, str | PathLike):
            raise UsageError(f"ledger must be the path of a ledger file, not a {type(self.ledger).__name__}")

    @property
    def private(self) -> bool:
        """Whether the method has a guarantee."""
        return self.method not in BASELINE_NAMES

    def budget(self, method: Method[Any]) -> Budget:
        """Return the budget; refuse one that the method cannot use."""
        if self.epsilon is None and self.rho is None:
            raise BudgetError("epsilon has no default: choose it, such as epsilon=1.0")
        budget = Budget(epsilon=self.epsilon, rho=self.rho, delta=self.delta)
        if budget.pure and method.needs_delta:
            raise BudgetError(
                f"method '{method.name}' needs delta above 0, such as 1e-9; with delta = 0 use 'independent'"
            )
        return budget

    def private_method(self) -> tuple[Method[Any], Any]:
        """Return the method and its options, after refusing what would void a guarantee or does not fit the schema."""
        if self.seed is not None:
            raise UsageError(
                "a private fit takes no seed: reproducible noise would void the guarantee. Seed the sample instead"
            )
        method = find_method(self.method, self.check_share)
        if self.no_guarantee:
            raise UsageError("no_guarantee=True is for methods without a guarantee; this one has a guarantee: omit it")
        if self.prior is not None and not method.takes_prior:
            raise UsageError(f"method '{method.name}' does not use a prior; leave it out, or use 'vine'")
        by, settings = method.fitting(self.schema, self.options, self.target)
        if self.prior is not None and by.views:
            raise UsageError("a prior is not available for longitudinal data: omit it, or set linked=False in Person")
        method.resolve(settings, self.budget(method))
        self.schema.require_confirmed()
        return method, settings


def fit_request(data: Any, schema: Schema | Tables | str | PathLike[str] | None, **settings: Any) -> FitRequest:
    """Make a request from the keywords of `sklar.fit`; keywords that are not arguments of a fit are method options."""
    known = {item.name for item in fields(FitRequest)} - {"options"}
    own = {name: value for name, value in settings.items() if name in known}
    options = {name: value for name, value in settings.items() if name not in known}
    return FitRequest(data=data, schema=schema, options=options, **own)  # pyright: ignore[reportArgumentType]
