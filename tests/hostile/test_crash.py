"""Kill -9 at every step: the ledger still reads, covers all that was released, and the fit resumes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import sklar
from sklar.accounting.ledger import create_ledger, read_ledger
from sklar.errors import OverspendError
from tests.contracts.tables import people, schema
from tests.tiers import slow_unless

# Runs a fit that kills itself at the given moment of the given step.
DRIVER = """
import os, signal, sys
import sklar, sklar.private.recorder as r
moment, step, data, toml, ledger, out = sys.argv[1:]
def die(): os.kill(os.getpid(), int(os.environ.get("SENT", signal.SIGKILL)))
real_charge, real_append, real_note = r.Recorder.charge, r.append_synced, r.FitAccount.record_release
def charge(self, events, label, request):
    place = len(self.steps)
    if moment == "before charge" and place == int(step): die()
    number = real_charge(self, events, label, request)
    if moment == "after charge" and place == int(step): die()
    return number
def append(path, line):
    place = sum(1 for _ in open(path)) if os.path.exists(path) else 0
    if moment == "half a release" and place == int(step):
        open(path, "a").write(line[: len(line) // 2]); die()
    real_append(path, line)
    if moment == "after release" and place == int(step): die()
def note(self, number, digest):
    if moment == "before its hash" and number == int(step): die()
    real_note(self, number, digest)
    if moment == "after its hash" and number == int(step): die()
r.Recorder.charge, r.append_synced, r.FitAccount.record_release = charge, append, note
if "SENT" in os.environ:
    from sklar.cli.main import app
    app(["fit", data, "-s", toml, "-m", "independent", "-e", "1", "--ledger", ledger, "--new-ledger", "-o", out])
method = os.environ.get("METHOD", "independent")
sklar.fit(data, toml, method=method, epsilon=1.0, ledger=ledger, new_ledger=True).save(out, force=True)
"""
MOMENTS = ["before charge", "after charge", "before its hash", "after its hash", "half a release", "after release"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    people(300).to_parquet(tmp_path / "people.parquet")
    schema().write(tmp_path / "people.toml")
    return tmp_path


def run(place: Path, moment: str, step: int) -> int:
    files = [str(place / name) for name in ("people.parquet", "people.toml", "people.ledger", "m.sklar")]
    return subprocess.run([sys.executable, "-c", DRIVER, moment, str(step), *files], check=False).returncode


@pytest.mark.slow
@pytest.mark.parametrize(("step", "moment"), [(i % 2, moment) for i, moment in enumerate(MOMENTS)])
def test_a_killed_fit_resumes(place: Path, moment: str, step: int) -> None:
    assert run(place, moment, step) == -signal.SIGKILL
    view = read_ledger(place / "people.ledger")
    (fit,) = view.unfinished
    kept = _released_lines(place, fit.digests)
    assert run(place, "never", 0) == 0
    after = read_ledger(place / "people.ledger")
    assert len(after.fits) == 1
    assert after.fits[0].closed
    # A charge without a hash is used; only a release that was noted and not stored whole is charged again.
    lost = moment in ("after its hash", "half a release")
    assert after.fits[0].repeated == lost
    assert after.totals().epsilon > 1.0 if lost else after.totals().epsilon <= 1.0 + 1e-6
    model = sklar.load(place / "m.sklar")
    assert [_line(step) for step in model.releases[: len(kept)]] == kept
    assert (model.claim.epsilon or 0) >= after.totals().epsilon - 1e-6
    assert model.claim.repeated == lost == ("rests on the crash" in str(model.claim))
    assert not list(place.glob("*.releases")) and not list(place.glob("*.lock"))


def test_a_repeated_step_is_refused_when_the_cap_forbids_it(place: Path) -> None:
    create_ledger(place / "people.ledger", "people", epsilon=1.0, delta=1e-9)
    assert run(place, "after its hash", 1) == -signal.SIGKILL
    with pytest.raises(OverspendError):
        sklar.fit(place / "people.parquet", schema(), method="independent", epsilon=1.0, ledger=place / "people.ledger")
    assert read_ledger(place / "people.ledger").totals().epsilon <= 1.0 + 1e-6


@pytest.mark.slow
def test_a_charge_that_was_never_answered_is_used_under_a_full_cap(place: Path) -> None:
    create_ledger(place / "people.ledger", "people", epsilon=1.0, delta=1e-9)
    for _ in range(3):
        assert run(place, "after charge", 1) == -signal.SIGKILL
    before = (place / "people.ledger").read_bytes()
    assert run(place, "before its hash", 1) == -signal.SIGKILL
    assert (place / "people.ledger").read_bytes() == before  # the charge stands, and stands once
    assert run(place, "never", 0) == 0
    assert sklar.load(place / "m.sklar").claim.epsilon == 1.0


@pytest.mark.slow
def test_a_vine_that_is_killed_in_every_step_costs_what_it_was_given(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kill but the first ends a resumed fit, most of them between a charge and its release."""
    monkeypatch.setenv("METHOD", "vine")
    kills = 0
    for step, moment in product(range(12), ("after charge", "before its hash", "after release")):
        code = run(place, moment, step)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        kills += 1
    (fit,) = read_ledger(place / "people.ledger").fits
    assert kills >= 9 and fit.closed and not fit.repeated
    assert sklar.load(place / "m.sklar").claim.epsilon == 1.0


@pytest.mark.parametrize(
    ("moment", "recorded"),
    slow_unless(
        ("after charge", 1).__eq__,
        [("after charge", 1), ("before its hash", 2), ("after its hash", 2), ("after release", 2)],
    ),
)
def test_ctrl_c_leaves_a_step_finished_or_not_begun(place: Path, moment: str, recorded: int) -> None:
    files = [str(place / name) for name in ("people.parquet", "people.toml", "people.ledger", "m.sklar")]
    command = [sys.executable, "-c", DRIVER, moment, "1", *files]
    ended = subprocess.run(
        command, env={**os.environ, "SENT": str(int(signal.SIGINT))}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 130 and "Traceback" not in ended.stderr
    assert f"{recorded} step{'s' if recorded > 1 else ''} of this fit" in ended.stderr
    assert "Run the same command to continue from there; nothing is charged twice." in ended.stderr
    (fit,) = read_ledger(place / "people.ledger").unfinished
    assert len(fit.digests) == len(_released_lines(place, fit.digests)) == recorded
    assert run(place, "never", 0) == 0
    after = read_ledger(place / "people.ledger")
    assert len(after.fits) == 1 and not after.fits[0].repeated and after.totals().epsilon <= 1.0 + 1e-6


@pytest.mark.slow
def test_two_processes_race_for_the_last_epsilon(place: Path) -> None:
    create_ledger(place / "people.ledger", "people", epsilon=1.0, delta=1e-9)
    data, facts = str(place / "people.parquet"), str(place / "people.toml")
    command = [sys.executable, "-m", "sklar", "fit", data, "-s", facts, "-e", "1", "--method", "independent"]
    command += ["--ledger", str(place / "people.ledger")]
    racers = [
        subprocess.Popen([*command, "-o", str(place / f"{i}.sklar")], stderr=subprocess.PIPE, text=True)
        for i in range(3)
    ]
    results = [(racer.communicate()[1], racer.returncode) for racer in racers]
    assert sorted(code for _, code in results) == [0, 1, 1]
    assert all("Traceback" not in text for text, _ in results)
    assert sum((place / f"{i}.sklar").exists() for i in range(3)) == 1
    assert read_ledger(place / "people.ledger").totals().epsilon <= 1.0 + 1e-6


@pytest.mark.slow
def test_a_second_process_does_not_resume_a_living_fit(place: Path) -> None:
    """The same fit started twice at once: two fits, each with its own reservation."""
    files = [str(place / name) for name in ("people.parquet", "people.toml", "people.ledger", "m.sklar")]
    both = [subprocess.Popen([sys.executable, "-c", DRIVER, "never", "0", *files]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(read_ledger(place / "people.ledger").fits) == 2


def _released_lines(place: Path, digests: dict[int, str]) -> list[str]:
    from sklar.release.measurements import hash_line

    lines = [line for path in place.glob("*.releases") for line in path.read_text().split("\n")]
    return [line for line in lines if hash_line(line) in digests.values()]


def _line(recorded: object) -> str:
    from sklar.release.measurements import encode_step

    line = encode_step(recorded)  # type: ignore[arg-type]
    assert json.loads(line)
    return line


def test_the_driver_kills_for_real(place: Path) -> None:
    assert os.name == "posix"
    assert run(place, "before charge", 0) == -signal.SIGKILL
    assert not (place / "m.sklar").exists()


@pytest.mark.slow
def test_an_unfinished_fit_is_not_resumed_when_the_rows_are_read_otherwise(place: Path) -> None:
    """Its releases are about other rows: another query, or other texts for null, is another fit."""
    assert run(place, "after release", 0) == -signal.SIGKILL
    settings = {"method": "independent", "epsilon": 1.0, "ledger": place / "people.ledger"}
    for read in (sklar.ReadOptions(null_values=["M"]), sklar.ReadOptions(sql="select * from data where sex = 'F'")):
        sklar.fit(place / "people.parquet", place / "people.toml", read=read, **settings)
        assert len(read_ledger(place / "people.ledger").unfinished) == 1
    sklar.fit(place / "people.parquet", place / "people.toml", **settings)
    assert read_ledger(place / "people.ledger").unfinished == ()
