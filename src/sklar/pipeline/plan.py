"""What a fit would measure and what to expect of it, before anything is spent. No rows are touched."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

from sklar import notebook
from sklar.accounting.budget import Budget
from sklar.accounting.unit import Neighbours, Unit, unit_of
from sklar.errors import BudgetError, UsageError
from sklar.given_numbers import plain_options, whole_number
from sklar.methods.expectation import Expectation, sampling_error
from sklar.methods.method import GUESSED_ROWS, Method, as_if_paid
from sklar.methods.registry import find_method
from sklar.schema.table import Schema

SMALLEST, LARGEST = 0.01, 20.0
"""Epsilons between which a wish is looked for: what takes more than 20 hardly protects anybody."""
CURVE_POINTS = 9
"""Epsilons of the curve, between a tenth of the smallest asked for and the tenfold of the largest."""
WISH = re.compile(r"\s*(shares|correlations|means|nulls)\s+(?:within|under|below)\s+([0-9.]+)\s*(%|points?)?.*", re.I)
WISHES = '"shares within 0.01", "correlations within 0.05", "means within 0.1 sd" or "nulls under 0.02 seen"'


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """One kind of measurement.

    Attributes:
        label: What is measured.
        tables: How many tables.
        cells: Cells of one table.
        noise: "gaussian" or "laplace".
        std: Standard deviation of the noise on one cell, in rows.
        share_of_rows: The same as a share of the rows.
        expected_tvd: Expected total variation distance that raw noise alone would cause in one such table.
    """

    label: str
    tables: int
    cells: int
    noise: str
    std: float
    share_of_rows: float
    expected_tvd: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFit:
    """A fit under one budget.

    Attributes:
        epsilon: Its budget; None if it was given as rho.
        expected: What to expect of a synthetic table; None for methods for which that was not worked out.
        lines: What is measured, with which noise.
    """

    epsilon: float | None
    expected: Expectation | None
    lines: tuple[PlanLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        told = None if self.expected is None else self.expected.to_dict()
        return {"epsilon": self.epsilon, "expected": told, "lines": [line.to_dict() for line in self.lines]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a wish takes.

    Attributes:
        wish: As it was said.
        epsilon: The smallest one that is expected to do; None if none up to 20 does.
        text: The answer in words.
    """

    wish: str
    epsilon: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to expect of fits under some budgets; str() tells it in plain words.

    Attributes:
        method: The name of the method.
        rows: The guessed number of rows.
        persons: The guessed number of persons whose rows share a vote, which is what counts; None where rows count.
        fits: One for each epsilon, ascending.
        curve: What to expect over a wider range of epsilons; empty without expectations.
        answer: What the wish takes, if there was one.
    """

    method: str
    rows: int
    fits: tuple[PlannedFit, ...]
    curve: tuple[tuple[float, Expectation], ...] = ()
    answer: Answer | None = None
    persons: int | None = None

    @property
    def lines(self) -> tuple[PlanLine, ...]:
        """What is measured under the first of the budgets."""
        return self.fits[0].lines

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "method": self.method,
            "rows": self.rows,
            "persons": self.persons,
            "words": str(self).splitlines(),
            "fits": [fit.to_dict() for fit in self.fits],
            "curve": [{"epsilon": epsilon, **one.to_dict()} for epsilon, one in self.curve],
            "answer": None if self.answer is None else asdict(self.answer),
        }

    def __str__(self) -> str:
        told = [_sentence(fit, self.counted) for fit in self.fits if fit.expected is not None]
        told = told or [f"What to expect was not worked out for {self.method}; its noise is in the lines of the plan."]
        return "\n".join([*told, *([self.answer.text] if self.answer is not None else [])])

    @property
    def counted(self) -> str:
        """What the plan is for, in words: rows, or persons with their rows."""
        return f"{self.rows:,} rows" if self.persons is None else f"{self.persons:,} persons ({self.rows:,} rows)"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """(headings, rows) of what to expect, the epsilons side by side; nothing without expectations."""
        told = [(fit.epsilon, fit.expected) for fit in self.fits if fit.expected is not None]
        headings = ["expect", *("" if epsilon is None else f"epsilon {epsilon:g}" for epsilon, _ in told)]
        rows = [[words, *(_shown(name, one) for _, one in told)] for name, words in ROWS.items()]
        rows.append(["method for few rows", *("yes" if one.few_rows else "no" for _, one in told)])
        if any(one.kept is not None for _, one in told):
            rows.append(
                ["transitions hidden by noise", *("yes" if one.transitions_hidden else "no" for _, one in told)]
            )
        return headings, [row for row in rows if set(row[1:]) != {"-"}] if told else []

    def write(self, path: str | PathLike[str]) -> None:
        """Draw what to expect over epsilon: a page (.html) or a picture (.svg, .png). It tells nothing about rows."""
        from sklar.report.charts.canvas import side_by_side, write_picture
        from sklar.report.charts.plots import epsilon_chart
        from sklar.report.page import public_page, write_public_page

        if not self.curve:
            raise UsageError(
                f"there is no curve for {self.method} under this budget: what to expect is told by epsilon"
            )
        lines = {
            words: found
            for name, words in ROWS.items()
            if (found := [(e, value, None) for e, one in self.curve if (value := getattr(one, name)) is not None])
        }
        title = f"What to expect of {self.counted}"
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
        shown = [notebook.table(headings, rows)] if rows else []
        return notebook.card(f"Plan of {self.method}", notebook.bullets(str(self).splitlines()), *shown)


NOTICE = "May be published: computed from public facts and a guess at the number of rows. No row was read for it."
ROWS = {
    "shares": "a share is off by",
    "correlations": "a correlation is off by",
    "means": "a mean is off by (sd)",
    "nulls": "nulls unseen below",
    "auc_loss": "AUC lost, at most",
    "kept": "a share of values kept is off by",
}
"""What is told of each number."""
HIDDEN = (
    "Which value follows which from one row of a person to the next is below the noise level: a value stays as often "
    "as measured, and otherwise the next one hardly depends on it."
)
WHY_A_RANGE = "hardly any where one or two columns tell the target, most where it takes many"


def plan(
    schema: Schema,
    method: str | None = None,
    epsilon: float | Sequence[float] | None = None,
    delta: float = 1e-9,
    rows: int = GUESSED_ROWS,
    *,
    persons: int | None = None,
    target: str | None = None,
    want: str | None = None,
    rho: float | None = None,
    neighbours: Neighbours | None = None,
    rows_per_person: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Plan:
    """What to expect of fits under one or more budgets, and their noise, for a guessed number of rows.

    Args:
        schema: The public facts.
        method: As in `fit`.
        epsilon: One, or several to be told side by side.
        delta: As in `fit`, like `rho`, `neighbours`, `rows_per_person` and `options`.
        rows: A guess at the number of rows. Where rows of a person share a vote, persons are what counts: as many as
            have so many rows if each has the most that are used.
        persons: A guess at their number, if it is better than that.
        target: A column that users will predict.
        want: What is wished for, as "shares within 0.01"; answered with an epsilon.

    Raises:
        UsageError: If the number of rows is not positive, or the method, an option or the wish is unknown.
        BudgetError: If the budget is not usable.
    """
    rows = whole_number(rows, "rows")
    unit = unit_of(schema.person, neighbours or find_method(method).neighbours, rows_per_person)
    rows, persons = _rows_and_persons(schema, rows, persons)
    asked = PlanRequest(schema, method, plain_options(options), target, unit, rows if persons is None else persons)
    wanted = _budgets(epsilon)
    if not wanted or (wanted == [None] and rho is None and want is None):
        raise BudgetError("epsilon has no default: say which to plan for, as epsilon=[0.5, 1, 3]")
    answer = None if want is None else _answer(want, asked, delta)
    if wanted == [None] and rho is None and answer is not None:
        wanted = [answer.epsilon or LARGEST]
    fits = tuple(asked.fit(Budget(epsilon=one, rho=rho, delta=delta)) for one in wanted)
    curve: tuple[tuple[float, Expectation], ...] = ()
    if fits[0].expected is not None:
        curve = _falling(asked.curve([one for one in wanted if one is not None], delta))
        known = dict(curve)
        fits = tuple(replace(fit, expected=known.get(fit.epsilon or 0.0, fit.expected)) for fit in fits)
    return Plan(method=asked.method.name, rows=rows, persons=persons, fits=fits, curve=curve, answer=answer)


def _rows_and_persons(schema: Schema, rows: int, persons: int | None) -> tuple[int, int | None]:
    """The guessed numbers of rows and of persons; no persons where each row counts."""
    person = as_if_paid(schema).person
    if person is None or not person.shares_vote:
        if persons is not None:
            raise UsageError("persons is for schemas with a person whose rows share one vote; guess the number of rows")
        return rows, None
    if persons is None:
        return rows, max(round(rows / person.bound), 1)
    persons = whole_number(persons, "persons")
    return max(rows, persons) if rows != GUESSED_ROWS else persons * person.bound, persons


class PlanRequest:
    """What `plan` is asked, checked, for any budget."""

    def __init__(
        self, schema: Schema, method: str | None, options: Mapping[str, Any], target: str | None, unit: Unit, rows: int
    ):
        self.method: Method[Any] = find_method(method)
        by, self.settings = self.method.fitting(schema, options, target)
        self.schema, self.unit, self.rows = by.schema, unit, rows
        self.method.require_unit(unit)

    def fit(self, budget: Budget) -> PlannedFit:
        """What is measured and expected under a budget."""
        settings = self.method.settle(self.settings, budget)
        allowance, _ = self.method.allowance(self.schema, settings, budget, self.unit)
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
        return PlannedFit(epsilon=budget.epsilon, expected=self._expect(settings, allowance), lines=lines)

    def _expect(self, settings: Any, allowance: Any) -> Expectation | None:
        if self.method.expect is None:
            return None
        return self.method.expect(self.schema, settings, allowance, self.unit, self.rows)

    def expected(self, epsilon: float, delta: float) -> Expectation | None:
        """What is expected alone."""
        budget = Budget(epsilon=epsilon, delta=delta)
        settings = self.method.settle(self.settings, budget)
        return self._expect(settings, self.method.allowance(self.schema, settings, budget, self.unit)[0])

    def curve(self, wanted: Sequence[float], delta: float) -> tuple[tuple[float, Expectation], ...]:
        """What is expected around the epsilons asked for."""
        if not wanted:
            return ()
        low, high = min(wanted) / 10, 10 * max(wanted)
        steps = [low * (high / low) ** (k / (CURVE_POINTS - 1)) for k in range(CURVE_POINTS)]
        points = sorted({*wanted, *(float(f"{step:.2g}") for step in steps)})
        return tuple((e, one) for e in points if (one := self.expected(e, delta)) is not None)


def _falling(curve: Sequence[tuple[float, Expectation]]) -> tuple[tuple[float, Expectation], ...]:
    """The curve without the rises of a part in a thousand where the accounting changes: less could be spent instead."""
    least: dict[str, float] = {}
    found: list[tuple[float, Expectation]] = []
    for epsilon, one in curve:
        told = {name: value for name in ROWS if (value := getattr(one, name)) is not None}
        least = {name: min(value, least.get(name, value)) for name, value in told.items()}
        found.append((epsilon, replace(one, **least)))
    return tuple(found)


def _budgets(epsilon: float | Sequence[float] | None) -> list[float | None]:
    """One budget, or several in order; what is no number is left to the budget to refuse."""
    return sorted(epsilon) if isinstance(epsilon, list | tuple) else [epsilon]  # type: ignore[list-item]


def _answer(want: str, asked: PlanRequest, delta: float) -> Answer:
    """The smallest epsilon that is expected to do, by bisection: what is expected falls with epsilon."""
    match = WISH.fullmatch(want)
    if match is None:
        raise UsageError(f"want is {WISHES}; found {want!r}")
    what, number, unit = match[1].lower(), match[2], (match[3] or "").lower()
    try:
        limit = float(number) / (100.0 if unit else 1.0)
    except ValueError:
        raise UsageError(f"want is {WISHES}; found {want!r}") from None
    if asked.expected(1.0, delta) is None or getattr(asked.expected(1.0, delta), what) is None:
        raise UsageError(f"{asked.method.name} on this schema tells nothing about {what}; wish for something else")

    def good(epsilon: float) -> bool:
        return getattr(asked.expected(epsilon, delta), what) <= limit

    sampled = sampling_error(what, asked.rows)
    counted = f"{asked.rows:,} {'persons' if asked.unit.votes else 'rows'}"
    aside = f" {counted} are themselves off by about {sampled:.2g} from the people they were drawn from"
    aside = f"{aside}, which no epsilon removes." if sampled else ""
    if not good(LARGEST):
        best = getattr(asked.expected(LARGEST, delta), what)
        text = f'"{want}" cannot be had: epsilon {LARGEST:g} still leaves {best:.2g}.{aside}'
        return Answer(wish=want, epsilon=None, text=text)
    low, high = SMALLEST, LARGEST
    if good(low):
        high = low
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if good(middle) else (middle, high)
    enough = math.ceil(high * 10 ** (2 - math.ceil(math.log10(high)))) / 10 ** (2 - math.ceil(math.log10(high)))
    enough = min(enough, LARGEST)
    below = limit < sampled
    text = f'"{want}" takes epsilon {enough:g} or so.{aside if below else ""}'
    return Answer(wish=want, epsilon=enough, text=text)


def _sentence(fit: PlannedFit, counted: str) -> str:
    one = fit.expected
    assert one is not None
    parts = [f"shares within +-{100 * one.shares:.2g} points"]
    parts += [] if one.correlations is None else [f"a correlation within +-{one.correlations:.2g}"]
    parts += [] if one.means is None else [f"a mean within +-{one.means:.2g} of its standard deviation"]
    parts += [] if one.nulls is None else [f"nulls under {100 * one.nulls:.2g}% unseen"]
    parts += (
        [] if one.kept is None else [f"how often a value stays from row to row within +-{100 * one.kept:.2g} points"]
    )
    parts += [] if one.auc_loss is None else [f"up to {one.auc_loss:.2g} of AUC lost ({WHY_A_RANGE})"]
    budget = "this rho" if fit.epsilon is None else f"epsilon {fit.epsilon:g}"
    few = " The method for few rows takes over." if one.few_rows else ""
    hidden = f" {HIDDEN}" if one.transitions_hidden else ""
    return f"With about {counted} at {budget} expect, typically: {', '.join(parts)}.{few}{hidden}"


def _shown(name: str, one: Expectation) -> str:
    value = getattr(one, name)
    if value is None:
        return "-"
    return f"{100 * value:.2g}%" if name in ("shares", "nulls", "kept") else f"{value:.2g}"
