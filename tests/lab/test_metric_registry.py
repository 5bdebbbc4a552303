"""One registry of metrics: complete, true about what each needs, and behind evaluate and compare alike."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import pandas as pd
import pytest

import sklar
import sklar.lab.metrics as folder
from sklar.lab.compare.cell import FoldTables, Synthesis, _measure  # pyright: ignore[reportPrivateUsage]
from sklar.lab.compare.peers import Limits
from sklar.lab.compare.store import Store
from sklar.lab.compare.systems import Cell, System
from sklar.lab.compare.systems import CompareSettings as Plan
from sklar.lab.learning import transfer
from sklar.lab.metrics.bench import Settings, make_bench
from sklar.lab.metrics.registry import METRICS, measure
from sklar.lab.metrics.score import About
from sklar.sample.rng import named_streams
from tests.lab.pairs import mixed, read
from tests.lab.test_evaluate import SCHEMA, people

NAMES = tuple(METRICS)


def test_every_metric_file_is_listed_under_its_own_name() -> None:
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(folder.__path__, "sklar.lab.metrics.")
    ]
    told = {value for module in (*modules, transfer) for value in vars(module).values() if isinstance(value, About)}
    listed = {metric.about for metric in METRICS.values()}
    assert told <= listed
    assert all(name == metric.about.name for name, metric in METRICS.items())
    order = list(METRICS)
    assert all(order.index(name) < order.index(one) for one, metric in METRICS.items() for name in metric.after)


@pytest.mark.slow
def test_evaluate_and_compare_give_the_same_numbers(tmp_path: Path) -> None:
    """On the same tables and seed: subsamples, splits and random queries included."""
    real, synthetic, held = people(400), people(350, seed=1), people(250, seed=2)
    found = sklar.evaluate(real, synthetic, SCHEMA, target="smoker", holdout=held, learners="tree", seed=5)
    plan = Plan(
        schema="", table="", folds=2, seed=5, delta=0.0, rows=None, metrics=NAMES, attacks=(),
        wanted=Settings(target="smoker", learners=("tree",)),
    )  # fmt: skip
    bank = FoldTables(
        store=Store(tmp_path), schema=SCHEMA, settings=plan, limits=Limits(seconds=None, memory=None),
        began=lambda process: None,
    )  # fmt: skip
    made = Synthesis(table=read(synthetic, SCHEMA), seconds=0.0, promise="")
    cell = Cell(system=System(name="x", kind="peer"), epsilon=None, fold=0)
    compared = _measure(bank, cell, made, read(real, SCHEMA), read(held, SCHEMA))["metrics"]
    assert compared == {name: score.value for name, score in found.scores.items()}
    assert None not in compared.values()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_number_does_not_depend_on_what_is_measured_besides(name: str) -> None:
    real, synthetic = mixed(200, 1), mixed(150, 2)
    settings = Settings(target="city", learners=("tree",))

    def value(names: tuple[str, ...], floors: bool) -> float | None:
        bench = make_bench(real, synthetic, None, settings, named_streams(3), floors=floors)
        return measure(bench, names)[name].value

    assert value((name,), False) == value(NAMES[::-1], True) is not None


@pytest.mark.slow
def test_what_each_metric_needs_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(frame: pd.DataFrame, schema: sklar.Schema, target: str | None) -> set[str]:
        table = read(frame, schema)
        bench = make_bench(table, table, None, Settings(target=target, learners=("tree",)), named_streams(0))
        return {name for name, score in measure(bench).items() if score.value is None}

    def needing(*needs: str) -> set[str]:
        return {name for name, metric in METRICS.items() if set(metric.needs) & set(needs)}

    labels = pd.DataFrame({"a": ["x", "y"] * 60, "b": ["x", "x", "y"] * 40, "c": ["y", "x", "x", "x"] * 30})
    schema = sklar.Schema({name: sklar.Category(["x", "y"]) for name in labels})
    assert missing(people(120), SCHEMA, "smoker") == set()
    assert missing(people(120), SCHEMA, None) == needing("target")
    assert missing(labels, schema, "a") == needing("numbers", "values", "order")
    for name in ("sklearn", "sklearn.ensemble", "phik", "phik.phik"):
        monkeypatch.setitem(sys.modules, name, None)
    assert missing(people(120), SCHEMA, "smoker") == needing("eval")


def test_the_readers_questions_name_metrics_that_exist() -> None:
    from sklar.lab.evaluation import QUESTIONS

    assert {name for names, _ in QUESTIONS.values() for name in names} <= set(METRICS)
