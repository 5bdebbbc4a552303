"""What the page's program estimates is what `sklar estimate` does: centres, intervals, effective rows and wording."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklar.counting.code_table import CodeTable
from sklar.inference.answers.questions import parse_question
from sklar.inference.estimates import Estimated
from sklar.inference.one_step import with_gaussian_copula
from sklar.inference.replicas import draw_rows
from sklar.pipeline.estimation.asking import STEP_ROWS, Wanted, ask_measurements, mechanism_of
from sklar.pipeline.estimation.memory import Memory
from sklar.pipeline.model import Model
from sklar.pipeline.release_page.facts import describe_schema
from sklar.pipeline.release_page.measured import describe_measured
from sklar.sample.rng import substream
from tests.page.releases import fit_odd, fit_people, run_node

pytestmark = pytest.mark.slow

TOLERANCE, QUANTILE_TOLERANCE = 1e-3, 1e-2
"""Part of the interval by which answers may differ that are computed from the same rows."""
SIMULATED = 0.35
"""The same for answers from rows with a Gaussian copula, which are other rows here than in Python."""
Asked = tuple[str, dict[str, Any], list[dict[str, Any]]]

PEOPLE: list[Asked] = [
    ("mean(age)", {"statistic": "mean", "columns": ["age"]}, []),
    ("mean(income) by sex", {"statistic": "mean", "columns": ["income"], "by": "sex"}, []),
    ("share(diagnosis=heart)", {"statistic": "share", "columns": ["diagnosis"], "value": "heart"}, []),
    ("share(smoker=true) by sex", {"statistic": "share", "columns": ["smoker"], "value": "true", "by": "sex"}, []),
    ("quantile(income, 0.9)", {"statistic": "quantile", "columns": ["income"], "at": 0.9}, []),
    ("quantile(income, 0.5) by sex", {"statistic": "quantile", "columns": ["income"], "by": "sex"}, []),
    ("difference(hours) by sex", {"statistic": "difference", "columns": ["hours"], "by": "sex"}, []),
    ("correlation(age, income)", {"statistic": "correlation", "columns": ["age", "income"]}, []),
    ("mean(income) by smoker where age=30..45 and sex=F",
     {"statistic": "mean", "columns": ["income"], "by": "smoker"},
     [{"name": "age", "low": 30, "high": 45}, {"name": "sex", "labels": ["F"]}]),
    ("correlation(bmi, age) where region=Northport", {"statistic": "correlation", "columns": ["bmi", "age"]},
     [{"name": "region", "labels": ["Northport"]}]),
]  # fmt: skip
ODD: list[Asked] = [
    ("mean(price)", {"statistic": "mean", "columns": ["price"]}, []),
    ("share(member=true) by town", {"statistic": "share", "columns": ["member"], "value": "true", "by": "town"}, []),
    ("mean(grade) by member", {"statistic": "mean", "columns": ["grade"], "by": "member"}, []),
    ("correlation(size, year)", {"statistic": "correlation", "columns": ["size", "year"]}, []),
    ("quantile(year, 0.25) where grade=1,2", {"statistic": "quantile", "columns": ["year"], "at": 0.25},
     [{"name": "grade", "labels": [1, 2]}]),
]  # fmt: skip


def answer_by_node(model: Model, folder: Path, asked: list[Asked], smooth: CodeTable | None) -> dict[str, Any]:
    stored = model._stored
    model.save(folder / "asked.sklar")
    facts = {"schema": describe_schema(stored), "measured": describe_measured(stored)}
    (folder / "facts.json").write_text(json.dumps(facts))
    plain = {"value": None, "at": 0.5, "by": None}
    questions = [{"question": {**plain, **question}, "conditions": given} for _, question, given in asked]
    (folder / "asked.json").write_text(json.dumps(questions))
    names = ["asked.sklar", "facts.json", "asked.json"]
    if smooth is not None:
        names.append("smooth.json")
        (folder / names[-1]).write_text(json.dumps({name: codes.tolist() for name, codes in smooth.columns.items()}))
    return json.loads(run_node("estimates.mjs", *(str(folder / name) for name in names)))


def answer_by_python(model: Model, text: str, memory: Memory) -> tuple[Estimated, ...] | None:
    return ask_measurements(model._stored, parse_question(text, model.schema), Wanted(), memory)


def check_answers(model: Model, folder: Path, asked: list[Asked], tolerance: float) -> None:
    """Compare the rows and all answers; a small tolerance takes Python's rows with a Gaussian copula, too."""
    memory, drawn = Memory(), draw_rows(mechanism_of(model._stored), model.table_model, STEP_ROWS, substream(0, 0))
    found = answer_by_node(model, folder, asked, with_gaussian_copula(drawn) if tolerance == TOLERANCE else None)
    for name, codes in found["codes"].items():
        np.testing.assert_array_equal(drawn.columns[name][: len(codes)], codes, err_msg=name)
    for (text, _, _), answer in zip(asked, found["answers"], strict=True):
        expected, numbers = answer_by_python(model, text, memory), answer["numbers"]
        assert (expected is None) == (numbers is None), text
        for one, number in zip(expected or (), numbers or (), strict=True):
            assert one.value is not None and one.low is not None and one.high is not None
            ends, width = np.array([one.value, one.low, one.high]), max(one.high - one.low, 1e-9)
            gap = np.abs(ends - [number["value"], number["low"], number["high"]]).max() / width
            # Where hardly any row is between two round numbers, a quantile magnifies the last digits of shares.
            most = max(tolerance, QUANTILE_TOLERANCE) if text.startswith(("quantile", "median")) else tolerance
            assert gap < most, (text, one, number)
            assert re.sub(r"\d+%", "", number["how"]) == re.sub(r"\d+%", "", one.how), text


def test_rows_and_intervals_are_those_of_estimate(tmp_path: Path) -> None:
    check_answers(fit_people(), tmp_path, PEOPLE, TOLERANCE)


def test_another_gaussian_copula_changes_intervals_little(tmp_path: Path) -> None:
    check_answers(fit_people(epsilon=1.0), tmp_path, PEOPLE, SIMULATED)


@pytest.mark.parametrize("method", ["vine", "independent"])
def test_intervals_of_odd_columns(method: str, tmp_path: Path) -> None:
    check_answers(fit_odd(method), tmp_path, ODD, SIMULATED)
