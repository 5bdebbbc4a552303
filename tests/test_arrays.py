"""The number of cores: those this process may run on, and no more than its control groups grant it time for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sklar import arrays
from sklar.arrays import usable_cores
from sklar.methods.registry import METHODS
from sklar.model.independent import IndependentModel
from sklar.model.margins.margin import margin_from_dense
from sklar.private import noise
from sklar.sample.draw import draw_sample
from sklar.schema import Integer, Schema


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 64 cores on which this process may use all."""
    monkeypatch.setattr(arrays, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(arrays, "OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_limits_all_cores_count(machine: Path) -> None:
    assert usable_cores() == 64
    write(machine / "groups/cpu.max", "max 100000\n")
    assert usable_cores() == 64


def test_affinity_counts(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 9})
    assert usable_cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cores() == 64


@pytest.mark.parametrize(
    ("quota", "cores"), [("200000", 2), ("150000", 2), ("100000", 1), ("1000", 1), ("9900000", 64)]
)
def test_a_container_of_the_new_kind(machine: Path, quota: str, cores: int) -> None:
    write(machine / "own", "0::/\n")
    write(machine / "groups/cpu.max", f"{quota} 100000\n")
    assert usable_cores() == cores


def test_the_tightest_group_around_the_process_counts(machine: Path) -> None:
    write(machine / "own", "0::/outer/inner\n")
    write(machine / "groups/outer/inner/cpu.max", "800000 100000\n")
    write(machine / "groups/outer/cpu.max", "300000 100000\n")
    write(machine / "groups/other/cpu.max", "100000 100000\n")
    assert usable_cores() == 3


@pytest.mark.parametrize(("quota", "cores"), [("-1", 64), ("250000", 3)])
def test_a_container_of_the_old_kind(machine: Path, quota: str, cores: int) -> None:
    write(machine / "groups/cpu/cpu.cfs_quota_us", f"{quota}\n")
    write(machine / "groups/cpu/cpu.cfs_period_us", "100000\n")
    assert usable_cores() == cores


def test_no_room_counts_cores_in_a_way_of_its_own() -> None:
    assert noise.usable_cores is usable_cores
    source = Path(arrays.__file__).parent
    users = [
        path.name for path in source.rglob("*.py") if "cpu_count" in (text := path.read_text()) or "sched_g" in text
    ]
    assert users == ["arrays.py"]


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_fits_and_samples_run_on_one_thread_of_blas_whatever_the_machine_has() -> None:
    """How many threads share a product decides its last bits, and who verifies a release may have more of them."""
    seen: list[set[int]] = []

    class Watched(IndependentModel):
        def simulate_rounded(self, rows: int, rng: np.random.Generator) -> np.ndarray:
            seen.append(blas_threads())
            return super().simulate_rounded(rows, rng)

    def ask_nothing(evidence: object) -> None:
        seen.append(blas_threads())

    def estimate(evidence: object) -> Watched:
        seen.append(blas_threads())
        margin = margin_from_dense("x", np.ones(3) / 3)
        return Watched(margins=(margin,), rows_estimate=3)

    method = replace(METHODS["independent"], ask=ask_nothing, estimate=estimate)
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        model = method.fit(None, None)  # type: ignore[arg-type]
        draw_sample(model, Schema({"x": Integer(0, 2)}), 5, seed=1)
        assert blas_threads() == {2}
    assert seen == [{1}, {1}, {1}]
