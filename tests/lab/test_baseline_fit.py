"""Fits without a guarantee: never by mistake, and labelled wherever they show."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import UsageError
from sklar.lab.baselines.registry import BASELINES
from sklar.lab.people import people_schema, people_table

LABEL = "NO DP GUARANTEE"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return people_table(800, seed=3)


@pytest.mark.parametrize("name", BASELINES)
def test_what_a_method_says_of_itself_is_what_it_takes(name: str) -> None:
    method = BASELINES[name]
    assert method.name == name and method.summary
    options = {field.name for field in dataclasses.fields(method.options)}
    assert ("epsilon" in options, "target" in options) == (method.takes_epsilon, method.takes_target)
    assert method.read_options({}) == method.options()


def test_plain_gaussian_is_labelled_everywhere(table: pa.Table, tmp_path: Path) -> None:
    model = sklar.fit(table, people_schema(), method="plain-gaussian", no_guarantee=True)
    assert str(model.claim).startswith(LABEL)
    assert not model.claim.guarantee and model.claim.epsilon is None
    sample = model.sample(50, seed=1)
    assert sample.num_rows == 50 and sample.schema.metadata[b"sklar.guarantee"].startswith(LABEL.encode())
    assert next(iter(model.stream(10, seed=1))).schema.metadata[b"sklar.guarantee"].startswith(LABEL.encode())
    path = tmp_path / "m.sklar"
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("manifest.json"))["guarantee"].startswith(LABEL)
        assert "without noise" in json.loads(archive.read("fit.json"))["warning"]
    again = sklar.load(path)
    assert again.sample(50, seed=1).equals(sample)
    assert again.inspect()["claim"].startswith(LABEL)


def test_parts_are_labelled(table: pa.Table, tmp_path: Path) -> None:
    model = sklar.fit(table, people_schema(), method="plain-gaussian", no_guarantee=True)
    model.write_rows(tmp_path / "out", 50, seed=1, workers=1)
    assert json.loads((tmp_path / "out" / "_sklar.json").read_text())["guarantee"].startswith(LABEL)
    metadata = pq.read_schema(tmp_path / "out" / "part-00000.parquet").metadata
    assert metadata[b"sklar.guarantee"].startswith(LABEL.encode())
    assert model.write_rows(tmp_path / "out", 50, seed=1, workers=1) == 50  # taken up, not refused


@pytest.mark.parametrize("name", ["cache", "cache_bytes", "threads", "spark"])
def test_ways_of_reading_for_counts_alone_are_refused(name: str, table: pa.Table) -> None:
    with pytest.raises(UsageError, match=f"ignores {name}"):
        sklar.fit(table, people_schema(), method="plain-gaussian", no_guarantee=True, read={name: 1})


def test_never_by_mistake(table: pa.Table) -> None:
    schema = people_schema()
    with pytest.raises(UsageError, match="no_guarantee=True"):
        sklar.fit(table, people_schema(), method="plain-gaussian", no_guarantee="no")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="no_guarantee=True"):
        sklar.fit(table, schema, method="plain-gaussian")
    for extra in ({"epsilon": 1.0}, {"rho": 0.1}, {"ledger": "x.ledger"}, {"neighbours": "replace"}, {"target": "age"}):
        with pytest.raises(UsageError, match="leave it out"):
            sklar.fit(table, schema, method="plain-gaussian", no_guarantee=True, **extra)
    with pytest.raises(UsageError, match="has no option 'bogus'"):
        sklar.fit(table, schema, method="plain-gaussian", no_guarantee=True, bogus=1)
    with pytest.raises(UsageError, match="without any guarantee: plain-gaussian"):
        sklar.fit(table, schema, method="nothing", no_guarantee=True)
    with pytest.raises(UsageError, match="this one has a guarantee"):
        sklar.fit(table, schema, epsilon=1.0, no_guarantee=True)


def test_a_drafted_schema_serves(table: pa.Table) -> None:
    drafted = sklar.draft_schema(table)
    model = sklar.fit(table, drafted, method="plain-gaussian", no_guarantee=True, seed=1)
    assert model.rows_estimate == table.num_rows


def test_margins_and_dependence_are_those_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(20_000)
    y = 0.8 * x + 0.6 * rng.standard_normal(20_000)
    schema = sklar.Schema({"x": sklar.Real(-6, 6), "y": sklar.Real(-6, 6)})
    model = sklar.fit(pa.table({"x": x, "y": y}), schema, method="plain-gaussian", no_guarantee=True)
    drawn = model.sample(20_000, seed=2).to_pandas()
    assert abs(np.corrcoef(drawn.x, drawn.y)[0, 1] - 0.8) < 0.02
    assert abs(drawn.x.std() - 1) < 0.03


def run(*words: str) -> tuple[int, str, str]:
    ended = CliRunner().invoke(app, list(words))
    return ended.exit_code, ended.stdout, ended.stderr


def test_the_command_line_says_it(tmp_path: Path, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / "t.parquet")
    people_schema().write(tmp_path / "s.toml")
    data, facts, model = (str(tmp_path / name) for name in ("t.parquet", "s.toml", "m.sklar"))
    fit = ("fit", data, "-s", facts, "--method", "plain-gaussian", "-o", model)
    code, _, err = run(*fit)
    assert code == 1 and "no DP guarantee" in err
    code, out, err = run(*fit, "--no-guarantee")
    assert code == 0 and LABEL in out, err
    assert LABEL in run("inspect", model)[1]
    assert LABEL in run("sample", model, "-n", "5", "-o", "-", "--seed", "1")[2]
    # The label comes before the rows, so that nobody reads them without it.
    code, _, err = run("sample", model, "-n", "5", "-o", str(tmp_path / "none" / "x.csv"))
    assert code == 1 and LABEL in err
    assert "plain-gaussian" in run("methods")[1]
