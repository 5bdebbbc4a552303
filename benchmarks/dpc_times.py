"""Run times of dpc-gauss at the paper's sizes (Table 4): shares of the steps, and the machine's own limits beside."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numba import njit

import sklar
import sklar.model.onehot.decoding as decoding
import sklar.model.onehot.fit as onehot_fit
import sklar.private.door as door
import sklar.private.session as session
from benchmarks.dpc_adult import MANY, STAND_INS, adult, common_factor
from sklar.arrays import usable_cores
from sklar.counting.bits import popcount
from sklar.private.noise import SystemNoise
from sklar.rows.codes.table import EncodedRows

DELTA = 2.0**-30
ROWS = 5_240_260
STEPS: dict[str, list[tuple[Any, str]]] = {
    "reading": [(session, "open_rows"), (EncodedRows, "keep_codes")],
    "counting": [(door, "exact_counts"), (door, "exact_values")],
    "noise": [(SystemNoise, "add")],
    "solving": [(onehot_fit, "latent_correlations")],
    "projecting": [(onehot_fit, "nearest_correlation"), (decoding, "nearest_correlation")],
    "decoding": [(onehot_fit, "fit_decoding")],
}
CASES: dict[str, tuple[str, float]] = {
    "adult": ("6 min 47 s", 10),
    "hospital": ("46 min", 60),
    "dss": ("2 h 30 min", 300),
    "art1": ("5 h 43 min", 480),
    "art2": ("18 h 32 min", 1500),
}
"""The paper's time on 10 cores, and ours to stay below in seconds."""


@contextmanager
def timed_steps() -> Generator[dict[str, np.ndarray]]:
    """Seconds of wall and CPU time spent in each step; what a step calls of another step counts for that one."""
    spent, saved = {name: np.zeros(2) for name in STEPS}, list[tuple[Any, str, Any]]()
    running: list[np.ndarray] = []

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            start = clocks()
            running.append(np.zeros(2))
            try:
                return function(*given, **named)
            finally:
                whole = clocks() - start
                spent[name] += whole - running.pop()
                if running:
                    running[-1] += whole

        return call

    for name, places in STEPS.items():
        for module, attribute in places:
            saved.append((module, attribute, getattr(module, attribute)))
            setattr(module, attribute, timed(name, getattr(module, attribute)))
    try:
        yield spent
    finally:
        for module, attribute, function in saved:
            setattr(module, attribute, function)


def clocks() -> np.ndarray:
    """Wall time, and CPU time of all threads, in seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def run_case(case: str, rows: int | None, folder: str | None) -> None:
    """Fit and sample as many rows as were given; print the time of each step."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        data, schema, height = MAKERS[case](rows, Path(place))
        start = clocks()
        with timed_steps() as spent:
            model = sklar.fit(
                data, schema, method="dpc-gauss", bins=MANY, epsilon=0.99, delta=DELTA, neighbours="replace"
            )._stored.model
        fit = clocks() - start
        drawn = 0
        while drawn < height:
            drawn += len(model.simulate(min(262_144, height - drawn), np.random.default_rng(drawn)))
        whole = clocks() - start
        told(case, {name: float(found[0]) for name, found in spent.items()}, fit, whole, height)
        reading = decoding_seconds(data, height) if isinstance(data, Path) else 0.0
        limits(model, spent, float((whole - fit)[1]), height, reading)


def told(case: str, spent: dict[str, float], fits: np.ndarray, wholes: np.ndarray, rows: int) -> None:
    """The table line of a case."""
    paper, goal = CASES[case]
    (fit, _), (whole, work) = fits.tolist(), wholes.tolist()
    steps = {**spent, "sampling": whole - fit, "other": fit - sum(spent.values())}
    shares = ", ".join(f"{name} {seconds:.1f} s ({seconds / whole:.0%})" for name, seconds in steps.items())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{case}, {rows:,} rows: {whole:.1f} s ({work:.1f} s of CPU, peak {memory:.1f} GB); goal {goal:g} s at full "
        f"size; paper on 10 cores {paper}\n  {shares}",
        flush=True,
    )


def limits(model: Any, spent: dict[str, np.ndarray], sampling: float, rows: int, reading: float) -> None:
    """Counting beside a bare loop of popcounts or of tallies, sampling beside bare float32 products; CPU seconds."""
    counting = float(spent["counting"][1])
    width, columns = len(model.corr), len(model.groups)
    pairs = columns * (columns - 1) // 2
    if all(len(groups) == 2 for groups in model.groups):
        least, what = pairs * rows / 64 / popcounts_per_second(), "bare popcounts"
    else:
        least, what = pairs * rows / tallies_per_second(), "bare tallies"
    print(f"  CPU: counting {counting:.1f} s, {what} alone {least:.1f} s: ratio {counting / least:.1f}")
    if reading:
        ours, least = counting + float(spent["reading"][1]), least + reading
        print(
            f"  CPU: reading and counting {ours:.1f} s, one bare reading and these {least:.1f} s: "
            f"ratio {ours / least:.1f}"
        )
    product = 2.0 * width * width * rows / flops(width)
    print(
        f"  CPU: sampling {sampling:.1f} s, float32 products alone {product:.1f} s: ratio {sampling / product:.1f}",
        flush=True,
    )


@njit(nogil=True, cache=True)
def _popcounts(left: np.ndarray, right: np.ndarray, times: int) -> int:
    total = np.uint64(0)
    for k in range(times):
        for w in range(len(left)):
            total += popcount(left[w] & right[(w + k) % 1024])
    return total


@njit(nogil=True, cache=True)
def _tallies(left: np.ndarray, right: np.ndarray, times: int) -> int:
    counts = np.zeros((4, 1024), np.int64)
    for _ in range(times):
        for i in range(0, len(left), 4):
            for lane in range(4):
                counts[lane, left[i + lane] * 32 + right[i + lane]] += 1
    return counts.sum()


def _per_second(work: Callable[[], Any], amount: float) -> float:
    """Amount of work done in a second of CPU time while all cores are at it: the best of three."""
    cores, best = usable_cores(), 0.0
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda _: work(), range(cores)))
        for _ in range(3):
            start = time.process_time()
            list(pool.map(lambda _: work(), range(cores)))
            best = max(best, cores * amount / (time.process_time() - start))
    return best


def decoding_seconds(path: Path, rows: int) -> float:
    """CPU seconds of reading a file into Arrow arrays and nothing else, scaled up from its first row groups."""
    with pq.ParquetFile(path) as file:
        groups = list(range(min(file.num_row_groups, 4)))
        some = sum(file.metadata.row_group(g).num_rows for g in groups)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            for _batch in file.iter_batches(batch_size=1 << 16, row_groups=groups):
                pass
            best = min(best, time.process_time() - start)
    return best * rows / some


def popcounts_per_second() -> float:
    """Words of 64 bits that are anded and counted in a second of CPU time, out of the first-level cache."""
    words = np.random.default_rng(0).integers(0, 2**63, (2, 1024)).astype(np.uint64)
    return _per_second(lambda: _popcounts(words[0], words[1], 100_000), 1024 * 100_000)


def tallies_per_second() -> float:
    """Pairs of codes that are added to a table in a second of CPU time, out of the cache."""
    codes = np.random.default_rng(0).integers(0, 32, (2, 1 << 14)).astype(np.uint8)
    return _per_second(lambda: _tallies(codes[0], codes[1], 2_000), 2_000 * (1 << 14))


def flops(width: int) -> float:
    """Float32 operations in a second of CPU time, for matrix products of the shape that sampling uses."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal((width, width), dtype=np.float32)
    right = rng.standard_normal((width, max(256, (1 << 23) // width)), dtype=np.float32)
    best = float("inf")
    for _ in range(4):
        start = time.process_time()
        left @ right
        best = min(best, time.process_time() - start)
    return 2.0 * width * width * right.shape[1] / best


def _adult(rows: int | None, folder: Path) -> tuple[Any, sklar.Schema, int]:
    data = adult()
    frame = data.frame if rows is None else data.frame.head(rows)
    return frame, data.schema, len(frame)


def _grouped(rows: int, sizes: list[int]) -> tuple[Any, sklar.Schema, int]:
    """Columns of so many values with a common factor, as an Arrow table."""
    columns = common_factor(rows, sizes)
    schema = sklar.Schema({name: sklar.Integer(0, size - 1) for name, size in zip(columns, sizes, strict=True)})
    return pa.table(columns), schema, rows


def _bits(columns: int) -> Callable[[int | None, Path], tuple[Any, sklar.Schema, int]]:
    def make(rows: int | None, folder: Path) -> tuple[Any, sklar.Schema, int]:
        path, height = folder / "bits.parquet", rows or ROWS
        write_booleans(path, height, columns)
        return path, sklar.Schema({f"x{j}": sklar.Boolean() for j in range(columns)}), height

    return make


def write_booleans(path: Path, rows: int, columns: int) -> None:
    """A Parquet file of booleans with different rates and a common factor."""
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.02, 0.5, columns).astype(np.float32)
    schema = pa.schema([(f"x{j}", pa.bool_()) for j in range(columns)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 100_000):
            height = min(100_000, rows - start)
            shift = rng.normal(size=height).astype(np.float32) * np.float32(0.1)
            lines = [pa.array(rng.random(height, dtype=np.float32) + shift < rate) for rate in rates]
            writer.write_table(pa.table(lines, schema=schema))


MAKERS: dict[str, Callable[[int | None, Path], tuple[Any, sklar.Schema, int]]] = {
    "adult": _adult,
    "hospital": lambda rows, folder: _grouped(rows or STAND_INS["hospital"][0], STAND_INS["hospital"][1]),
    "dss": lambda rows, folder: _grouped(rows or ROWS, STAND_INS["dss"][1]),
    "art1": _bits(1_000),
    "art2": _bits(2_000),
}
