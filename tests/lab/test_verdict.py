"""What is said about dependence: it orders tables as the scores do, and independence is never called kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.lab.evaluation import ANSWER_POSITIONS, QUESTIONS, TOGETHER
from sklar.lab.metrics.bench import Settings, draw_independently, make_bench
from sklar.lab.metrics.registry import measure
from sklar.lab.metrics.score import About, Score
from sklar.sample.rng import named_streams
from tests.lab.pairs import mixed, read

NAMES = QUESTIONS[TOGETHER][0]
METHODS: dict[str, tuple[str, float]] = {
    "vine, epsilon 100": ("vine", 100.0), "vine, epsilon 0.1": ("vine", 0.1), "independent": ("independent", 5.0),
    "dpc-gauss": ("dpc-gauss", 5.0), "dpcopula-kendall": ("dpcopula-kendall", 5.0),
}  # fmt: skip
LETTERS = np.array(list("xyz"))


def normal(rng: np.random.Generator, rows: int, corr: float) -> pd.DataFrame:
    shared = rng.normal(size=rows)
    columns = {c: np.sqrt(corr) * shared + np.sqrt(1 - corr) * rng.normal(size=rows) for c in "abc"}
    return pd.DataFrame(columns).clip(-4, 4)


def labels(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    a = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    b = np.where(rng.random(rows) < 0.8, a, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.8, 2 - b, rng.integers(0, 3, rows))
    return pd.DataFrame({"a": LETTERS[a], "b": LETTERS[b], "c": LETTERS[c]})


def skewed(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    days = rng.gamma(2.0, 1.0, rows)
    return pd.DataFrame(
        {
            "a": days.clip(0, 12),
            "b": (days * rng.lognormal(0, 0.3, rows)).clip(0, 20),
            "c": rng.poisson(3 * days).clip(0, 30),
        }
    )


def kinds(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    z = rng.normal(size=rows)
    low, high = z + 0.5 * rng.normal(size=rows), z + 0.5 * rng.normal(size=rows)
    return pd.DataFrame({"a": z.clip(-4, 4), "b": LETTERS[np.digitize(low, [-0.7, 0.7])], "c": high > 0})


REALS = {c: sklar.Real(-4, 4) for c in "abc"}
TABLES: dict[str, tuple[Callable[..., pd.DataFrame], dict[str, Any], dict[str, Any]]] = {
    "strong": (normal, {"corr": 0.8}, REALS),
    "weaker": (normal, {"corr": 0.4}, REALS),
    "labels": (labels, {}, {c: sklar.Category(["x", "y", "z"]) for c in "abc"}),
    "skewed": (skewed, {}, {"a": sklar.Real(0, 12), "b": sklar.Real(0, 20), "c": sklar.Integer(0, 30)}),
    "kinds": (kinds, {}, {"a": sklar.Real(-4, 4), "b": sklar.Category(["x", "y", "z"]), "c": sklar.Boolean()}),
}


def evaluation(scores: dict[str, Score]) -> sklar.results.Evaluation:
    """What an evaluation says by these scores alone."""
    none = Score(about=next(iter(scores.values())).about, value=None, reason="not asked.")
    every = {name: none for names, _ in QUESTIONS.values() for name in names} | {"rare_ranges": none} | scores
    empty: Any = None
    return sklar.results.Evaluation(
        name="", scores=every, warnings=(), rows={}, schema=sklar.Schema(REALS), claim=None, overview=empty
    )


def judged(real: Any, synthetic: Any) -> sklar.results.Evaluation:
    return evaluation(measure(make_bench(real, synthetic, None, Settings(), named_streams(0)), NAMES))


def level(found: sklar.results.Evaluation) -> int:
    """0 for the best answer."""
    said = next(line for line in found.verdict if line.startswith(TOGETHER))
    (at,) = (i for i, answer in enumerate(QUESTIONS[TOGETHER][1]) if answer in said)
    return at


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_sentences_order_methods_as_the_scores_do(kind: str) -> None:
    make, options, columns = TABLES[kind]
    frame, schema = make(np.random.default_rng(1), 1_000, **options), sklar.Schema(columns)
    real = read(frame, schema)
    found = {"fresh rows": judged(real, read(make(np.random.default_rng(2), 1_000, **options), schema))}
    for name, (method, epsilon) in METHODS.items():
        model = sklar.fit(frame, schema, method=method, epsilon=epsilon, delta=1e-9)
        found[name] = judged(real, read(model.sample(1_000, seed=3), schema))
    for one, two in permutations(found.values(), 2):
        if all(one[n].position >= two[n].position for n in NAMES if one[n].value is not None):
            assert level(one) <= level(two)
            assert one.dependence is not None and two.dependence is not None and one.dependence >= two.dependence
    # Far from the levels, so that noise cannot flip them.
    kept = {name: one.dependence or 0.0 for name, one in found.items()}
    assert kept["independent"] < 0.2 and level(found["independent"]) == len(ANSWER_POSITIONS)
    assert min(kept["fresh rows"], kept["vine, epsilon 100"]) > 0.8, kept
    floor = [
        name
        for name, one in found.items()
        if all(one[n].grade == "sampling" for n in NAMES if one[n].value is not None)
    ]
    assert all(level(found[name]) < level(found["independent"]) for name in floor)


@pytest.mark.slow
def test_the_scale_is_anchored_at_both_ends_and_has_no_steps() -> None:
    real = mixed(1_500, 1)
    tables = {s: mixed(1_500, 2, strength=s) for s in (0.0, 0.25, 0.5, 0.75, 1.0)}
    kept = [judged(real, table).dependence or 0.0 for table in tables.values()]
    assert kept == sorted(kept) and kept[0] < 0.15 and kept[-1] > 0.9
    apart = judged(real, draw_independently(real, 1_500, np.random.default_rng(9)))
    assert (apart.dependence or 0.0) < 0.1
    assert judged(real, real).dependence == 1.0
    for table in tables.values():
        one = judged(real, table)
        moved = {n: replace(one[n], value=(one[n].value or 0.0) + 0.001) for n in NAMES}
        two = evaluation(moved)
        assert 0 <= (one.dependence or 0.0) - (two.dependence or 0.0) < 0.03
        assert level(two) - level(one) in (0, 1)


@pytest.mark.slow
def test_one_metric_alone_does_not_decide() -> None:
    """A single pair of scores at its worst among five costs its share, and the sentence stays above 'lost'."""
    scores = {n: judged(mixed(800, 1), mixed(800, 1))[n] for n in NAMES}
    worst = evaluation(scores | {"spearman": replace(scores["spearman"], value=1.0)})
    assert 0.6 < (worst.dependence or 0.0) < 1.0 and level(worst) == 1


def test_a_table_without_dependence_is_told() -> None:
    rng = np.random.default_rng(0)
    schema = sklar.Schema({c: sklar.Category(["x", "y", "z"]) for c in "abcd"})
    tables = [read(pd.DataFrame({c: LETTERS[rng.integers(0, 3, 2_000)] for c in "abcd"}), schema) for _ in range(2)]
    (said,) = (line for line in judged(*tables).verdict if line.startswith(TOGETHER))
    assert "hardly depend on each other" in said


def test_positions_by_hand() -> None:
    about = About(
        name="x", title="", says="", reference="", lower=0.0, upper=1.0, better="lower", good=0.1, fair=0.2
    )  # fmt: skip
    score = Score(about=about, value=0.3, floor=0.1, independent=0.5)
    assert score.position == pytest.approx(0.5) and score.informativeness == pytest.approx(0.8)
    assert replace(score, value=0.05).position == 1.0 and replace(score, value=0.7).position == 0.0
    assert replace(score, value=0.125, independent=0.1).position == pytest.approx(0.5)
    plain = replace(score, independent=None)
    places = [replace(plain, value=v).position for v in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)]
    assert places == pytest.approx([1.0, 1.0, 2 / 3, 1 / 3, 1 / 6, 0.0, 0.0])
    higher = replace(plain, about=replace(about, better="higher", good=0.9, fair=0.8), value=0.8, floor=0.9)
    assert higher.position == pytest.approx(2 / 3)


@pytest.mark.slow
def test_rare_ranges_have_a_line_of_their_own() -> None:
    found = sklar.evaluate(*(pd.DataFrame(normal(np.random.default_rng(s), 1_000, 0.5)) for s in (1, 2)),
                           sklar.Schema(REALS), learners="tree", targets=["a"])  # fmt: skip
    (line,) = (one for one in found.verdict if one.startswith("Counts in rare ranges"))
    score = found["rare_ranges"]
    assert f"{score.value:.0%}" in line and f"{score.floor:.0%}" in line
    assert "range_queries" not in QUESTIONS[TOGETHER][0]
    assert found.to_dict()["dependence"] == found.dependence


def test_results_print_in_a_few_lines() -> None:
    """Their numbers are in `to_dict()`; printed whole, an evaluation of some columns has 100,000 characters."""
    rng = np.random.default_rng(8)
    real, made = labels(rng, 400), labels(rng, 400)
    schema = sklar.Schema({name: sklar.Category(list("xyz")) for name in "abc"})
    found = sklar.evaluate(real, made, schema)
    assert str(found).startswith("Evaluation of ") and found.verdict[0] in str(found)
    attack = sklar.attack("copies", real, made, schema)
    for result in (found, attack):
        assert len(str(result).splitlines()) <= 40 and len(str(result)) < 4_000
