"""The public report tells what releases tell, the same to everyone, and nothing that only rows know."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import UsageError
from sklar.model.independent import IndependentModel
from sklar.model.margins.margin import margin_from_dense
from sklar.pipeline.bundle.bundle import stored_of
from sklar.pipeline.public_report.report import public_report
from sklar.report.page import NOTICE, PUBLIC_NOTICE
from tests.contracts.tables import people, schema

CANARY = "zq-canary-7391"
NAMES = ("age", "gain", "sex", "region")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table in which one cell is a marker, its schema, and a model of it."""
    folder = tmp_path_factory.mktemp("public")
    frame = people(1_500)[list(NAMES)]
    frame.loc[7, "region"] = CANARY
    frame.to_csv(folder / "t.csv", index=False)
    sklar.Schema({name: schema()[name] for name in NAMES}).write(folder / "s.toml")
    sklar.Ledger.create(folder / "t.ledger", "people", 20, 3e-9)
    model = sklar.fit(folder / "t.csv", folder / "s.toml", epsilon=1.0, ledger=folder / "t.ledger")
    model.save(folder / "m.sklar")
    return folder


@pytest.mark.slow
def test_the_page_says_what_it_is_and_holds_nothing_from_rows(place: Path) -> None:
    found = sklar.load(place / "m.sklar").report(place / "m.public.html")
    page = (place / "m.public.html").read_text()
    assert page.startswith("<!doctype html") and page.index(PUBLIC_NOTICE) < page.index("<h1>")
    assert CANARY not in page and CANARY not in json.dumps(found.to_dict(), allow_nan=False) and NOTICE not in page
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert all(line in page for line in (*NAMES, "What is accurate", "What is not accurate", "Privacy claim"))
    claim = sklar.load(place / "m.sklar").claim
    assert found.trust and found.doubt and (found.claim, found.basis) == (claim.summary, claim.basis)
    assert len(found.basis) >= 3 and all(str(escape(line)) in page for row in found.basis for line in row)
    assert page.count("<svg") == page.count('role="img"') == len(NAMES) + min(len(found.pairs), 12)


@pytest.mark.slow
def test_the_page_follows_from_the_model_file_alone(place: Path, tmp_path: Path) -> None:
    """Written again in a process that has the model file and nothing else; no room that reads rows is entered."""
    (tmp_path / "m.sklar").write_bytes((place / "m.sklar").read_bytes())
    code = (
        "import sklar, sys; sklar.load('m.sklar').report('m.public.html');"
        "print([m for m in sys.modules if m.startswith(('sklar.rows', 'sklar.private', 'sklar.lab'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    sklar.load(place / "m.sklar").report(place / "again.public.html")
    assert (tmp_path / "m.public.html").read_bytes() == (place / "again.public.html").read_bytes()


@pytest.mark.slow
def test_findings_are_what_the_releases_say(place: Path) -> None:
    model = sklar.load(place / "m.sklar")
    found = model.report()
    assert [column.column for column in found.columns] == list(NAMES)
    for column in found.columns:
        assert sum(column.model) == pytest.approx(1.0, abs=1e-9)
        assert (
            column.width is not None and 0 < column.width.share < 0.5 and 0 < column.width.effective_rows < 1.2 * 1_500
        )
        assert len(column.labels) == len(column.bands) == len(column.released)
    assert {(column.width.mean is not None) for column in found.columns if column.numeric and column.width} == {True}
    unseen = {m["column"]: m.get("unseen", {}) for m in model.inspect()["margins"]}
    assert {column.column: column.unseen for column in found.columns} == unseen
    assert len(found.pairs) <= len(NAMES) * (len(NAMES) - 1) // 2
    assert found.errors is not None and len(found.errors.tables) == len(found.checked)
    assert all(np.isfinite(one.residual.p_value) for one in found.checked)


@pytest.mark.slow
def test_a_clear_pair_is_told_from_one_without_signal() -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, 4_000)
    rows = {"a": first, "b": np.where(rng.random(4_000) < 0.9, first, 3 - first), "c": rng.integers(0, 4, 4_000)}
    whole = sklar.Schema({name: sklar.Integer(0, 3) for name in rows})
    found = sklar.fit(rows, whole, epsilon=20.0).report()
    assert {pair.columns for pair in found.pairs[:1]} == {("a", "b")} and found.pairs[0].signal
    assert "a and b" in " ".join(found.trust)


@pytest.mark.slow
def test_the_command_and_its_twin_tell_the_same(place: Path) -> None:
    words = ["report", str(place / "m.sklar")]
    assert CliRunner().invoke(app, words).exit_code == 0 and (place / "m.public.html").exists()
    told = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(told.stdout) == json.loads(json.dumps(sklar.load(place / "m.sklar").report().to_dict()))
    refused = CliRunner().invoke(app, [*words, "-o", str(place / "m.custodian.html")])
    assert refused.exit_code == 1 and "must" not in refused.output and ".public.html" in refused.output


@pytest.mark.parametrize("wanted", [True, False])
def test_synth_writes_it_beside_the_table_unless_told_not_to(place: Path, tmp_path: Path, wanted: bool) -> None:
    words = ["synth", str(place / "t.csv"), "-s", str(place / "s.toml"), "-e", "1", "-o", str(tmp_path / "out.csv")]
    words += ["--ledger", str(place / "t.ledger"), "--method", "independent", "-n", "50", "--json"]
    done = CliRunner().invoke(app, words if wanted else [*words, "--no-public-report"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.public.html").exists() == wanted == ("public_report" in json.loads(done.stdout))


def test_a_model_that_promises_nothing_gets_a_plain_answer(tmp_path: Path) -> None:
    model = sklar.fit(people(200), schema(), method="plain-gaussian", no_guarantee=True)
    with pytest.raises(UsageError, match="no privacy guarantee"):
        model.report(tmp_path / "a.public.html")
    assert not (tmp_path / "a.public.html").exists()


@pytest.mark.slow
def test_a_bundle_takes_the_page_and_is_verified_with_it(place: Path) -> None:
    page = place / "b.public.html"
    sklar.load(place / "m.sklar").report(page)
    sklar.bundle(place / "m.sklar", place / "b.release.zip", rows=50, report=page, ledger=place / "t.ledger")
    found = sklar.verify(place / "b.release.zip")
    assert found.ok, found


def few_rows() -> tuple[dict[str, np.ndarray], sklar.Schema]:
    """A small table, as of people followed for a year: three quarters have the last value of 61."""
    rng = np.random.default_rng(8)
    week = np.where(rng.random(432) < 0.745, 52, rng.integers(1, 52, 432))
    rows = {"week": week, "age": rng.integers(18, 45, 432), "paid": rng.integers(0, 2, 432), "prior": week % 3}
    bounds = {"week": (0, 60), "age": (15, 50), "paid": (0, 1), "prior": (0, 2)}
    return rows, sklar.Schema({name: sklar.Integer(*ends) for name, ends in bounds.items()})


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_a_model_whose_rows_lost_a_fifth_of_a_margin_is_found_out(epsilon: float) -> None:
    """A model with a tampered margin contradicts its release, whatever the noise; the one that was fitted does not."""
    rows, schema = few_rows()
    model = sklar.fit(rows, schema, method="independent", epsilon=epsilon)
    assert not [one.columns for one in model.report().checked if one.residual.contradicts]
    stored = stored_of(model)
    margins = list(stored.model.margins)
    mass = margins[0].dense()
    mass *= (1 - min(mass[52] + 0.2, 1.0)) / (1 - mass[52])
    mass[52] = 1 - (mass.sum() - mass[52])
    margins[0] = margin_from_dense("week", mass)
    tampered = replace(stored, model=IndependentModel(margins=tuple(margins), rows_estimate=stored.model.rows_estimate))
    found = public_report(tampered)
    assert [one.columns for one in found.checked if one.residual.contradicts] == [("week",)]
    assert any("week" in line and "contradicts" in line for line in found.doubt)
    assert "None contradicts it" not in found.page()
