"""Forecast the noise and the accuracy of a fit before anything is spent, without reading rows."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

from sklar import notebook
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.unit import Neighbours, Unit, make_unit
from sklar.errors import BudgetError, UsageError
from sklar.given_numbers import plain_options, whole_number
from sklar.methods.expectation import Expectation, sampling_error
from sklar.methods.method import OUTLINE_ROWS, Method, as_if_paid
from sklar.methods.registry import find_method
from sklar.pipeline.fit.paid import find_facts_share, finds_labels, set_aside
from sklar.schema.table import Schema

MIN_EPSILON, MAX_EPSILON = 0.01, 20.0
"""Range of epsilons that is searched for a wish: above 20 there is hardly any protection."""
CURVE_POINTS = 9
"""Number of epsilons of the curve, from a tenth of the smallest given one to ten times the largest."""
WISH = re.compile(r"\s*(shares|correlations|means|nulls)\s+(?:within|under|below)\s+([0-9.]+)\s*(%|points?)?.*", re.I)
WISHES = '"shares within 0.01", "correlations within 0.05", "means within 0.1 sd" or "nulls under 0.02 seen"'


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """One kind of measurement.

    Attributes:
        label: Name of the measurement.
        tables: Number of tables.
        cells: Number of cells of one table.
        noise: "gaussian" or "laplace".
        std: Standard deviation of the noise on one cell, in rows.
        share_of_rows: The standard deviation as a share of the rows.
        expected_tvd: Expected total variation distance due to the noise alone in one such table.
    """

    label: str
    tables: int
    cells: int
    noise: str
    std: float
    share_of_rows: float
    expected_tvd: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFit:
    """A fit under one budget.

    Attributes:
        epsilon: Its budget; None if it was given as rho.
        expected: Expected accuracy of a synthetic table; None for methods without a forecast.
        lines: The measurements and their noise.
    """

    epsilon: float | None
    expected: Expectation | None
    lines: tuple[PlanLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        expected = None if self.expected is None else self.expected.to_dict()
        return {"epsilon": self.epsilon, "expected": expected, "lines": [line.to_dict() for line in self.lines]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The epsilon that a wish requires.

    Attributes:
        wish: The wish as given.
        epsilon: The smallest epsilon that is expected to be enough; None if none up to 20 is.
        text: The answer as a sentence.
    """

    wish: str
    epsilon: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Expected accuracy of fits under some budgets; str() has it in sentences.

    Attributes:
        method: The name of the method.
        rows: The guessed number of rows.
        fits: One for each epsilon, ascending.
        curve: Expected accuracy over a wider range of epsilons; empty without a forecast.
        answer: The epsilon that the wish requires, if there was one.
        persons: The guessed number of persons, if their rows share one vote; otherwise None.
    """

    method: str
    rows: int
    fits: tuple[PlannedFit, ...]
    curve: tuple[tuple[float, Expectation], ...] = ()
    answer: Answer | None = None
    persons: int | None = None

    @property
    def lines(self) -> tuple[PlanLine, ...]:
        """The measurements under the first of the budgets."""
        return self.fits[0].lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "method": self.method,
            "rows": self.rows,
            "persons": self.persons,
            "words": str(self).splitlines(),
            "fits": [fit.to_dict() for fit in self.fits],
            "curve": [{"epsilon": epsilon, **one.to_dict()} for epsilon, one in self.curve],
            "answer": None if self.answer is None else asdict(self.answer),
        }

    def __repr__(self) -> str:
        return f"<sklar.Plan: method {self.method}, {self.counted}, {len(self.fits)} budgets; print() has sentences>"

    def __str__(self) -> str:
        sentences = [_describe_expected(fit, self.counted) for fit in self.fits if fit.expected is not None]
        sentences = sentences or [
            f"There is no accuracy forecast for {self.method}; see the noise of its measurements."
        ]
        return "\n".join([*sentences, *([self.answer.text] if self.answer is not None else [])])

    @property
    def counted(self) -> str:
        """The guessed numbers as text: rows, or persons with their rows."""
        return f"{self.rows:,} rows" if self.persons is None else f"{self.persons:,} persons ({self.rows:,} rows)"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return (headings, rows) of the expected accuracy, epsilons side by side; no rows without a forecast."""
        found = [(fit.epsilon, fit.expected) for fit in self.fits if fit.expected is not None]
        headings = ["expect", *("" if epsilon is None else f"epsilon {epsilon:g}" for epsilon, _ in found)]
        rows = [[words, *(_format_expected(name, one) for _, one in found)] for name, words in FORECASTS.items()]
        rows.append(["method for few rows", *("yes" if one.few_rows else "no" for _, one in found)])
        if any(one.kept is not None for _, one in found):
            hidden = ("yes" if one.transitions_hidden else "no" for _, one in found)
            rows.append(["transitions hidden by noise", *hidden])
        return headings, [row for row in rows if set(row[1:]) != {"-"}] if found else []

    def write(self, path: str | PathLike[str]) -> None:
        """Write the expected accuracy over epsilon as a page (.html) or a picture (.svg, .png); it contains no data."""
        from sklar.report.charts.canvas import side_by_side, write_picture
        from sklar.report.charts.plots import epsilon_chart
        from sklar.report.page import public_page, write_public_page

        if not self.curve:
            raise UsageError(f"there is no accuracy forecast over epsilon for {self.method} under this budget")
        lines = {
            words: found
            for name, words in FORECASTS.items()
            if (found := [(e, value, None) for e, one in self.curve if (value := getattr(one, name)) is not None])
        }
        title = f"Expected accuracy with {self.counted}"
        if not str(path).endswith(".html"):
            charts = {words: epsilon_chart(words, [(words, found)]) for words, found in lines.items()}
            write_picture(side_by_side(charts, f"{title}, {self.method}", across=2), path)
            return
        headings, rows = self.table()
        page = public_page(
            "plan.html", notice=NOTICE, title=title, plan=self, lines=str(self).splitlines(), headings=headings,
            rows=rows, charts=lines,
        )  # fmt: skip
        write_public_page(path, page)

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        shown = [notebook.make_table(headings, rows)] if rows else []
        return notebook.make_card(f"Plan of {self.method}", notebook.make_bullets(str(self).splitlines()), *shown)


NOTICE = "May be published: computed from public facts and a guess at the number of rows, without reading rows."
FORECASTS = {
    "shares": "error of a share",
    "correlations": "error of a correlation",
    "means": "error of a mean (sd)",
    "nulls": "nulls undetected below",
    "auc_loss": "AUC lost, at most",
    "kept": "error of a share of unchanged values",
}
"""Label of each expected quantity."""
HIDDEN = (
    "Changes from one row of a person to the next are below the noise level. The share of unchanged values is "
    "measured; a changed value hardly depends on the one before."
)
AUC_NOTE = "hardly any if one or two columns predict the target, most if it takes many"


def plan(
    schema: Schema,
    method: str | None = None,
    epsilon: float | Sequence[float] | None = None,
    delta: float = 1e-9,
    rows: int = OUTLINE_ROWS,
    *,
    persons: int | None = None,
    target: str | None = None,
    want: str | None = None,
    rho: float | None = None,
    neighbours: Neighbours | None = None,
    rows_per_person: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Plan:
    """Forecast the accuracy and the noise of fits under one or more budgets, for a guessed number of rows.

    Args:
        schema: The public facts.
        method: As in `fit`.
        epsilon: One epsilon, or several to compare.
        delta: As in `fit`, like `rho`, `neighbours`, `rows_per_person` and `options`.
        rows: A guess at the number of rows. If rows of a person share one vote, the number of persons counts: by
            default the number of rows over the maximum per person.
        persons: A better guess at the number of persons, if there is one.
        target: A column that users will predict.
        want: The wanted accuracy, as "shares within 0.01"; the plan states the epsilon it requires.

    Raises:
        UsageError: If the number of rows is not positive, or the method, an option or the wish is unknown.
        BudgetError: If the budget is not usable.
    """
    rows = whole_number(rows, "rows")
    unit = make_unit(schema.person, neighbours or find_method(method).neighbours, rows_per_person)
    rows, persons = _rows_and_persons(schema, rows, persons)
    request = PlanRequest(schema, method, plain_options(options), target, unit, rows if persons is None else persons)
    wanted = _budgets(epsilon)
    if not wanted or (wanted == [None] and rho is None and want is None):
        raise BudgetError("epsilon has no default: give one or several, such as epsilon=[0.5, 1, 3]")
    answer = None if want is None else _answer(want, request, delta)
    if wanted == [None] and rho is None and answer is not None:
        wanted = [answer.epsilon or MAX_EPSILON]
    fits = tuple(request.fit(Budget(epsilon=one, rho=rho, delta=delta)) for one in wanted)
    curve: tuple[tuple[float, Expectation], ...] = ()
    if fits[0].expected is not None:
        curve = _make_monotone(request.curve([one for one in wanted if one is not None], delta))
        known = dict(curve)
        fits = tuple(replace(fit, expected=known.get(fit.epsilon or 0.0, fit.expected)) for fit in fits)
    return Plan(method=request.method.name, rows=rows, persons=persons, fits=fits, curve=curve, answer=answer)


def _rows_and_persons(schema: Schema, rows: int, persons: int | None) -> tuple[int, int | None]:
    """Return the guessed numbers of rows and of persons; None persons if each row counts."""
    person = as_if_paid(schema).person
    if person is None or not person.shares_vote:
        if persons is not None:
            raise UsageError(
                "persons is only for schemas with a person whose rows share one vote; give the number of rows"
            )
        return rows, None
    if persons is None:
        return rows, max(round(rows / person.bound), 1)
    persons = whole_number(persons, "persons")
    return max(rows, persons) if rows != OUTLINE_ROWS else persons * person.bound, persons


class PlanRequest:
    """The validated arguments of `plan`, for any budget."""

    def __init__(
        self, schema: Schema, method: str | None, options: Mapping[str, Any], target: str | None, unit: Unit, rows: int
    ):
        self.method: Method[Any] = find_method(method)
        by, self.settings = self.method.fitting(schema, options, target)
        self.schema, self.unit, self.rows = by.schema, unit, rows
        self.facts_share, self.finds_labels = find_facts_share(schema), finds_labels(schema)
        self.method.require_unit(unit)

    def fit(self, budget: Budget) -> PlannedFit:
        """Return the measurements and the expected accuracy under a budget."""
        settings = self.method.resolve(self.settings, budget)
        allowance = self._allowance(settings, budget)
        outline = self.method.outline(self.schema, settings, allowance, self.unit, self.rows)
        lines = tuple(
            PlanLine(
                label=line.label,
                tables=line.tables,
                cells=line.cells,
                noise=line.noise.kind,
                std=line.std,
                share_of_rows=line.std / self.rows,
                expected_tvd=min(1.0, 0.5 * line.cells * line.std * math.sqrt(2 / math.pi) / self.rows),
            )
            for line in outline
        )
        return PlannedFit(epsilon=budget.epsilon, expected=self._expect_errors(settings, allowance), lines=lines)

    def _allowance(self, settings: Any, budget: Budget) -> Allowance:
        """Return what the model may spend, without what facts cost that are measured first."""
        if not self.facts_share:
            return self.method.allowance(self.schema, settings, budget, self.unit)[0]
        aside = set_aside(budget, labels=self.finds_labels)
        whole = self.method.unplanned_allowance(self.schema, settings, budget, self.unit, aside)
        return replace(whole.part(1 - self.facts_share), delta=0.0)

    def _expect_errors(self, settings: Any, allowance: Any) -> Expectation | None:
        if self.method.expect is None:
            return None
        return self.method.expect(self.schema, settings, allowance, self.unit, self.rows)

    def expected(self, epsilon: float, delta: float) -> Expectation | None:
        """Return the expected accuracy alone."""
        budget = Budget(epsilon=epsilon, delta=delta)
        settings = self.method.resolve(self.settings, budget)
        return self._expect_errors(settings, self._allowance(settings, budget))

    def curve(self, wanted: Sequence[float], delta: float) -> tuple[tuple[float, Expectation], ...]:
        """Return the expected accuracy around the given epsilons."""
        if not wanted:
            return ()
        low, high = min(wanted) / 10, 10 * max(wanted)
        steps = [low * (high / low) ** (k / (CURVE_POINTS - 1)) for k in range(CURVE_POINTS)]
        points = sorted({*wanted, *(float(f"{step:.2g}") for step in steps)})
        return tuple((e, one) for e in points if (one := self.expected(e, delta)) is not None)


def _make_monotone(curve: Sequence[tuple[float, Expectation]]) -> tuple[tuple[float, Expectation], ...]:
    """Remove rises of about 0.1% where the accounting method changes: one could always spend less."""
    least: dict[str, float] = {}
    found: list[tuple[float, Expectation]] = []
    for epsilon, one in curve:
        values = {name: value for name in FORECASTS if (value := getattr(one, name)) is not None}
        least = {name: min(value, least.get(name, value)) for name, value in values.items()}
        found.append((epsilon, replace(one, **least)))
    return tuple(found)


def _budgets(epsilon: float | Sequence[float] | None) -> list[float | None]:
    """Return one or several epsilons in ascending order; `Budget` refuses other values than numbers."""
    return sorted(epsilon) if isinstance(epsilon, list | tuple) else [epsilon]  # type: ignore[list-item]


def _answer(want: str, request: PlanRequest, delta: float) -> Answer:
    """Find the smallest epsilon that is expected to be enough by bisection: expected errors decrease with epsilon."""
    match = WISH.fullmatch(want)
    if match is None:
        raise UsageError(f"want must be {WISHES}; got {want!r}")
    what, number, unit = match[1].lower(), match[2], (match[3] or "").lower()
    try:
        limit = float(number) / (100.0 if unit else 1.0)
    except ValueError:
        raise UsageError(f"want must be {WISHES}; got {want!r}") from None
    if request.expected(1.0, delta) is None or getattr(request.expected(1.0, delta), what) is None:
        raise UsageError(f"{request.method.name} on this schema has no forecast for {what}; want something else")

    def good(epsilon: float) -> bool:
        return getattr(request.expected(epsilon, delta), what) <= limit

    sampled = sampling_error(what, request.rows)
    counted = f"{request.rows:,} {'persons' if request.unit.votes else 'rows'}"
    aside = f" A sample of {counted} has an error of about {sampled:.2g} from the population"
    aside = f"{aside}, at any epsilon." if sampled else ""
    if not good(MAX_EPSILON):
        best = getattr(request.expected(MAX_EPSILON, delta), what)
        text = f'"{want}" cannot be reached: epsilon {MAX_EPSILON:g} still leaves {best:.2g}.{aside}'
        return Answer(wish=want, epsilon=None, text=text)
    low, high = MIN_EPSILON, MAX_EPSILON
    if good(low):
        high = low
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if good(middle) else (middle, high)
    enough = math.ceil(high * 10 ** (2 - math.ceil(math.log10(high)))) / 10 ** (2 - math.ceil(math.log10(high)))
    enough = min(enough, MAX_EPSILON)
    below = limit < sampled
    text = f'"{want}" needs epsilon of about {enough:g}.{aside if below else ""}'
    return Answer(wish=want, epsilon=enough, text=text)


def _describe_expected(fit: PlannedFit, counted: str) -> str:
    one = fit.expected
    assert one is not None
    parts = [f"shares within +-{100 * one.shares:.2g} points"]
    parts += [] if one.correlations is None else [f"a correlation within +-{one.correlations:.2g}"]
    parts += [] if one.means is None else [f"a mean within +-{one.means:.2g} of its standard deviation"]
    parts += [] if one.nulls is None else [f"missing values below {100 * one.nulls:.2g}% of a column not seen"]
    parts += [] if one.kept is None else [f"the share of unchanged values within +-{100 * one.kept:.2g} points"]
    parts += [] if one.auc_loss is None else [f"up to {one.auc_loss:.2g} of AUC lost ({AUC_NOTE})"]
    budget = "this rho" if fit.epsilon is None else f"epsilon {fit.epsilon:g}"
    few = " The method for few rows is used." if one.few_rows else ""
    hidden = f" {HIDDEN}" if one.transitions_hidden else ""
    return f"With about {counted} at {budget} expect, typically: {', '.join(parts)}.{few}{hidden}"


def _format_expected(name: str, one: Expectation) -> str:
    value = getattr(one, name)
    if value is None:
        return "-"
    return f"{100 * value:.2g}%" if name in ("shares", "nulls", "kept") else f"{value:.2g}"
