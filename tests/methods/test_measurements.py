"""Measurements of every method: they name columns, survive a model file, and determine the model to the last bit."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sklar
from sklar.methods.evidence import evidence_of
from sklar.methods.registry import METHODS
from sklar.pipeline.bundle.bundle import stored_of
from sklar.pipeline.verify.checks import model_difference
from sklar.release.charges import hash_request
from sklar.release.counts import Counts, PairCounts, Partitioned
from sklar.release.measurements import Choice, FoundLabels, Measurement
from tests.contracts.tables import people, schema
from tests.golden.cases import PRIVATE, fitted
from tests.tiers import slow_unless

NAMES = ("age", "income", "sex", "region")
FEW = sklar.Schema({name: schema()[name] for name in NAMES})
FITS: dict[str, dict[str, Any]] = {
    **{name: {"method": name} for name in METHODS},
    "dpcopula-mle": {"method": "dpcopula-mle", "epsilon": 900.0, "k": 0.1, "block_rows": 20},
    "dpcopula-mle by likelihood": {
        "method": "dpcopula-mle", "epsilon": 900.0, "k": 0.1, "block_rows": 20, "estimate": "likelihood",
    },
    "vine with a target": {"method": "vine", "target": "sex"},
    "vine with few rows": {"method": "vine", "epsilon": 0.5, "target": "sex"},
    "vine that plans": {"method": "vine", "epsilon": 40.0},
    "vine with a check": {"method": "vine", "check_share": 0.2},
    "vine without delta": {"method": "vine", "delta": 0.0},
    **{f"independent by {name}": {"method": "independent", "histogram": name}
       for name in ("efpa", "privelet", "noisefirst", "structurefirst")},
    "kendall by efpa": {"method": "dpcopula-kendall", "margins": "efpa", "order": "random"},
    "kendall of a sample": {"method": "dpcopula-kendall", "sample": 100, "delta": 0.0},
    "dpc with a rest": {"method": "dpc-gauss", "most_values": 2},
}  # fmt: skip
"""A small fit of each method, and of each way in which one asks for other things."""
FAST = ("vine", "independent", "independent by structurefirst", "vine with few rows", "dpcopula-kendall", "dpc-gauss")


@pytest.fixture(scope="module")
def models() -> dict[str, sklar.Model]:
    return {}


def fit(name: str, models: dict[str, sklar.Model]) -> sklar.Model:
    """Return the model of a case; each is fitted once."""
    if name not in models:
        options = {"epsilon": 40.0, **FITS[name]}
        models[name] = sklar.fit(people(300)[list(NAMES)], FEW, **options)
    return models[name]


every_fit = pytest.mark.parametrize("name", slow_unless(FAST.__contains__, FITS))


def size_of(measurement: Measurement) -> int:
    query = measurement.query
    return int(query.pair_cells.sum()) if isinstance(query, PairCounts) else math.prod(query.shape)


def partitions_in(model: sklar.Model) -> Iterator[np.ndarray]:
    for one in model.measurements:
        if isinstance(one.query, Partitioned):
            yield from one.query.partitions


@every_fit
def test_measurements_name_columns_and_have_the_shape_of_their_query(name: str, models: dict[str, sklar.Model]) -> None:
    model = fit(name, models)
    facts = model.coordinates.schema
    assert model.measurements
    assert {one.label for one in model.measurements} <= {step.label for step in model.releases}
    for one in model.measurements:
        assert one.query.columns and set(one.query.columns) <= set(facts.modelled)
        assert all(codes == facts.size(column) for column, codes in one.query.reads)
        assert one.values.size == size_of(one) and np.isfinite(one.values).all()
        assert one.noise.scale > 0 and one.sigma > 0
        if isinstance(one.query, PairCounts):
            assert one.values.ndim == 1
        else:
            assert one.values.shape == one.query.shape
        if isinstance(one.query, Counts | PairCounts):
            assert one.values.dtype == np.int64
        else:
            steps = one.values / one.resolution
            assert np.allclose(steps, np.rint(steps), rtol=1e-9, atol=1e-3)


@every_fit
def test_measurements_survive_a_model_file(name: str, models: dict[str, sklar.Model], tmp_path: Path) -> None:
    model = fit(name, models)
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert len(again.measurements) == len(model.measurements)
    for one, other in zip(model.measurements, again.measurements, strict=True):
        assert type(other.query) is type(one.query) and hash_request(other.query) == hash_request(one.query)
        assert other.values.dtype == one.values.dtype and np.array_equal(other.values, one.values)
        assert (other.noise, other.resolution, other.label) == (one.noise, one.resolution, one.label)
    for step, same in zip(model.releases, again.releases, strict=True):
        assert (same.step, same.label, same.request) == (step.step, step.label, step.request)
        for release, kept in zip(step.releases, same.releases, strict=True):
            if isinstance(release, Choice):
                assert isinstance(kept, Choice)
                assert (kept.indices, kept.epsilon) == (release.indices, release.epsilon)
            assert not isinstance(release, FoundLabels)


@pytest.mark.parametrize("name", ["vine", pytest.param("dpcopula-hybrid", marks=pytest.mark.slow)])
def test_a_partition_that_several_queries_share_is_stored_once(
    name: str, models: dict[str, sklar.Model], tmp_path: Path
) -> None:
    model = fit(name, models)
    model.save(tmp_path / "m.sklar")
    with zipfile.ZipFile(tmp_path / "m.sklar") as archive:
        contents = [archive.read(one) for one in archive.namelist() if one.endswith(".npy")]
        referred = re.findall(rb'"array": ([0-9]+)', archive.read("queries.json"))
    used = list(partitions_in(model))
    distinct = {partition.tobytes() for partition in used}
    assert len(referred) >= len(used) > len(set(referred)) >= len(distinct)
    assert len(set(contents)) == len(contents), "no array is stored twice"


@every_fit
def test_the_estimate_is_a_function_of_setting_and_measurements(name: str, models: dict[str, sklar.Model]) -> None:
    """On fresh evidence, without what a fit remembers, the same numbers to the last bit; twice."""
    model = fit(name, models)
    of = stored_of(model).fitted
    for _ in range(2):
        evidence = evidence_of(of.setting, of.recorded)
        again = of.method.refit(evidence)
        assert model_difference(of.model, again) == 0.0
        assert list(evidence.releases) == [step.label for step in of.recorded], "estimates add no releases"


@every_fit
def test_a_loaded_model_is_estimated_again_from_its_file(
    name: str, models: dict[str, sklar.Model], tmp_path: Path
) -> None:
    fit(name, models).save(tmp_path / "m.sklar")
    of = stored_of(sklar.load(tmp_path / "m.sklar")).fitted
    assert model_difference(of.model, of.method.refit(of.evidence())) == 0.0


@every_fit
def test_margins_alone_are_those_of_the_whole_estimate_or_near_them(name: str, models: dict[str, sklar.Model]) -> None:
    """Where a method has a shorter way to its margins, they are those that the whole model is made from."""
    of = stored_of(fit(name, models)).fitted
    for margin, whole in zip(of.method.refit_margins(of.evidence()), of.model.margins, strict=True):
        assert margin.column == whole.column
        np.testing.assert_allclose(margin.dense(), whole.dense(), atol=1e-9)


def test_an_estimate_does_not_change_its_measurements(models: dict[str, sklar.Model]) -> None:
    of = stored_of(fit("vine", models)).fitted
    before = [one.values.copy() for one in of.measurements]
    of.method.refit(of.evidence())
    assert all(np.array_equal(one.values, kept) for one, kept in zip(of.measurements, before, strict=True))


def test_a_step_is_asked_for_once(models: dict[str, sklar.Model]) -> None:
    """With all evidence there is nothing left to ask, and after fewer steps the next one is asked for."""
    of = stored_of(fit("vine", models)).fitted
    assert of.method.ask(of.evidence()) is None
    for steps in range(len(of.recorded)):
        step = of.method.ask(of.evidence(of.recorded[:steps]))
        assert step is not None and step.label == of.recorded[steps].label


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIVATE)
def test_golden_fits_are_functions_of_their_measurements(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a public prior, and of persons whose rows are linked."""
    of = stored_of(fitted(name, monkeypatch)).fitted
    assert model_difference(of.model, of.method.refit(evidence_of(of.setting, of.recorded))) == 0.0
