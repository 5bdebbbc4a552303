from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

QUICK = ["-m", "independent", "-O", "repair=clip", "--delta", "0"]


@pytest.fixture
def sklar():
    """The command inside this process: the same code, without the seconds that imports take."""
    from typer.testing import CliRunner

    from sklar.cli.main import app

    def run(*words: object, cwd: Path | None = None) -> Ended:
        with contextlib.chdir(cwd or Path.cwd()):
            result = CliRunner().invoke(app, [str(word) for word in words])
        return Ended(result.exit_code, result.stdout, result.stderr)

    return run


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_fit_sample_and_inspect(sklar, work: Path):
    fitted = sklar(
        "fit", "people.csv", "-s", "people.toml", "-e", 1, *QUICK[:4],
        "--ledger", "people.ledger", "-o", "m.sklar", "--json", cwd=work,
    )  # fmt: skip
    assert fitted.code == 0, fitted.err
    record = json.loads(fitted.out)["claim_record"]
    assert record["epsilon"] == pytest.approx(1) and record["ledger"]["fits"] == 2
    # How often rows are read depends on their exact number: told beside what may be published.
    assert "passes" not in json.loads(fitted.out) and "rows were read" in fitted.err
    inspected = sklar("inspect", "m.sklar", cwd=work)
    assert inspected.code == 0 and "epsilon = 1" in inspected.out and "diagnosis" in inspected.out
    facts = json.loads(sklar("inspect", "m.sklar", "--json", cwd=work).out)
    columns = set(read((work / "people.csv").read_text())[0]) - {"person", "admitted"}
    parts = {f"admitted ({part})" for part in ("year", "month", "weekday", "hour")}
    assert {margin["column"] for margin in facts["margins"]} == columns | parts
    sampled = sklar("sample", "m.sklar", "-n", 50, "-o", "out.parquet", cwd=work)
    assert sampled.code == 0 and sampled.out == "50 rows are in out.parquet.\n"
    assert pq.read_table(work / "out.parquet").num_rows == 50


def test_synth_in_one_go(sklar, work: Path):
    (work / "people.ledger").unlink()  # it goes by the name of the rows, and would have to be named
    ended = sklar(
        "synth", "people.csv", "-s", "people.toml", "-e", 1, *QUICK, "-o", "-", "--rows", 20,
        "--seed", 3, "--model", "kept.sklar", cwd=work,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert len(read(ended.out)) == 20 and "epsilon = 1" in ended.err
    assert (work / "people.csv.ledger").exists()
    again = sklar("sample", "kept.sklar", "-n", 20, "--seed", 3, "-o", "-", cwd=work)
    assert again.out == ended.out


def test_same_seed_same_bytes(sklar, made: Path, tmp_path: Path):
    for name in ("a", "b"):
        for suffix in ("csv", "parquet"):
            out = tmp_path / f"{name}.{suffix}"
            assert sklar("sample", made / "people.sklar", "-n", 200, "--seed", 7, "-o", out).code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    other = sklar("sample", made / "people.sklar", "-n", 200, "--seed", 8, "-o", "-")
    assert other.out.encode() != (tmp_path / "a.csv").read_bytes()


def test_large_samples_are_streamed_and_seeded_alike(sklar, made: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("sklar.pipeline.sampling.write.MAX_ROWS_IN_MEMORY", 100)
    monkeypatch.setattr("sklar.sample.draw.BLOCK_ROWS", 64)
    words = ["sample", made / "people.sklar", "-n", 250, "--seed", 7, "-o"]
    first, second = sklar(*words, "-"), sklar(*words, tmp_path / "out.csv")
    assert first.code == second.code == 0, first.err + second.err
    assert first.out == (tmp_path / "out.csv").read_text()
    assert [row["person"] for row in read(first.out)] == [f"P{i}" for i in range(1, 251)]


def test_conditions(sklar, made: Path):
    ended = sklar(
        "sample", made / "people.sklar", "-n", 40, "-o", "-",
        "--given", "sex=F", "--given", "age=30..40", "--given", "region=Midvale,Eastmoor", "--given", "smoker=null",
    )  # fmt: skip
    rows = read(ended.out)
    assert len(rows) == 40 and {row["sex"] for row in rows} == {"F"} and {row["smoker"] for row in rows} == {""}
    assert {row["region"] for row in rows} == {"Midvale", "Eastmoor"}
    assert all(30 <= int(row["age"]) <= 40 for row in rows)


def test_rows_from_a_query(sklar, work: Path):
    (work / "people.ledger").unlink()
    words = ["-s", "people.toml", "-e", 1, *QUICK, "-o", "q.sklar"]
    ended = sklar("fit", "people.csv", "--sql", "from data where try_cast(age as int) < 60", *words, cwd=work)
    assert ended.code == 0, ended.err
    said = "the table is what this query gives: from data where try_cast(age as int) < 60"
    assert said in " ".join(ended.out.split())
    guessing = sklar("fit", "--sql", "select * from 'people.csv'", *words, "--force", cwd=work)
    assert guessing.code == 1 and "write FROM data" in guessing.err
    assert sklar("fit", "-s", "people.toml", "-e", 1, "-o", "q.sklar", cwd=work).code == 2


def test_formulas_in_labels_are_disarmed_on_request(sklar, tmp_path: Path):
    (tmp_path / "t.csv").write_text("a,b\n" + "=1+1,-5\n@x,3\n" * 200)
    (tmp_path / "t.toml").write_text(
        '[columns.a]\nkind = "category"\nvalues = ["=1+1", "@x"]\n'
        '[columns.b]\nkind = "integer"\nlower = -9\nupper = 9\n'
    )
    words = ["synth", "t.csv", "-s", "t.toml", "-e", 5, *QUICK, "-n", 300]
    ended = sklar(*words, "--model", "t.sklar", "-o", "plain.csv", cwd=tmp_path)
    assert ended.code == 0, ended.err
    plain = {row["a"] for row in read((tmp_path / "plain.csv").read_text())}
    safe = read(sklar("sample", "t.sklar", "-n", 300, "-o", "-", "--safe-csv", cwd=tmp_path).out)
    assert {"=1+1", "@x"} <= plain
    assert {"'=1+1", "'@x"} <= {row["a"] for row in safe}
    assert any(row["b"].startswith("-") for row in safe)


def test_plan_touches_no_rows(sklar, made: Path, tmp_path: Path):
    (tmp_path / "people.toml").write_bytes((made / "people.toml").read_bytes())
    ended = sklar("plan", "people.toml", "-e", 1, "--rows", 30_000, "-m", "independent", "--json", cwd=tmp_path)
    told = json.loads(ended.out)["fits"][0]
    assert ended.code == 0 and told["lines"] and all(line["std"] > 0 for line in told["lines"])
    assert 0 < told["expected"]["shares"] < 0.1
    assert [path.name for path in tmp_path.iterdir()] == ["people.toml"]


def test_schema_check(sklar, work: Path):
    good = sklar("schema", "check", "people.toml", "people.csv", cwd=work)
    assert good.code == 0 and "no faults" in good.out and "1 more" in good.out
    lines = (work / "people.csv").read_text().splitlines()
    (work / "headless.csv").write_text("\n".join(lines[1:]))
    bad = sklar("schema", "check", "people.toml", "headless.csv", cwd=work)
    assert bad.code == 1 and "header" in bad.err
    (work / "short.csv").write_text("age,sex\n40,F\n")
    short = sklar("schema", "check", "people.toml", "short.csv", cwd=work)
    assert short.code == 1 and "'region'" in short.err
    cells = lines[1].split(",")
    assert not any(cell in bad.err for cell in (cells[0], cells[7], cells[10], cells[13]))
    (work / "faulty.toml").write_text(
        '[columns.a]\nkind = "integer"\nlower = 5\nupper = 3\n[columns.b]\nkind = "odd"\n'
    )
    faulty = sklar("schema", "check", "faulty.toml", cwd=work)
    assert faulty.code == 1 and "'a'" in faulty.err and "'b'" in faulty.err


def test_a_ledger_answers_in_epsilon(sklar, work: Path):
    fit = ["fit", "people.csv", "-s", "people.toml", "-m", "independent", "-O", "repair=clip", "-o", "m.sklar"]
    fit += ["--ledger", "people.ledger"]
    shown = sklar("ledger", "show", "people.ledger", cwd=work)
    told = re.search(r"^Left: one more fit of epsilon up to ([\d.]+) at delta 1e-9\.$", shown.out, re.MULTILINE)
    assert shown.code == 0 and told is not None, shown.out
    left = json.loads(sklar("ledger", "show", "people.ledger", "--json", cwd=work).out)["left"]
    assert left["delta"] == 1e-9 and float(told[1]) == pytest.approx(left["epsilon"], rel=0.01)
    refused = sklar(*fit, "-e", 1.2 * left["epsilon"], cwd=work)
    assert refused.code == 1 and f" leaves {told[0][6:-1]}. In detail:" in refused.err
    assert sklar(*fit, "-e", told[1], cwd=work).code == 0
    pure = sklar("ledger", "show", "people.ledger", "--delta", "0", cwd=work).out
    assert "at delta 0." in pure


def test_ledgers(sklar, work: Path):
    created = sklar("ledger", "create", "new.ledger", "--name", "ours", "-e", 1, "--delta", 1e-9, cwd=work)
    assert created.code == 0 and "'ours'" in created.out
    assert sklar("ledger", "create", "new.ledger", "--name", "ours", cwd=work).code == 1
    shown = json.loads(sklar("ledger", "show", "people.ledger", "--json", cwd=work).out)
    assert shown["fits"][0]["state"] == "finished" and shown["total"]["epsilon"] <= 2
    verified = json.loads(sklar("ledger", "verify", "people.ledger", "--json", cwd=work).out)
    assert verified["valid"] and verified["head"] == shown["head"]
    text = (work / "people.ledger").read_text()
    (work / "people.ledger").write_text(text.replace('"independent"', '"vine"'))
    assert sklar("ledger", "verify", "people.ledger", cwd=work).code == 1


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom sklar.cli.main import app\n"
        "heavy = {'numpy', 'scipy', 'pyarrow', 'numba', 'opendp', 'pandas', 'polars', 'duckdb', 'dp_accounting'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_model_is_loaded_without_what_fits_and_estimates(made):
    code = (
        f"import sys, sklar\nsklar.load({str(made / 'people.sklar')!r})\n"
        "heavy = {'sklar.methods.registry', 'sklar.inference.estimates', 'scipy.optimize', 'opendp', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_release_is_used_without_what_fits_and_what_baselines_need(made, tmp_path):
    """Whoever receives a model needs neither OpenDP nor pyvinecopulib: here neither can be imported."""
    model = made / "people.sklar"
    commands = [
        ["inspect", model], ["sample", model, "-n", 20, "-o", tmp_path / "rows.csv"], ["estimate", model, "mean(age)"],
        ["report", model, "-o", tmp_path / "people.public.html"], ["verify", model], ["methods"],
    ]  # fmt: skip
    code = f"""
import sys
sys.modules["opendp"] = sys.modules["pyvinecopulib"] = None
from typer.testing import CliRunner
from sklar.cli.main import app
for words in {[[str(word) for word in words] for words in commands]}:
    ended = CliRunner().invoke(app, words)
    print(words[0], ended.exit_code, ended.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [line.split() for line in done.stdout.splitlines() if line] == [[words[0], "0"] for words in commands]
