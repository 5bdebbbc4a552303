"""What every DP method offers: a name, its options, its plan of noise, its queries and its estimate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import Plan, PlannedLine, calibrate
from sklar.accounting.composition.adaptive import adaptive_allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import RELATIONS, Neighbours, Unit
from sklar.arrays import one_blas_thread
from sklar.errors import UsageError
from sklar.methods.evidence import Evidence, Options, Setting, Step, measure_all
from sklar.methods.expectation import Expectation
from sklar.model.margins.margin import Margin
from sklar.model.protocol import TableModel
from sklar.release.door import Door
from sklar.schema.columns import Unknown
from sklar.schema.coordinates import Coordinates, coordinates
from sklar.schema.numbers import Real
from sklar.schema.persons.person import PAY_ROWS
from sklar.schema.table import Schema

MIN_GAUSSIAN_FILTER_NOISE = 13.0
"""Where less noise than this is on some table, what the Gaussian filter gains is lost to its dither of variance 4."""
OUTLINE_ROWS = 10_000
"""For outlines whose noise does not depend on the number of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """One line of what a fit will measure, stated before anything is spent.

    Attributes:
        label: What is measured.
        tables: Number of tables with this noise.
        cells: Cells of one such table, when it is known in advance.
        noise: The noise on every cell.
        resolution: What counts or sums are whole multiples of.
        all_cells: Cells of all these tables together where they are counted at once and may be too many; else 0.
    """

    label: str
    tables: int
    cells: int
    noise: Noise
    resolution: float = 1.0
    all_cells: int = 0

    @property
    def std(self) -> float:
        """Standard deviation of the noise on one cell."""
        return self.noise.std_on(self.resolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(Generic[Options]):
    """One DP system.

    Attributes:
        name: What users write.
        summary: One line for `sklar methods`.
        neighbours: The default neighbour relation.
        relations: The neighbour relations it can be fitted under.
        why_not: Why it refuses the other relation, for the error message.
        why_no_votes: Why it refuses persons whose rows share one vote; empty if it does not.
        options: A frozen dataclass with a default for every option.
        ask: Evidence so far -> the next step, or None. A function of public facts and measurements alone.
        estimate: All evidence -> the model; a pure function of the setting and the measurements.
        margins: All evidence -> the margins of the model alone, where that takes less than the whole estimate.
        plan: Tables and vectors with weights, if all noise depends on schema, options and budget only (exact accounting
            applies); None, or empty, if it depends on earlier releases (a filter applies).
        gaussian: (schema, options) -> whether all its queries are counts and sums with its allowance's noise: then the
            filter for Gaussian noise applies where there is a delta, else that of zCDP.
        outline: (schema, options, allowance, unit, rows) -> what is measured with which noise; no rows are touched.
        expect: (schema, options, allowance, unit, rows) -> what to expect of a synthetic table, if that was worked out.
        needs_delta: Whether it refuses delta = 0.
        takes_target: Whether `target=` changes anything.
        takes_prior: Whether `prior=` does.
        check: Refuses options that do not fit the schema, before any budget is reserved.
        resolve: (options, budget) -> options, once the budget is known; refuses options that do not fit it.
        require_rows: (schema, options, allowance, unit, rows) refuses a public number of rows that is too small.
        caveats: Sentences for the claim.
        links_rows: Whether it can be fitted to longitudinal data.
    """

    name: str
    summary: str
    neighbours: Neighbours = "add-remove"
    relations: tuple[Neighbours, ...] = RELATIONS
    why_not: str = ""
    why_no_votes: str = ""
    options: type[Options]
    ask: Callable[[Evidence[Options]], Step | None]
    estimate: Callable[[Evidence[Options]], TableModel]
    margins: Callable[[Evidence[Options]], Sequence[Margin]] | None = None
    plan: Callable[[Schema, Options], tuple[PlannedLine, ...]] | None = None
    gaussian: Callable[[Schema, Options], bool] = lambda schema, options: False
    outline: Callable[[Schema, Options, Allowance, Unit, int], tuple[Outline, ...]]
    expect: Callable[[Schema, Options, Allowance, Unit, int], Expectation] | None = None
    needs_delta: bool = False
    takes_target: bool = False
    takes_prior: bool = False
    check: Callable[[Schema, Options], None] = lambda schema, options: None
    resolve: Callable[[Options, Budget], Options] = lambda options, budget: options
    require_rows: Callable[[Schema, Options, Allowance, Unit, int], None] = lambda *_: None
    caveats: tuple[str, ...] = ()
    links_rows: bool = False

    def fit(self, setting: Setting[Options], door: Door) -> TableModel:
        """Measure what the method requests through a Door, and estimate the model."""
        return self.refit(measure_all(self.ask, setting, door))

    def refit(self, evidence: Evidence[Options]) -> TableModel:
        """Estimate the model from measurements: the same bits for the same measurements."""
        with one_blas_thread():
            return self.estimate(evidence)

    def refit_margins(self, evidence: Evidence[Options]) -> Sequence[Margin]:
        """Estimate the margins alone, without the rest of the model where the method can."""
        with one_blas_thread():
            return self.estimate(evidence).margins if self.margins is None else self.margins(evidence)

    def require_unit(self, unit: Unit) -> None:
        """Refuse neighbours that the method has no proof for, before any budget is reserved."""
        if unit.votes and self.why_no_votes:
            raise UsageError(
                f"method '{self.name}' has no proof for persons whose rows share one vote: {self.why_no_votes}. Use "
                "one row a person (rows=1), or the method 'vine'"
            )
        if unit.neighbours not in self.relations:
            needed = " or ".join(f"'{relation}'" for relation in self.relations)
            raise UsageError(
                f"method '{self.name}' needs neighbours={needed}{': ' + self.why_not if self.why_not else ''}"
            )

    def allowance(self, schema: Schema, options: Options, budget: Budget, unit: Unit) -> tuple[Allowance, Plan]:
        """Return what a fit may spend, by the accounting that allows most, and the plan it is held to (empty for
        none)."""
        plan = self.plan(schema, options) if self.plan is not None else ()
        if plan:
            return calibrate(budget, unit, plan), plan
        return self.unplanned_allowance(schema, options, budget, unit), ()

    def unplanned_allowance(
        self, schema: Schema, options: Options, budget: Budget, unit: Unit, discovery: float = 0.0
    ) -> Allowance:
        """Return what a fit may spend without a plan, by the filter that allows most.

        `discovery` is the part of the budget's delta that is set aside for finding labels.
        """
        allowance = calibrate(budget, unit, discovery=discovery)
        planned = self.plan is not None and bool(self.plan(schema, options))
        gaussian = planned or self.gaussian(schema, options)
        shifts = adaptive_allowance(budget, discovery) if gaussian else None
        if shifts is None:
            return allowance
        lines = self.outline(schema, options, allowance, unit, OUTLINE_ROWS)
        least = min(line.noise.scale / line.resolution for line in lines)
        return shifts if least >= MIN_GAUSSIAN_FILTER_NOISE else allowance

    def require_possible(
        self, schema: Schema, options: Options, allowance: Allowance, unit: Unit, rows: int | None
    ) -> tuple[Outline, ...]:
        """Refuse a fit that cannot succeed, before any budget is reserved; returns what it will measure.

        Args:
            schema: The coordinates that the fit counts.
            options: Resolved for the budget.
            allowance: What the fit may spend.
            unit: Whose privacy is protected.
            rows: The number of rows where it is public; None where only a noisy number of them can be known.
        """
        self.check(schema, options)
        if rows is not None:
            self.require_rows(schema, options, allowance, unit, rows)
        return self.outline(schema, options, allowance, unit, OUTLINE_ROWS if rows is None else rows)

    def read_options(self, given: Mapping[str, Any]) -> Options:
        """Return the options record; unknown names and wrong values are refused by name."""
        return read_options(self.name, self.options, given)

    def stored_options(self, stored: Mapping[str, Any]) -> Options:
        """Return the options record from plain data, as a model file has it: lists were tuples."""
        return self.options(**{name: _convert_lists(value) for name, value in stored.items()})

    def fitting(
        self, schema: Schema, given: Mapping[str, Any], target: str | None = None
    ) -> tuple[Coordinates, Options]:
        """Return the coordinates that a fit counts, and its options, after refusing what does not fit the schema."""
        by = coordinates(as_if_paid(schema))
        if by.views and not self.links_rows:
            raise UsageError(
                f"method '{self.name}' does not model longitudinal data; use 'vine', or set "
                "linked=False in Person for rows that stand alone"
            )
        target_position = None if target is None else by.find_coordinate(target)
        given = {**given, **_workload_option(given, by)}
        options = self.read_options({**given, **target_option(self.name, self.takes_target, target_position)})
        self.check(by.schema, options)
        return by, options


def _workload_option(given: Mapping[str, Any], by: Coordinates) -> dict[str, Any]:
    """Return the workload with columns named as they are fitted; anything but a list of texts is left to be refused."""
    workload = given.get("workload")
    if not isinstance(workload, list | tuple) or not all(isinstance(pattern, str) for pattern in workload):
        return {}
    return {"workload": tuple(" ".join(by.find_coordinate(name) for name in one.split()) for one in workload)}


def as_if_paid(schema: Schema) -> Schema:
    """Return the schema as it may come out once kinds, and the rows of a person, are paid for: what is refused then is
    now."""
    unknown = [name for name, column in schema.items() if isinstance(column, Unknown)]
    if unknown:
        schema = schema.with_columns(dict.fromkeys(unknown, Real(0, 1, nullable=True)))
    if schema.person is None or schema.person.rows != PAY_ROWS:
        return schema
    return schema.with_person(dataclasses.replace(schema.person, rows=2))


def read_options(method: str, options: type[Options], given: Mapping[str, Any]) -> Options:
    """Return a method's record of options from what the user gave; unknown names are refused by name."""
    known = [field.name for field in dataclasses.fields(options)]  # type: ignore[arg-type]
    unknown = [name for name in given if name not in known]
    if unknown:
        listed = ", ".join(known) or "none"
        raise UsageError(f"method '{method}' has no option '{unknown[0]}'; its options are: {listed}")
    return options(**given)


def _convert_lists(value: Any) -> Any:
    return tuple(_convert_lists(item) for item in value) if isinstance(value, list) else value


def target_option(method: str, takes_target: bool, target: str | None) -> dict[str, str]:
    """Return the option that names the target, if there is one; refused by a method that makes no use of it."""
    if target is not None and not takes_target:
        raise UsageError(f"method '{method}' makes no use of a target; leave it out")
    return {} if target is None else {"target": target}


def require_listed(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a choice that is not on the list."""
    if not any(type(value) is type(one) and value == one for one in allowed):
        raise UsageError(f"{name} must be one of {', '.join(map(str, allowed))}; {value!r} was given")


def require_whole(name: str, value: object, low: int, high: int) -> None:
    """Refuse a value that is not a whole number within bounds."""
    if type(value) is not int or not low <= value <= high:
        raise UsageError(f"{name} must be a whole number between {low:,} and {high:,}; {value!r} was given")


def require_number(name: str, value: object, low: float, high: float) -> None:
    """Refuse a value that is not a number within bounds."""
    if isinstance(value, bool) or not isinstance(value, float | int) or not low <= value <= high:
        raise UsageError(f"{name} must be a number between {low:g} and {high:g}; {value!r} was given")
