"""Estimates with intervals for the page: those of `sklar estimate`, for questions that released tables answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sklar.errors import SklarError
from sklar.inference.answers.questions import Enquiry, is_number, parse_question
from sklar.inference.estimates import Estimated
from sklar.pipeline.estimation.asking import Wanted, ask, ask_measurements
from sklar.pipeline.estimation.memory import Memory
from sklar.pipeline.model_file import Stored
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.table import Schema

MAX_VALUES = 12
"""Labels of a column whose shares are estimated, the first of the schema."""
MAX_GROUP_VALUES = 3
"""Labels of a column whose shares are estimated in each group of another one."""
MAX_COLUMNS, MAX_PAIRS = 60, 60
"""Columns, and significant pairs of columns, with estimates: a question takes a tenth of a second or several."""
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles."""
Done = Callable[[float], None]
"""Progress callback: called with the completed fraction."""


def estimate_answers(
    stored: Stored, pairs: Sequence[tuple[str, str]], extra: Sequence[str], done: Done
) -> list[dict[str, Any]]:
    """Return the answers to simple questions on columns and significant pairs, and to the extra ones, as plain data.

    Extra questions are answered by replicas where no released table does; others are left out then.
    """
    schema, memory, wanted = stored.schema, Memory(), Wanted()
    asked = list(list_questions(schema, pairs))
    answers: list[dict[str, Any]] = []
    for at, question in enumerate(asked):
        done(at / max(len(asked) + len(extra), 1))
        try:
            found = ask_measurements(stored, question, wanted, memory)
        except SklarError:
            continue  # such a statistic is not defined for this model
        if found is not None:
            answers.append(describe_answer(question, found))
    for text in extra:
        question = parse_question(text, schema)
        answers.append({**describe_answer(question, ask(stored, question, wanted, memory)), "text": text})
    done(1.0)
    return answers


def list_questions(schema: Schema, pairs: Sequence[tuple[str, str]]) -> Iterator[Enquiry]:
    """Yield the questions on columns, then those on pairs, in the given order."""
    for name in schema.modelled[:MAX_COLUMNS]:
        yield from _about_column(name, schema[name])
    for first, second in pairs[:MAX_PAIRS]:
        yield from _about_pair(schema, first, second)


def _about_column(name: str, column: Column) -> Iterator[Enquiry]:
    if isinstance(column, Labels):
        for value in column.values[:MAX_VALUES]:
            yield Enquiry(statistic="share", columns=(name,), value=value)
    elif isinstance(column, Boolean):
        yield Enquiry(statistic="share", columns=(name,), value=True)
    elif is_number(column):
        yield Enquiry(statistic="mean", columns=(name,))
        for level in LEVELS:
            yield Enquiry(statistic="quantile", columns=(name,), at=level)


def _about_pair(schema: Schema, first: str, second: str) -> Iterator[Enquiry]:
    if all(is_number(schema[name]) for name in (first, second)):
        yield Enquiry(statistic="correlation", columns=(first, second))
    for name, by in ((first, second), (second, first)):
        column, groups = schema[name], schema[by]
        if not isinstance(groups, Labels | Boolean):
            continue
        if isinstance(column, Labels | Boolean):
            values = column.values[:MAX_GROUP_VALUES] if isinstance(column, Labels) else (True,)
            for value in values:
                yield Enquiry(statistic="share", columns=(name,), value=value, by=by)
        elif is_number(column):
            yield Enquiry(statistic="mean", columns=(name,), by=by)
            yield Enquiry(statistic="quantile", columns=(name,), by=by)
            if groups.value_cells == 2:
                yield Enquiry(statistic="difference", columns=(name,), by=by)


def describe_answer(question: Enquiry, found: Sequence[Estimated]) -> dict[str, Any]:
    """Return a question and its estimates as plain data."""
    return {
        "statistic": question.statistic, "columns": list(question.columns),
        "value": None if question.value is None else str(question.value).lower() if question.value is True else
        str(question.value),
        "at": question.at, "by": question.by,
        "text": found[0].name + (f" by {question.by}" if question.by else ""),
        "numbers": [
            {"group": None if one.group is None else str(one.group), "term": one.term, "value": one.value,
             "low": one.low, "high": one.high, "worth": one.worth}
            for one in found
        ],
        "how": found[0].how, "confidence": found[0].confidence, "of": found[0].of,
    }  # fmt: skip
