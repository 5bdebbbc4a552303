"""One command from a file: what it writes and says, outputs that follow the input, and mixed use."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import FlatColumnWarning, OverspendError
from sklar.lab.tables.reading import read_table

QUICK: dict[str, Any] = {"method": "independent", "repair": "clip"}
FLAGS = ["-m", "independent", "-O", "repair=clip", "--no-public-report"]


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def clinic(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "Größe": [f"{x:.1f}".replace(".", ",") for x in rng.normal(172, 9, rows)],
            "Geschlecht": rng.choice(["männlich", "weiblich"], rows),
            "Aufnahme": [f"{d:02}.{m:02}.20{y:02}" for d, m, y in rng.integers((1, 1, 10), (29, 13, 24), (rows, 3))],
            "Ort": rng.choice(["Graz", "Linz", "Enns", "Steyr"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "Kunden_Nr": np.arange(rows),
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    clinic().to_csv(tmp_path / "klinik.csv", sep=";", index=False, encoding="cp1252")
    return tmp_path / "klinik.csv"


def test_one_command(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "synthetic.csv"
    ended = run("synth", file, "-e", 2, "-o", out, *FLAGS)
    assert ended.exit_code == 0, ended.stderr
    assert "Found privately" in ended.stdout and "written as 1.234,56" in ended.stdout
    assert "named like a key" in ended.stdout and "Each row is protected by itself" in ended.stdout
    made = pd.read_csv(out)
    assert list(made.columns) == list(clinic().columns) and abs(len(made) - 3000) < 300
    assert abs(made["Größe"].mean() - 172) < 8 and set(made["Geschlecht"].dropna()) <= {"männlich", "weiblich", "other"}
    found = sklar.Schema.read(tmp_path / "synthetic.schema.toml")
    kinds = {name: column.kind for name, column in found.items()}
    assert kinds == {
        "Größe": "real",
        "Geschlecht": "category",
        "Aufnahme": "datetime",
        "Ort": "category",
        "Kunden_Nr": "id",
    }
    assert found["Aufnahme"].format == "%d.%m.%Y"  # type: ignore[attr-defined]
    refused = run("synth", file, "-e", 2, "-o", tmp_path / "other.csv", "-s", tmp_path / "none.toml", *FLAGS)
    assert refused.exit_code == 1
    again = run(
        "synth", file, "-s", tmp_path / "synthetic.schema.toml", "-e", 1, "-o", tmp_path / "b.csv", *FLAGS, "--json"
    )
    claim = json.loads(again.stdout)["claim_record"]
    assert again.exit_code == 0 and claim["epsilon"] > 1.0 and claim["prices"]  # what the facts cost is added


def mean_size(path: Path, schema: sklar.Schema) -> float:
    """Of a synthetic table, as evaluations read it."""
    table = read_table(path, schema, np.random.default_rng(0), role="synthetic")
    return float(np.nanmean(table.numbers["Größe"]))


def test_output_follows_the_input(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "like.csv"
    assert run("synth", file, "-e", 2, "-o", out, "--like-input", *FLAGS).exit_code == 0
    header, *rows = csv.reader(out.read_bytes().decode("cp1252").splitlines(), delimiter=";")
    assert header == list(clinic().columns)
    assert all("," in row[0] and "." not in row[0] for row in rows if row[0])
    schema = sklar.Schema.read(tmp_path / "like.schema.toml")
    assert abs(mean_size(out, schema) - 172) < 5  # read by the same schema as the input
    plain = tmp_path / "plain.csv"
    assert run("synth", file, "-e", 2, "-o", plain, "-s", tmp_path / "like.schema.toml", *FLAGS).exit_code == 0
    assert abs(mean_size(plain, schema) - 172) < 5
    saved = sklar.fit(file, schema, epsilon=20, **QUICK)
    saved.save(tmp_path / "m.sklar")
    assert run("sample", tmp_path / "m.sklar", "-n", 50, "-o", tmp_path / "more.csv", "--like", file).exit_code == 0
    lines = (tmp_path / "more.csv").read_bytes().decode("cp1252").splitlines()
    assert lines[0].split(";") == header and all("." not in line.split(";")[0] for line in lines[1:])
    for name in ("x.parquet", "parts/"):
        out = tmp_path / name
        assert run("sample", tmp_path / "m.sklar", "-n", 50, "-o", out, "--like", file).exit_code == 1
    refused = run("synth", file, "-e", 2, "-o", tmp_path / "x.parquet", "--like-input", *FLAGS)
    assert refused.exit_code == 1 and ".csv" in refused.stderr


def test_without_epsilon_it_is_explained(file: Path, tmp_path: Path) -> None:
    ended = run("synth", file, "-o", tmp_path / "s.csv", "--yes")
    assert ended.exit_code == 2 and "epsilon 1: 2.7%" in ended.stderr and "no default" in ended.stderr
    assert not (tmp_path / "klinik.csv.ledger").exists()


def test_stated_facts_stay_public_and_save_their_price() -> None:
    frame = clinic()
    cities = ["Graz", "Linz", "Enns", "Steyr"]
    known = {name: sklar.Unknown() for name in frame} | {"Ort": sklar.Category(cities), "Kunden_Nr": sklar.Ignore()}
    model = sklar.fit(frame, sklar.Schema(known), epsilon=2.0, **QUICK)
    assert model.schema["Ort"].values == tuple(cities) and "Ort.values" in model.claim.assumed  # type: ignore[attr-defined]
    assert "Größe.kind" in model.claim.measured and model.claim.epsilon == 2.0
    every = sklar.fit(frame, epsilon=2.0, **QUICK)
    assert model.found_facts is not None and every.found_facts is not None
    assert model.found_facts.share < every.found_facts.share


def test_a_fit_is_verified_from_its_releases(file: Path, tmp_path: Path) -> None:
    sklar.fit(file, epsilon=2.0, **QUICK).save(tmp_path / "m.sklar")
    checks = {check.part: check.ok for check in sklar.verify(tmp_path / "m.sklar", ledger=f"{file}.ledger").checks}
    assert checks["price"] and checks["facts"] and checks["claim"] and checks["model"] and checks["ledger"]


def test_a_column_that_cannot_be_read_is_not_silent(file: Path, tmp_path: Path) -> None:
    schema = sklar.Schema({"Größe": sklar.Real(0, 300), "Geschlecht": sklar.Category(["m", "w"])})
    with pytest.warns(FlatColumnWarning, match="Größe came out as 0 in"):
        model = sklar.fit(file, schema, epsilon=9.0, **QUICK)
    assert any("Größe" in sentence for sentence in model.inspect()["warnings"])
    model.report(tmp_path / "m.public.html")
    assert "Größe came out as 0" in (tmp_path / "m.public.html").read_text()
    model.save(tmp_path / "m.sklar")
    assert "Größe came out as 0" in run("inspect", tmp_path / "m.sklar").stdout


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "header only": (b"a,b\n", "too few to find out"),
    "free text": (("t\n" + "one two three four five six seven eight nine ten\n" * 900).encode(), "all seem to be keys"),
    "keys": (
        ("t\n" + "".join(f"{(i + 1) * 0x9E3779B97F4A7C15 % 2**64:016x}\n" for i in range(900))).encode(),
        "all seem to be keys",
    ),
    "binary": (bytes(range(256)) * 9, "NUL"),
    "the same name twice": (b"a,a\n1,2\n", "same name"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_plain_words(case: str, tmp_path: Path) -> None:
    content, words = BAD[case]
    (tmp_path / "bad.csv").write_bytes(content)
    ended = run("synth", tmp_path / "bad.csv", "-e", 1, "-o", tmp_path / "o.csv", *FLAGS)
    assert ended.exit_code == 1 and words in ended.stderr and not (tmp_path / "o.csv").exists()


ODD: dict[str, bytes] = {
    "one column": ("x\n" + "".join(f"{i % 50}\n" for i in range(3000))).encode(),
    "one value": ("a,b\n" + "".join(f"7,{i % 50}\n" for i in range(3000))).encode(),
    "mixed formats": (
        "m,b\n" + "".join(f"{['12.5', '3', 'blue', '2020-01-01'][i % 4]},{i % 50}\n" for i in range(3000))
    ).encode(),
    "a mark": ("\ufeffa,b\n" + "".join(f"{i % 9},{i % 50}\n" for i in range(3000))).encode(),
    "UTF-16": ("a,b\n" + "".join(f"ä{i % 3},{i % 50}\n" for i in range(3000))).encode("utf-16"),
    "two decimal signs": ("p;q\n" + "".join(f"1.2.3,4;{i % 50}\n" for i in range(3000))).encode(),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_input_gives_a_table(case: str, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_bytes(ODD[case])
    ended = run("synth", tmp_path / "odd.csv", "-e", 2, "-o", tmp_path / "o.csv", *FLAGS)
    assert ended.exit_code == 0, ended.stderr
    assert len(pd.read_csv(tmp_path / "o.csv")) > 2500


def test_facts_and_model_take_all_of_a_cap_and_are_verified(file: Path, tmp_path: Path) -> None:
    book = tmp_path / "capped.ledger"
    sklar.Ledger.create(book, "clinic", 0.8, 1e-9)
    model = sklar.fit(file, epsilon=0.8, ledger=book, **QUICK)
    view = sklar.read_ledger(book)
    assert [fit.method for fit in view.fits] == ["kinds", "facts", "independent"]
    assert {fit.accountant for fit in view.fits} == {model.claim.accounting} == {"gaussian"}
    total = view.totals()
    assert 0.79 < total.epsilon <= 0.8 and 0.9e-9 < total.delta <= 1e-9
    model.save(tmp_path / "m.sklar")
    found = sklar.verify(tmp_path / "m.sklar", ledger=book)
    assert found.ok, str(found)
    with pytest.raises(OverspendError):
        sklar.fit(file, model.schema, epsilon=0.01, ledger=book, **QUICK)
