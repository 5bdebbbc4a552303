"""sklar schema pay, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sklar.cli.main import app
from sklar.schema import Category, Integer, Schema

BOTH = {"lower": "pay", "upper": "pay"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sklar.rows.codes.label_counts.BUCKET_BYTES", 1 << 18)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 5000), "city": rng.choice(["rome", "oslo"], 5000)})
    frame.to_csv(tmp_path / "p.csv", index=False)
    Schema({"age": Integer(0, 1, source=BOTH), "city": Category(["?"], source="pay")}).write(tmp_path / "s.toml")
    return tmp_path


def run(place: Path, *arguments: str) -> tuple[int, str]:
    files = ["schema", "pay", str(place / "s.toml"), str(place / "p.csv"), "-o", str(place / "paid.toml")]
    result = CliRunner().invoke(app, [*files, *arguments])
    return result.exit_code, result.output


def test_it_writes_a_schema_and_tells_the_price(place: Path) -> None:
    code, output = run(place, "-e", "0.5", "--delta", "1e-9")
    assert code == 0 and "epsilon 0.5 at delta 1e-09" in output and "city: 2 labels (oslo, rome)" in output
    paid = Schema.read(place / "paid.toml")
    assert paid["city"].values == ("oslo", "rome")  # type: ignore[attr-defined]
    assert (place / "p.csv.ledger").exists()


def test_the_price_goes_from_the_schema_file_to_the_claim(place: Path) -> None:
    assert run(place, "-e", "5", "--delta", "1e-9")[0] == 0
    command = ["fit", str(place / "p.csv"), "-s", str(place / "paid.toml"), "-o", str(place / "m.sklar")]
    result = CliRunner().invoke(app, [*command, "-e", "0.1", "--method", "independent", "--json"])
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)["claim_record"]
    assert record["complete"] and record["epsilon"] == pytest.approx(5.1) and record["delta"] == pytest.approx(2e-9)
    shown = CliRunner().invoke(app, ["inspect", str(place / "m.sklar")]).stdout
    assert "epsilon = 5.1 and delta = 2e-09" in shown


def test_a_column_that_is_all_to_be_paid_for_is_refused_by_its_kind(place: Path) -> None:
    (place / "s.toml").write_text('[columns.city]\nkind = "category"\nvalues = ["?"]\nsource = "pay"\n')
    code, output = run(place, "-e", "1")
    assert code == 1 and "kind" in output and "cannot be measured" in output
    assert not (place / "p.csv.ledger").exists()


def test_for_machines(place: Path) -> None:
    made = CliRunner().invoke(app, ["ledger", "create", str(place / "own.ledger"), "--name", "own"])
    code, output = run(place, "-e", "1", "--json", "--ledger", str(place / "own.ledger"))
    said, facts = output.split("\n", 1)
    facts = json.loads(facts)
    assert made.exit_code == 0 and "new ledger without a cap" in json.loads(said)["warning"]
    assert code == 0 and facts["epsilon"] == pytest.approx(1.0) and len(facts["notes"]) == 2
    assert facts["ledger"].endswith("own.ledger")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], "epsilon has no default"), (["-e", "1", "--delta", "0"], "delta above 0"), (["-e", "-1"], "above 0")],
)
def test_refusals(place: Path, arguments: list[str], words: str) -> None:
    code, output = run(place, *arguments)
    assert code == 1 and words in output and not (place / "paid.toml").exists()
    assert not (place / "p.csv.ledger").exists()


def test_a_ledger_with_a_delta_set_aside(place: Path) -> None:
    book = str(place / "capped.ledger")
    made = ["ledger", "create", book, "--name", "p", "-e", "2", "--delta", "1e-8", "--set-aside", "1e-9"]
    assert CliRunner().invoke(app, made).exit_code == 0
    code, _ = run(place, "-e", "0.5", "--ledger", book)
    assert code == 0


def test_values_that_are_paid_for_need_not_be_listed_and_the_threshold_is_told_first(place: Path) -> None:
    (place / "s.toml").write_text('[columns.city]\nkind = "category"\nsource = { values = "pay" }\n')
    told = run(place, "-e", "0.5", "--delta", "1e-9", "--rows", "5000", "--dry-run", "--json")
    found = json.loads(told[1])
    assert told[0] == 0 and 10 < found["rows_to_find_label"] < 1000
    assert found["share_of_rows"] == found["rows_to_find_label"] / 5000
    assert not (place / "p.csv.ledger").exists() and not (place / "paid.toml").exists()
    code, output = run(place, "-e", "0.5", "--delta", "1e-9")
    assert (
        code == 0 and f"about {found['rows_to_find_label']} rows" in output and "city: 2 labels (oslo, rome)" in output
    )
    (place / "s.toml").write_text('[columns.city]\nkind = "category"\n')
    assert "'values' is missing" in run(place, "-e", "0.5")[1]
