"""Estimates with intervals that a page stores: of its extra questions and, if it cannot draw, of simple ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scipy.linalg import LinAlgError, LinAlgWarning

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
MAX_COLUMNS, MAX_PAIRS = 60, 40
"""Columns, and significant pairs of columns, with estimates: a question takes a tenth of a second to one. Quantiles by
group, which take half a minute, are left to `sklar estimate`."""
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles."""
REPEATED = ("name", "how", "confidence", "of", "error")
"""Entries of an estimate that all numbers of an answer share, or that its interval implies."""
Done = Callable[[float], None]
"""Progress callback: called with the completed fraction."""


def estimate_answers(
    stored: Stored, pairs: Sequence[tuple[str, str]] | None, extra: Sequence[str], done: Done
) -> list[dict[str, Any]]:
    """Return the answers to simple questions on columns and significant pairs, and to the extra ones, as plain data.

    Without pairs the page computes the answers to simple questions itself, and only the extra ones are returned. These
    are answered by replicas where no released table does; others are left out then.
    """
    schema, memory, wanted = stored.schema, Memory(), Wanted()
    questions = [] if pairs is None else list(list_questions(schema, pairs))
    answers: list[dict[str, Any]] = []
    for at, question in enumerate(questions):
        done(at / max(len(questions) + len(extra), 1))
        found = _try_measurements(stored, question, memory)
        if found is not None:
            answers.append(describe_answer(question, found))
    for text in extra:
        question = parse_question(text, schema)
        answers.append({**describe_answer(question, ask(stored, question, wanted, memory)), "text": text})
    done(1.0)
    return answers


def _try_measurements(stored: Stored, question: Enquiry, memory: Memory) -> tuple[Estimated, ...] | None:
    """Return the estimates; None if they need replicas, are not defined, or rest on nearly singular equations."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return ask_measurements(stored, question, Wanted(), memory)
        except (SklarError, LinAlgError, LinAlgWarning):
            return None


def list_questions(schema: Schema, pairs: Sequence[tuple[str, str]]) -> Iterator[Enquiry]:
    """Yield the questions on columns, then those on pairs, in the given order."""
    for name in schema.modelled[:MAX_COLUMNS]:
        yield from _list_column_questions(name, schema[name])
    for first, second in pairs[:MAX_PAIRS]:
        yield from _list_pair_questions(schema, first, second)


def _list_column_questions(name: str, column: Column) -> Iterator[Enquiry]:
    if isinstance(column, Labels):
        for value in column.values[:MAX_VALUES]:
            yield Enquiry(statistic="share", columns=(name,), value=value)
    elif isinstance(column, Boolean):
        yield Enquiry(statistic="share", columns=(name,), value=True)
    elif is_number(column):
        yield Enquiry(statistic="mean", columns=(name,))
        for level in LEVELS:
            yield Enquiry(statistic="quantile", columns=(name,), at=level)


def _list_pair_questions(schema: Schema, first: str, second: str) -> Iterator[Enquiry]:
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
            if groups.value_cells == 2:
                yield Enquiry(statistic="difference", columns=(name,), by=by)


def describe_answer(question: Enquiry, found: Sequence[Estimated]) -> dict[str, Any]:
    """Return a question and its estimates as plain data."""
    by = f" by {question.by}" if question.by else ""
    return {
        "statistic": question.statistic, "columns": list(question.columns), "value": _write_value(question.value),
        "at": question.at, "by": question.by, "where": bool(question.given),
        "text": found[0].name.replace("=True)", "=true)") + by,
        "numbers": [_describe_number(one) for one in found],
        "how": found[0].how, "confidence": found[0].confidence,
    }  # fmt: skip


def _describe_number(estimated: Estimated) -> dict[str, Any]:
    """Return the estimate, its interval and its effective sample size, by group and term."""
    facts = {name: value for name, value in estimated.to_dict().items() if name not in REPEATED}
    return {**facts, "group": _write_value(estimated.group)}


def _write_value(value: Any) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
