"""Comparisons: every bad peer is a row, killed runs continue, changed tables are refused, and all of it is private."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import OutputError, SchemaError, UsageError
from tests.hostile.checks import full_disk
from tests.pipeline.peers import NAP, peer

QUICK = {"metrics": ["tvd1"], "folds": 2, "jobs": 2}
HOSTILE = {
    "crash": "signal SIGSEGV",
    "nothing": "wrote no table",
    "garbage": "its table cannot be used",
    "columns": "its table cannot be used",
    "few": "it wrote 3 rows instead of 60",
    "empty": "an empty file",
    "pipe": "not a regular file",
    "hang": "within 8 seconds",
    # On a busy machine it may meet the other limit first.
    "greedy": "more than 0.3 GB|within 8 seconds",
    "missing": "could not be started",
}


def table(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return pd.DataFrame({"key": range(rows), "age": age, "old": np.where(age > 50, "yes", "no"), "pay": age * 1.5})


SCHEMA = sklar.Schema(
    {
        "key": sklar.Id(),
        "age": sklar.Integer(16, 100),
        "old": sklar.Category(["no", "yes"]),
        "pay": sklar.Real(0, 200, nullable=True),
    }
)


def sleepers() -> int:
    """Processes of the hanging peer that are still there."""
    lines = subprocess.run(["ps", "-axo", "args="], capture_output=True, text=True, check=False).stdout.splitlines()
    return sum(line.strip() == f"sleep {NAP}" for line in lines)


@pytest.mark.slow
def test_every_hostile_peer_is_a_row_and_a_good_one_is_ranked(tmp_path: Path) -> None:
    """One comparison with all of them; a second call finds everything done and starts no process."""
    table().head(3).to_parquet(tmp_path / "few.parquet")
    table()[["key", "pay"]].to_parquet(tmp_path / "columns.parquet")
    names = [name for name in HOSTILE if name != "missing"]
    peers = {name: peer(tmp_path, name) for name in ("copy", "vandal", *names)} | {"missing": "/nonexistent/x"}
    settings = {**QUICK, "peers": peers, "peer_timeout": 8.0, "peer_memory": 0.3, "output": tmp_path / "out"}
    settings |= {"attacks": ["copies"]}
    found = sklar.compare(table(), SCHEMA, ["independent", "plain-gaussian"], [1.0], **settings)
    assert sleepers() == 0
    frame = found.frame()
    assert len(frame) == 2 * (2 + len(peers))
    for name, reason in HOSTILE.items():
        rows = frame[frame["system"] == name]
        assert (rows["status"] == "failed").all() and rows["reason"].str.contains(reason).all(), list(rows["reason"])
        assert rows["tvd1"].isna().all()
    good = frame[frame["system"].isin(["copy", "vandal"])]
    assert (good["copies.exact_copies"] == 1).all()
    assert (frame[frame["kind"] != "peer"]["copies.exact_copies"] < 1).all()
    assert (good["tvd1"] == 0).all() and (good["rows"] == 60).all()
    assert frame[frame["system"] == "copy"]["promise"].unique() == ["its own statement: copies all <b>"]
    assert frame[frame["system"] == "plain-gaussian"]["epsilon"].isna().all()
    ranks = {s.system: s.rank for s in found.standings(1.0, found.measures[0])}
    assert ranks["plain-gaussian"] is None and ranks["copy"] == 1 and ranks["crash"] is None
    points = {p.name: p.risk[0] for p in found.tradeoffs["copies"].points}
    assert points["copy, 1"] == points["vandal, 1"] == 1 > max(points["independent, 1"], points["plain-gaussian"])
    assert (tmp_path / "out" / "tradeoff-copies.svg").read_text().count("<circle") == 4
    _check_folder(tmp_path / "out", found)
    began = time.process_time()
    again = sklar.compare(table(), SCHEMA, ["independent", "plain-gaussian"], [1.0], **settings)
    assert again.frame().equals(frame)
    assert time.process_time() - began < 5


def _check_folder(folder: Path, found: sklar.results.Compared) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "schema.toml":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert not list((folder / "work").iterdir())
    assert "about to crash" in (folder / "logs" / "crash-1-fold0.log").read_text()
    assert pd.read_parquet(folder / "results.parquet").equals(found.frame())
    assert len(pd.read_csv(folder / "results.csv")) == len(found.rows)
    page = (folder / "compare.custodian.html").read_text()
    for words in (
        "not covered by the claim",
        "stand-in",
        "NO DP GUARANTEE",
        "wrote no table",
        "copies all &lt;b&gt;",
        "undominated",
    ):
        assert words in page
    assert not [word for word in ("<script", 'src="http', 'href="http', "@import", "url(") if word in page]


RUN = """
import sys, sklar
data, toml, out, peer, count = sys.argv[1:]
sklar.compare(data, toml, ["plain-gaussian"], [1.0], 3, metrics=["tvd1"], jobs=1, output=out, peers={"slow": peer})
"""
SLOW = """
import os, shutil, sys, time
place = {place!r}
with open(place, "a") as file: file.write("x")
if os.path.getsize(place) == 2: time.sleep(987)
shutil.copy(sys.argv[1], sys.argv[6])
"""


@pytest.mark.slow
def test_a_killed_comparison_continues(tmp_path: Path) -> None:
    """Kill -9 while the second run of a peer hangs: its processes end, and a second start does only what is missing."""
    table().to_csv(tmp_path / "t.csv", index=False)
    SCHEMA.write(tmp_path / "t.toml")
    (tmp_path / "slow.py").write_text(SLOW.format(place=str(tmp_path / "runs")))
    words = [str(tmp_path / name) for name in ("t.csv", "t.toml", "out")] + [
        f"{sys.executable} -S {tmp_path}/slow.py",
        "1",
    ]
    started = subprocess.Popen([sys.executable, "-c", RUN, *words])
    until = time.monotonic() + 300
    while not (tmp_path / "runs").exists() or (tmp_path / "runs").stat().st_size < 2:
        assert time.monotonic() < until and started.poll() is None
        time.sleep(0.05)
    with pytest.raises(UsageError, match="another comparison is running"):
        sklar.compare(tmp_path / "t.csv", tmp_path / "t.toml", ["independent"], [1.0], 3, output=tmp_path / "out")
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    _wait_until_gone(str(tmp_path / "slow.py"))
    cells = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "cells").iterdir()}
    assert len(cells) == 3  # fold 0: both systems; fold 1: the method
    (tmp_path / "out" / "cells" / "half.json").write_text('{"status": "o')
    assert subprocess.run([sys.executable, "-c", RUN, *words], check=False).returncode == 0
    assert (tmp_path / "runs").stat().st_size == 4  # the unfinished one again, and the third
    assert all(path.stat().st_mtime_ns == when for path, when in cells.items())
    assert (pd.read_csv(tmp_path / "out" / "results.csv")["status"] == "ok").all()
    _refuses_what_changed(tmp_path)


@pytest.mark.slow
def test_ctrl_c_ends_the_peer_and_keeps_what_is_done(tmp_path: Path) -> None:
    """As in a terminal, where the whole group of processes gets the signal."""
    table().to_csv(tmp_path / "t.csv", index=False)
    SCHEMA.write(tmp_path / "t.toml")
    (tmp_path / "slow.py").write_text(SLOW.format(place=str(tmp_path / "runs")))
    words = ["-m", "sklar", "compare", "t.csv", "-s", "t.toml", "--methods", "independent", "--epsilons", "1"]
    words += ["--folds", "2", "--metrics", "tvd1", "-j", "1", "-o", "out"]
    words += ["--peer", f"slow={sys.executable} -S {tmp_path}/slow.py"]
    started = subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 300
    while not (tmp_path / "runs").exists() or (tmp_path / "runs").stat().st_size < 2:
        assert time.monotonic() < until and started.poll() is None
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    _, told = started.communicate(timeout=300)
    assert started.returncode == 130
    assert "Traceback" not in told
    _wait_until_gone(str(tmp_path / "slow.py"))
    assert len(list((tmp_path / "out" / "cells").iterdir())) >= 2  # fold 0: both systems
    again = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "runs").stat().st_size == 3  # the first, the interrupted one, and that one again


def _wait_until_gone(words: str) -> None:
    until = time.monotonic() + 60
    while words in subprocess.run(["ps", "-axo", "args="], capture_output=True, text=True, check=False).stdout:
        assert time.monotonic() < until, "the peer outlived the comparison"
        time.sleep(0.05)


def _refuses_what_changed(place: Path) -> None:
    """The same folder with another table, and with another schema."""
    settings = {**QUICK, "folds": 3, "output": place / "out"}
    os.utime(place / "t.csv", (1, 1))  # Another time alone is no other table.
    sklar.compare(place / "t.csv", SCHEMA, ["plain-gaussian"], [1.0], **settings)
    changed = table()
    changed.loc[5, "age"] += 1
    changed.to_csv(place / "t.csv", index=False)
    before = {path: path.read_bytes() for path in (place / "out" / "cells").iterdir()}
    with pytest.raises(UsageError, match="the table has changed since the comparison"):
        sklar.compare(place / "t.csv", SCHEMA, ["independent"], [1.0], **settings)
    other = sklar.Schema({"age": sklar.Integer(16, 100)})
    with pytest.raises(UsageError, match="another schema"):
        sklar.compare(place / "t.csv", other, ["independent"], [1.0], **settings)
    assert before == {path: path.read_bytes() for path in (place / "out" / "cells").iterdir()}


@pytest.mark.slow
def test_a_full_disk_and_a_cell_beyond_its_time_are_told_and_the_run_continues_with_more(tmp_path: Path) -> None:
    settings = {**QUICK, "output": tmp_path / "out", "jobs": 1}
    for room in (0, 150, 3000):
        with full_disk(room), pytest.raises(OutputError, match="cannot write"):
            sklar.compare(table(), SCHEMA, ["plain-gaussian"], [1.0], **settings)
        assert not list((tmp_path / "out").rglob("*.tmp"))
    settings["seed"] = 1  # Other cells: the disk had room for those above, but not for their table.
    found = sklar.compare(table(), SCHEMA, ["plain-gaussian"], [1.0], **settings, timeout=0.01)
    assert [row.result["reason"] for row in found.failures] == [
        "it did not end within 0.01 seconds and was stopped"
    ] * 2
    json.dumps(found.to_dict(), allow_nan=False)
    assert not sklar.compare(table(), SCHEMA, ["plain-gaussian"], [1.0], **settings).failures


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"methods": ["nonsense"]}, "nonsense"),
        ({"methods": []}, "at least one"),
        ({"methods": ["vine", "vine"]}, "twice"),
        ({"methods": {"mine": {"method": "vine", "nonsense": 1}}}, "nonsense"),
        ({"epsilons": [0.0]}, "above 0"),
        ({"epsilons": []}, "at least one epsilon"),
        ({"folds": 1}, "at least 2"),
        ({"folds": 50}, "too few rows"),
        ({"target": "nobody"}, "nobody"),
        ({"metrics": ["nonsense"]}, "nonsense"),
        ({"metrics": ["learning"]}, "target"),
        ({"peers": {"vine": "x"}}, "twice"),
        ({"peer_memory": 0}, "peer_memory"),
        ({"jobs": 0}, "jobs"),
        ({"learners": ["nonsense"]}, "nonsense"),
        ({"attacks": ["shadow"]}, "no attack on tables"),
        ({"attacks": ["attribute"]}, "needs a sensitive column"),
        ({"delta": 2.0}, "delta"),
    ],
)
def test_refusals_come_before_any_work(given: dict[str, object], words: str, tmp_path: Path) -> None:
    settings = {"methods": ["vine"], "epsilons": [1.0], "folds": 2, "output": tmp_path / "out", **given}
    with pytest.raises(sklar.errors.SklarError, match=words):
        sklar.compare(table(60), SCHEMA, **settings)  # type: ignore[arg-type]


def test_drafted_facts_and_foreign_folders_are_refused(tmp_path: Path) -> None:
    draft = sklar.draft_schema(table())
    with pytest.raises(SchemaError, match="from-rows"):
        sklar.compare(table(), draft, ["independent"], [1.0], **QUICK)
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(OutputError, match="not empty"):
        sklar.compare(table(), SCHEMA, ["independent"], [1.0], **QUICK, output=tmp_path)
