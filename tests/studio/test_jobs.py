"""Jobs are told from files: whoever is killed, the studio, the job or its command, ledger and page stay right.

Real commands in real processes; the fits are small, and take the seconds that imports take.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.studio.commands import Work
from sklar.studio.folder import StudioFolder
from sklar.studio.jobs import Jobs, StudioJob

PATIENCE = 120.0
FIT = ("fit", "t.csv", "-s", "t.toml", "-e", "2", "--ledger", "t.ledger", "-o", "t-1.sklar")
FITTING = Work(kind="fit", label="fitting t-1", commands=(FIT, ("methods",)), outputs=("t-1.sklar",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 30, 500) for name in "abcd"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    sklar.Schema({name: sklar.Integer(0, 30) for name in "abcd"}).write(tmp_path / "t.toml")
    sklar.Ledger.create(tmp_path / "t.ledger", name="t", epsilon=5, delta=1e-8)
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


def measuring(folder: Path) -> None:
    """Wait until a fit has charged something."""
    until(lambda: any(fit.steps for fit in sklar.read_ledger(folder / "t.ledger").fits))


def child_of(job: StudioJob) -> int:
    pid = (job.place / "pid").read_text()
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def spent(folder: Path) -> tuple[int, list[bool]]:
    fits = sklar.read_ledger(folder / "t.ledger").fits
    return len(fits), [fit.closed for fit in fits]


def test_commands_run_in_order_until_one_fails(jobs: Jobs, folder: Path) -> None:
    make = ("ledger", "create", "new.ledger", "--name", "t")
    jobs.start("t", Work(kind="k", label="two", commands=(make, make, ("methods",)), outputs=("new.ledger",)))
    job = ended(jobs)
    assert (job.state, job.codes, job.done, job.at) == ("failed", (0, 1), 1, 1)
    assert "new.ledger" in job.says and not job.says.startswith("Error") and job.result(0)["name"] == "t"
    assert not jobs.has_made("new.ledger") and job.resumable
    with pytest.raises(UsageError, match="already"):
        jobs.start("t", Work(kind="k", label="over", commands=(("methods",),), outputs=("t.csv",)))


def test_one_at_a_time_and_a_cancelled_fit_is_taken_up(jobs: Jobs, folder: Path) -> None:
    job = jobs.start("t", FITTING)
    with pytest.raises(UsageError, match="fitting t-1 is running"):
        jobs.start("t", FITTING)
    measuring(folder)
    jobs.cancel(job)
    job = ended(jobs)
    assert job.state == "cancelled" and job.says == "It was cancelled." and not (folder / "t-1.sklar").exists()
    assert spent(folder) == (1, [False])
    jobs.again(job)
    job = ended(jobs)
    assert job.state == "done" and spent(folder) == (1, [True]) and jobs.has_made("t-1.sklar")
    assert {"what", "fraction"} == set(job.progress)


def test_a_killed_fit_is_taken_up_at_no_further_reservation(jobs: Jobs, folder: Path) -> None:
    job = jobs.start("t", FITTING)
    measuring(folder)
    os.kill(child_of(job), signal.SIGKILL)
    job = ended(jobs)
    assert job.state == "failed" and "ended from outside" in job.says and spent(folder) == (1, [False])
    jobs.again(job)
    assert ended(jobs).state == "done" and spent(folder) == (1, [True])


def test_a_killed_job_leaves_its_command_at_work_and_nothing_is_fitted_twice(jobs: Jobs, folder: Path) -> None:
    job = jobs.start("t", FITTING)
    measuring(folder)
    os.kill(int((job.place / "pid").read_text()), signal.SIGKILL)
    assert jobs.running("t") is not None  # its command still holds the lock
    job = ended(jobs)
    assert job.state == "cut short" and job.codes == () and job.done == 1 and (folder / "t-1.sklar").exists()
    again = jobs.again(job)
    assert again.commands == (("methods",),)
    assert ended(jobs).state == "done" and spent(folder) == (1, [True])


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
