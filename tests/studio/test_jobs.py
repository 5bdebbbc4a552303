"""Jobs are told from files: whoever is killed, the studio, the job or its command, ledger and page stay right.

Real commands in real processes; the fits are small, and take the seconds that imports take.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.accounting.ledger import FitRecord
from sklar.errors import UsageError
from sklar.studio import commands
from sklar.studio.commands import Work
from sklar.studio.folder import StudioFolder, TableEntry
from sklar.studio.jobs import STAGES, Jobs, StudioJob
from sklar.studio.timing import read_stages

PATIENCE = 600.0
ATTEMPTS = 6
"""A fit may end before it is struck, if this process has to wait; it will not do so six times running."""


def fitting(number: int) -> Work:
    """A fit, and something after it."""
    words = ("fit", "t.csv", "-s", "t.toml", "-e", "2", "--ledger", "t.ledger", "-o", f"t-{number}.sklar")
    return Work(kind="fit", label=f"fitting t-{number}", commands=(words, ("methods",)), outputs=(words[-1],))


def test_every_command_of_a_job_has_a_name_in_words() -> None:
    entry = TableEntry(name="t", source="t.csv", schema="t.toml", ledger="t.ledger")
    settings = commands.FitForm(epsilon=1)
    works = (
        commands.draft(entry), commands.plan(entry, [1], ("rows", 9), settings), commands.fit(entry, 1, settings),
        commands.picture(entry, 1), commands.write_page(entry, 1), commands.key(), commands.evaluate(entry, 1, ""),
        commands.sample(entry, 1, 2, commands.SampleForm()), commands.release(entry, 1, commands.ReleaseForm()),
    )  # fmt: skip
    assert [
        words
        for work in works
        for words in work.commands
        if words[0] not in STAGES and " ".join(words[:2]) not in STAGES
    ] == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 30, 500) for name in "abcd"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    sklar.Schema({name: sklar.Integer(0, 30) for name in "abcd"}).write(tmp_path / "t.toml")
    sklar.Ledger.create(tmp_path / "t.ledger", name="t", epsilon=20, delta=1e-7)
    return tmp_path


@pytest.fixture
def jobs(folder: Path) -> Jobs:
    return Jobs(StudioFolder(folder))


def until(good: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not good():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ended(jobs: Jobs) -> StudioJob:
    until(lambda: jobs.running("t") is None)
    found = jobs.latest("t")
    assert found is not None
    return found


def struck(
    jobs: Jobs, folder: Path, strike: Callable[[StudioJob], None], *, closed: bool = False
) -> tuple[StudioJob, int]:
    """A fit that was struck when it had charged something, and ended or not; and the number of fits by then."""
    for number in range(1, ATTEMPTS + 1):
        job = jobs.start("t", fitting(number))
        until(lambda: any(fit.steps and not fit.closed for fit in fits(folder)) or not job_runs(jobs))
        strike(job)
        job = ended(jobs)
        if job.state != "done" and fits(folder)[-1].closed is closed:
            return job, number
    raise AssertionError("every fit ended before it was struck")


def job_runs(jobs: Jobs) -> bool:
    return jobs.running("t") is not None


def kill_child(job: StudioJob) -> None:
    pid = (job.place / "pid").read_text()
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)


def kill_job(job: StudioJob) -> None:
    with contextlib.suppress(OSError):
        os.kill(int((job.place / "pid").read_text()), signal.SIGKILL)


def fits(folder: Path) -> tuple[FitRecord, ...]:
    return sklar.read_ledger(folder / "t.ledger").fits


def all_closed(folder: Path, number: int) -> bool:
    """Whether no fit was opened beyond those asked for, and all have ended."""
    return [fit.closed for fit in fits(folder)] == [True] * number


def test_commands_run_in_order_until_one_fails(jobs: Jobs, folder: Path) -> None:
    make = ("ledger", "create", "new.ledger", "--name", "t")
    jobs.start("t", Work(kind="k", label="two", commands=(make, make, ("methods",)), outputs=("new.ledger",)))
    job = ended(jobs)
    assert (job.state, job.codes, job.done, job.at) == ("failed", (0, 1), 1, 1)
    assert "new.ledger" in job.says and not job.says.startswith("Error") and job.result(0)["name"] == "t"
    assert not jobs.has_made("new.ledger") and job.resumable
    with pytest.raises(UsageError, match="already"):
        jobs.start("t", Work(kind="k", label="over", commands=(("methods",),), outputs=("t.csv",)))


@pytest.mark.slow
def test_one_at_a_time_and_a_cancelled_fit_is_taken_up(jobs: Jobs, folder: Path) -> None:
    def cancel(job: StudioJob) -> None:
        if jobs.running("t") is not None:
            with pytest.raises(UsageError, match="is running"):
                jobs.start("t", fitting(99))
        jobs.cancel(job)

    job, number = struck(jobs, folder, cancel)
    assert job.state == "cancelled" and job.says == "It was cancelled."
    assert not (folder / f"t-{number}.sklar").exists() and not fits(folder)[-1].closed
    jobs.again(job)
    job = ended(jobs)
    assert job.state == "done" and all_closed(folder, number) and jobs.has_made(f"t-{number}.sklar")
    assert {"what", "fraction"} <= set(job.progress) and "end" in read_stages(job.place)


@pytest.mark.slow
def test_a_killed_fit_is_taken_up_at_no_further_reservation(jobs: Jobs, folder: Path) -> None:
    job, number = struck(jobs, folder, kill_child)
    assert job.state == "failed" and job.interrupted and "It was killed" in job.says
    assert not fits(folder)[-1].closed
    jobs.again(job)
    assert ended(jobs).state == "done" and all_closed(folder, number)


@pytest.mark.slow
def test_a_killed_job_leaves_its_command_at_work_and_nothing_is_fitted_twice(jobs: Jobs, folder: Path) -> None:
    alive: list[bool] = []

    def strike(job: StudioJob) -> None:
        kill_job(job)
        alive.append(jobs.running("t") is not None)

    job, number = struck(jobs, folder, strike, closed=True)
    assert alive[-1] or job.done == 1  # its command still held the lock, unless it had just ended
    assert job.state == "cut short" and job.codes in ((), (0,)) and job.done == 1
    assert (folder / f"t-{number}.sklar").exists() and all_closed(folder, number)
    again = jobs.again(job)
    assert again.commands == (("methods",),)
    assert ended(jobs).state == "done" and all_closed(folder, number)


def written(
    jobs: Jobs, work: Work, codes: tuple[int, ...], outputs: tuple[str, ...] = (), results: tuple[str, ...] = ()
) -> StudioJob:
    """A job as its files are when it has ended in some way, and some of its outputs were written."""
    root = jobs._root
    place = jobs._new_place(work.kind)
    told = {"table": "t", "folder": str(root.parent.parent), "started": "now", **asdict(work)}
    (place / "job.json").write_text(json.dumps(told))
    for name in outputs:
        (root.parent.parent / name).write_text("made")
    for number, result in enumerate(results):
        (place / f"out-{number}").write_text(result)
    if codes:
        (place / "codes").write_text("".join(f"{code}\n" for code in codes))
    (place / "lock").touch()
    job = jobs.latest("t")
    assert job is not None and job.place == place
    return job


@pytest.mark.slow
@pytest.mark.parametrize("codes", [(), (-9,), (1,)])
def test_a_model_that_was_saved_is_not_fitted_again_however_its_command_ended(
    jobs: Jobs, folder: Path, codes: tuple[int, ...]
) -> None:
    job = written(jobs, fitting(1), codes, ("t-1.sklar",))
    assert job.done == 1 and job.resumable
    assert jobs.again(job).commands == (("methods",),)
    assert ended(jobs).state == "done" and not fits(folder) and (folder / "t-1.sklar").read_text() == "made"


def test_what_follows_a_fit_is_not_taken_for_the_fit(jobs: Jobs) -> None:
    rest = replace(fitting(1), commands=(("methods",), ("methods",)))
    assert written(jobs, rest, (-9,), ("t-1.sklar",)).done == 0


def test_a_model_that_no_job_made_is_never_overwritten(jobs: Jobs, folder: Path) -> None:
    job = written(jobs, fitting(1), (1,))
    later = (job.place / "codes").stat().st_mtime_ns + 10**9
    (folder / "t-1.sklar").write_text("paid for at the terminal")
    os.utime(folder / "t-1.sklar", ns=(later, later))
    assert job.done == 0 and not job.wrote("t-1.sklar")
    with pytest.raises(UsageError, match=r"file t-1\.sklar already exists"):
        jobs.again(job)
    page = Work(kind="k", label="a page", commands=(("methods",),), outputs=("page",))
    written(jobs, page, (0,), ("page",))
    jobs._refuse_overwriting(page)
    with pytest.raises(UsageError, match="already"):
        jobs._refuse_overwriting(replace(page, commands=(("fit",),)))


def test_the_latest_job_tells_whether_a_file_is_good(jobs: Jobs) -> None:
    release = Work(kind="release", label="r", commands=(("bundle",), ("verify",)), outputs=("t.zip",))
    assert written(jobs, release, (0, 0), ("t.zip",)).state == "done" and jobs.has_made("t.zip")
    wrong = written(jobs, release, (0,), ("t.zip",), ("{}", '{"ok": false}'))
    assert (wrong.state, wrong.done) == ("cut short", 1) and not jobs.has_made("t.zip")
    assert written(jobs, release, (0,), ("t.zip",), ("{}", '{"ok": true}')).state == "done" and jobs.has_made("t.zip")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"table": '])
def test_a_damaged_job_hides_no_other(jobs: Jobs, text: str) -> None:
    job = written(jobs, fitting(1), (0, 0))
    for name in ("000007-fit", "old"):
        (jobs._root / name).mkdir()
        (jobs._root / name / "job.json").write_text(text)
    assert [one.id for one in jobs.of("t")] == [job.id]
    assert jobs._new_place("fit").name == "000008-fit"


def test_a_job_without_a_number_of_its_process_is_not_cancelled_by_guess(jobs: Jobs) -> None:
    job = replace(written(jobs, fitting(1), ()), running=True)
    for text in (None, ""):
        if text is not None:
            (job.place / "pid").write_text(text)
        jobs.cancel(job)
        assert (job.place / "cancelled").exists()


def test_what_is_asked_for_is_not_rounded() -> None:
    entry = TableEntry(name="t", source="t.csv", schema="t.toml", ledger="t.ledger")
    asked = commands.FitForm(epsilon=1.2345678, delta=1.2345678e-9, check_share=0.12345678)
    words = commands.fit(entry, 1, asked).commands[0]
    assert {"1.2345678", "1.2345678e-09", "0.12345678"} <= set(words)
    assert "epsilon=1.2345678, delta=1.2345678e-09" in commands.fit_in_python(entry, "t-1", asked)[1]
    assert "-e 1 " in commands.fit(entry, 1, commands.FitForm(epsilon=1.0)).typed[0]


def test_a_killed_studio_leaves_its_jobs_at_work(jobs: Jobs, folder: Path) -> None:
    code = (
        "import os, signal; from sklar.studio.commands import Work; from sklar.studio.folder import StudioFolder; "
        "from sklar.studio.jobs import Jobs; jobs = Jobs(StudioFolder('.')); "
        "jobs.start('t', Work(kind='k', label='listing', commands=(('methods',),))); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=folder, check=False).returncode == -9
    job = jobs.latest("t")
    assert job is not None and job.state in ("running", "done")
    assert ended(jobs).state == "done" and ended(jobs).result()
