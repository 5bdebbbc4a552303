"""The open benchmark: facts of tables, runs that are kept and resumed, time limits, ranks with ties, and the page."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import sklar
from benchmarks.open import entries, page, runs, submission, tools
from benchmarks.open.listed import CHECKSUMS, LISTED
from benchmarks.open.tables import OpenTable, checksum, read_facts
from benchmarks.open.tables import _facts as facts_of  # pyright: ignore[reportPrivateUsage]

FRAME = pd.DataFrame({"age": np.arange(300) % 60, "sex": ["F", "M", "F"] * 100})
SCHEMA = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])})
TABLE = OpenTable(
    name="small", frame=FRAME, test=None, schema=SCHEMA, target=None, tuned=False, about="made", sha256=checksum(FRAME)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SKLAR_RUNS", str(tmp_path / "runs"))
    return tmp_path


def test_the_short_form_of_facts_is_read() -> None:
    text = "age:18..89? pay:-1.5..1.5 race:1. White|2. Black id:#1|2|3? when:@2017-01-01..2017-12-31 town:*? ok:no|yes"
    found = {name: facts_of(words, pd.Series(["b", None, "a"])) for name, words in read_facts(text).items()}
    assert found["age"] == sklar.Integer(18, 89, nullable=True) and found["pay"] == sklar.Real(-1.5, 1.5)
    assert found["race"] == sklar.Category(["1. White", "2. Black"])
    assert found["id"] == sklar.Category([1, 2, 3], nullable=True) and found["ok"] == sklar.Category(["no", "yes"])
    assert found["town"] == sklar.Category(["a", "b"], nullable=True) and found["when"].kind == "datetime"


def test_every_listed_table_has_facts_a_checksum_and_its_target_among_its_columns() -> None:
    assert set(LISTED) == set(CHECKSUMS) and len(LISTED) >= 20
    for name, one in LISTED.items():
        columns = read_facts(one.columns)
        assert len(columns) >= 4 and one.target in (None, *columns), name
        assert all(facts_of(words, pd.Series(["1"])).faults() == [] for words in columns.values()), name
    assert sum(not one.tuned for one in LISTED.values()) >= 20


def script(code: str) -> tools.Tool:
    """A tool that runs this code with the words of its task."""
    return replace(
        tools.TOOLS["independent"], command=lambda words: [sys.executable, "-c", code, *words], version=lambda: "1",
        settings={"code": code},
    )  # fmt: skip


COPY = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[6])"


def test_a_run_is_made_once_and_another_epsilon_table_or_version_is_another_run(monkeypatch: Any) -> None:
    monkeypatch.setitem(tools.TOOLS, "copy", script(COPY))
    planned = runs.planned(TABLE, "copy", 1.0, 0)
    assert planned is not None and runs.kept(planned, 60) is None
    made = runs.make(planned, TABLE, 60)
    assert made.status == "ok" and made.cpu > 0 and made.memory > 1 and runs.kept(planned, 600) == made
    assert pq.read_table(runs.store() / made.key / "rows.parquet").num_rows == len(FRAME)
    others = [
        runs.planned(TABLE, "copy", 3.0, 0), runs.planned(TABLE, "copy", 1.0, 1),
        runs.planned(replace(TABLE, sha256="other"), "copy", 1.0, 0), replace(planned, version="2"),
    ]  # fmt: skip
    assert all(other is not None and runs.kept(other, 60) is None for other in others)


def test_what_fails_or_takes_too_long_is_kept_with_its_reason_and_a_longer_limit_tries_again(monkeypatch: Any) -> None:
    monkeypatch.setitem(tools.TOOLS, "slow", script("import time; time.sleep(60)"))
    monkeypatch.setitem(tools.TOOLS, "broken", script("raise SystemExit('no such thing')"))
    monkeypatch.setitem(tools.TOOLS, "idle", script("pass"))
    slow = runs.planned(TABLE, "slow", 1.0, 0)
    assert slow is not None
    late = runs.make(slow, TABLE, 0.3)
    assert late.status == "timeout" and late.seconds < 30 and late.limit == 0.3
    assert runs.kept(slow, 0.2) == late and runs.kept(slow, 1.0) is None
    for tool, says in (("broken", "no such thing"), ("idle", "it wrote no rows")):
        planned = runs.planned(TABLE, tool, 1.0, 0)
        assert planned is not None
        failed = runs.make(planned, TABLE, 60)
        assert failed.status == "failed" and says in failed.says
        assert not (runs.store() / failed.key / "rows.parquet").exists()


def test_an_interrupted_run_leaves_nothing_and_is_made_again(monkeypatch: Any) -> None:
    monkeypatch.setitem(tools.TOOLS, "copy", script(COPY))
    planned = runs.planned(TABLE, "copy", 1.0, 0)
    assert planned is not None
    with monkeypatch.context() as broken:
        broken.setattr(runs.json, "dumps", lambda *words, **more: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            runs.make(planned, TABLE, 60)
    assert runs.kept(planned, 60) is None and list(runs.store().iterdir()) == []
    assert runs.make(planned, TABLE, 60).status == "ok"


@pytest.mark.slow
def test_a_run_of_sklar_leaves_a_release(folder: Path) -> None:
    planned = runs.planned(TABLE, "independent", 1.0, 0)
    assert planned is not None
    made = runs.make(planned, TABLE, 300)
    assert made.status == "ok", made.says
    assert sklar.verify(runs.store() / made.key / "run.release.zip").ok


def test_results_that_were_made_elsewhere_stay_and_only_the_present_version_counts(
    folder: Path, monkeypatch: Any
) -> None:
    elsewhere = [result("copy", 1.0, 900.0), result("copy", 10.0, 910.0), result("mst_dpmm", 1.0, 920.0)]
    monkeypatch.setattr(entries, "RESULTS", folder / "open.jsonl")
    entries.RESULTS.write_text("".join(json.dumps({**line, "table": "small"}) + "\n" for line in elsewhere))
    monkeypatch.setattr(entries, "load", lambda name: TABLE)
    monkeypatch.setitem(tools.TOOLS, "copy", script(COPY))
    for version, score in (("0", 930.0), ("1", 940.0)):
        planned = runs.planned(TABLE, "copy", 1.0, 0)
        assert planned is not None
        made = runs.make(replace(planned, version=version), TABLE, 60)
        known = {"version": entries.scoring_version(), "scores": {"k_marginal": score}}
        (runs.store() / made.key / "scores.json").write_text(json.dumps(known))
    found = [(line["tool"], line["epsilon"], line["scores"]["k_marginal"]) for line in entries.collect()]
    assert found == [("copy", 1.0, 940.0), ("copy", 10.0, 910.0), ("mst_dpmm", 1.0, 920.0)]
    assert [json.loads(line)["tool"] for line in entries.RESULTS.read_text().splitlines()] == [one[0] for one in found]


def result(tool: str, epsilon: float | None, score: float, repetition: int = 0, **more: Any) -> dict[str, Any]:
    scores = {"k_marginal": score, "tvd2": 0.1, "real_rows_share": 0.2}
    facts = {"table": "t", "tool": tool, "epsilon": epsilon, "repetition": repetition, "status": "ok", "cpu": 3.0,
             "version": "1.0"}  # fmt: skip
    return {**facts, "memory": 100.0, "rows": 9, "columns": 2, "tuned": False, "about": "made", "limit": 9.0,
            "scores": scores, **more}  # fmt: skip


def test_ranks_share_places_within_two_standard_errors() -> None:
    cells = page.group([
        result("sklar", 1.0, 980.0), result("sklar", 1.0, 979.6, 1), result("mst_dpmm", 1.0, 979.5),
        result("aim_dpmm", 1.0, 960.0), result("sdv_gaussian", None, 950.0),
    ])["t", 1.0]  # fmt: skip
    assert [cell.tool for cell in cells] == ["sklar", "mst_dpmm", "aim_dpmm", "sdv_gaussian"]
    deviation = page.relative_error(cells)
    assert deviation == pytest.approx(np.std(np.log([20.0, 20.4]), ddof=1))
    assert page.rank(cells, deviation) == [1, 1, 3, 4]


@pytest.mark.slow
def test_the_page_says_first_where_sklar_is_behind_and_what_was_not_run(folder: Path, monkeypatch: Any) -> None:
    lines = [
        result("sklar", 1.0, 940.0), result("sklar", 1.0, 941.0, 1), result("independent", 1.0, 900.0),
        result("mst_dpmm", 1.0, 970.0), result("sklar", 10.0, 990.0), result("independent", 10.0, 905.0),
        result("mst_dpmm", 10.0, 950.0), result("aim_dpmm", 1.0, 0.0, status="timeout", scores={}),
    ]  # fmt: skip
    (folder / "open.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(page, "PAGE", folder / "benchmark.md")
    monkeypatch.setattr(page, "PLOT", folder / "benchmark.svg")
    monkeypatch.setattr(page, "read_results", lambda: lines)
    text = page.write_page().read_text()
    first = text.index("| t | 1 | 59.5 | MST (dpmm) | 30.0 |")
    assert (
        first < text.index("## Sklar on every table") and "| 10 | 1 | 0 | 0 |" in text and "| 1 | 0 | 0 | 1 |" in text
    )
    assert "AIM (dpmm) exceeded 9 s on t at epsilon 1" in text and "google/dpsynth" in text
    assert "and their runs: 1.0 (3); Sklar 1.0 (5)." in " ".join(text.split())
    assert "<svg" in (folder / "benchmark.svg").read_text()


def test_without_an_environment_a_peer_is_not_run(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("SKLAR_PEERS", str(folder / "none"))
    tools.TOOLS["mst_smartnoise"].version.cache_clear()  # type: ignore[attr-defined]
    assert runs.planned(TABLE, "mst_smartnoise", 1.0, 0) is None
    tools.TOOLS["mst_smartnoise"].version.cache_clear()  # type: ignore[attr-defined]


def test_without_runs_on_its_excerpts_nist_gets_the_abstract_only(folder: Path) -> None:
    assert submission.prepare(folder / "nist") == [folder / "nist" / "abstract.txt"]
