"""Big tables: `python -m benchmarks.scale fit|slope|spark|sample [--rows N] [--folder DIR]`; small without a mode.

    fit     a generated Parquet file; the vine's fit beside merely scanning and decoding the file as often as it does
    slope   time of a fit over the number of rows, and how straight the line is
    spark   the same fit on Spark in local mode, once Spark is up, beside the local engine
    sample  rows a second and core to Parquet, of `independent` and of `vine`

Fits run in processes of their own, whose peak memory is what the operating system says; CPU time is that of all
threads.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import SCHEMA, WORDS, in_process
from benchmarks.stopwatch import verdict

CHUNK = 1_000_000
BYTES_A_ROW = 40
MODES = ("fit", "slope", "spark", "sample")


def main() -> None:
    """One mode, or all of them at small sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", nargs="?", choices=MODES)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--sizes", default=None, help="for slope, in millions, as 1,3,10,30")
    parser.add_argument("--folder", default=None, help="where big files are kept, and found again")
    parser.add_argument("--method", default="vine")
    asked = parser.parse_args()
    folder = Path(asked.folder or tempfile.mkdtemp(prefix="sklar-scale-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for mode in [asked.mode] if asked.mode else MODES:
            RUNS[mode](folder, asked)
    finally:
        if asked.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def run_fit(folder: Path, asked: argparse.Namespace) -> None:
    """A fit beside as many bare scans."""
    path, rows = table(folder, asked.rows or 3_000_000)
    wall, cpu, peak, passes = in_process(fit, path, asked.method, 0)
    scan_wall, scan_cpu = in_process(scan, path, passes)
    print(f"{asked.method}, {rows:,} rows: fit {wall:.1f} s (CPU {cpu:.1f} s) in {passes} passes, peak {peak:.0f} MB")
    print(f"scanning and decoding as often: {scan_wall:.1f} s (CPU {scan_cpu:.1f} s)")
    verdict("peak in MB", peak, 2000, False)
    verdict("time of the fit over that of the scans", wall / scan_wall, 1.5, False)


def run_slope(folder: Path, asked: argparse.Namespace) -> None:
    """Time over rows, all of them read again for every pass."""
    sizes = [int(float(text) * 1e6) for text in (asked.sizes or "0.3,1,3").split(",")]
    walls, cpus = [], []
    for size in sizes:
        wall, cpu, peak, passes = in_process(fit, table(folder, size)[0], asked.method, 0)
        print(f"{size:,} rows: {wall:.2f} s (CPU {cpu:.2f} s), {passes} passes, peak {peak:.0f} MB", flush=True)
        walls.append(wall)
        cpus.append(cpu)
    for name, times in (("wall", walls), ("CPU", cpus)):
        slope, start = np.polyfit(sizes, times, 1)
        straight = 1 - np.var(np.array(times) - slope * np.array(sizes) - start) / np.var(times)
        print(f"{name}: {start:.2f} s + {slope * 1e6:.3f} s a million rows")
        verdict(f"R squared of the {name} time", straight, 0.98, True)


def run_spark(folder: Path, asked: argparse.Namespace) -> None:
    """Spark once it is up and warm, beside the local engine; the noise differs, the work does not."""
    path, rows = table(folder, asked.rows or 3_000_000)
    here, cpu, _, _ = in_process(fit, path, asked.method)
    print(f"{rows:,} rows: here {here:.1f} s (CPU {cpu:.1f} s)", flush=True)
    for what, framed in (("the path", False), ("a frame", True)):
        there, work = in_process(fit_on_spark, path, asked.method, framed)
        print(f"on Spark local[2], {what}: {there:.1f} s (CPU {work:.1f} s, Java and Python)", flush=True)
        verdict("Spark over the local engine", there / here, 3, False)
        print(f"the same in CPU time: {work / cpu:.2f}", flush=True)


def run_sample(folder: Path, asked: argparse.Namespace) -> None:
    """CPU seconds of one worker that draws, decodes and writes parts."""
    path, _ = table(folder, 1_000_000)
    for method, rows, goal in (("independent", 8, 2e6), ("vine", 2, 3e5)):
        count = asked.rows or rows * (1 << 20)
        cpu, wall = in_process(sample, path, method, count, folder / f"sample-{method}")
        print(f"{method}: {count:,} rows x {len(SCHEMA)} columns, {cpu:.1f} s CPU, {wall:.1f} s")
        verdict(f"million rows of {method} a second and core", count / cpu / 1e6, goal / 1e6, True)


def table(folder: Path, rows: int) -> tuple[Path, int]:
    """A generated Parquet file of this many rows, fewer if the disk is too small; kept for the next time."""
    room = int(0.8 * shutil.disk_usage(folder).free / BYTES_A_ROW)
    if rows > room:
        print(f"the disk holds {room:,} rows only; scaled down from {rows:,}")
        rows = room
    path = folder / f"{rows}.parquet"
    if not path.exists():
        in_process(generate, path, rows)
    return path, rows


def generate(path: Path, rows: int) -> None:
    """All kinds of columns, a million rows at a time; some depend on others, so that a vine has something to find."""
    import pyarrow.parquet as pq

    beside = path.with_suffix(".tmp")
    with pq.ParquetWriter(beside, chunk(0, 1).schema) as writer:
        for number, start in enumerate(range(0, rows, CHUNK)):
            writer.write_table(chunk(number, min(CHUNK, rows - start)))
    beside.rename(path)


def chunk(number: int, rows: int) -> Any:
    """One million rows."""
    import pyarrow as pa

    rng = np.random.default_rng(number)
    z = rng.normal(size=(3, rows))
    age = np.clip(45 + 18 * z[0], 0, 100).astype(np.int8)
    columns = {
        "age": age,
        "wage": np.clip(np.exp(10 + 0.5 * z[0] + 0.6 * z[1]), 0, 1_000_000).astype(np.int32),
        "weight": 75 + 15 * z[1],
        "height": pa.array(170 + 6 * z[1] + 7 * z[2], mask=rng.random(rows) < 0.05),
        "region": pa.array(WORDS).take(pa.array(rng.integers(0, 20, rows, dtype=np.int8))),
        "sector": pa.array(WORDS[:7]).take(pa.array(np.clip(age // 15, 0, 6))),
        "member": pa.array(rng.random(rows) < 0.3),
        "since": np.datetime64("2000-01-01", "ms")
        + (rng.integers(0, 9000, rows) * 86_400_000).astype("timedelta64[ms]"),
        "score": 3 * z[2],
        "children": rng.poisson(1.5, rows).astype(np.int16),
    }
    return pa.table(columns)


def fit(path: Path, method: str, cache_bytes: int | None = None) -> tuple[float, float, float, int]:
    """(seconds, CPU seconds, peak in MB, passes)."""
    import sklar

    passes: list[float] = []

    def told(fraction: float) -> None:
        if fraction == 0:
            passes.append(fraction)

    reader = {"progress": told} | ({} if cache_bytes is None else {"cache_bytes": cache_bytes})
    wall, cpu = timed(lambda: _fitted(sklar.fit, path, method, reader))
    return wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, len(passes)


def scan(path: Path, passes: int) -> tuple[float, float]:
    """Read and decode the whole file again and again, as the fit does, and do nothing with it."""
    import pyarrow.parquet as pq

    def run() -> None:
        for _ in range(passes):
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18) as file:
                for _ in file.iter_batches(batch_size=1 << 17, use_threads=True):
                    pass

    return timed(run)


def fit_on_spark(path: Path, method: str, framed: bool) -> tuple[float, float]:
    """(seconds, CPU seconds of all processes) of a fit after a first small one has started the executors."""
    import sklar
    from sklar.rows.spark.connection import connect

    session, _ = connect("local[2]")
    frame = session.read.parquet(str(path))
    _fitted(sklar.fit, frame.limit(100_000).repartition(2), method, {})
    data, reader = (frame, {}) if framed else (path, {"spark": "local[2]"})
    before = family_cpu()
    wall, _ = timed(lambda: _fitted(sklar.fit, data, method, reader))
    cpu = family_cpu() - before
    session.stop()
    return wall, cpu


def family_cpu() -> float:
    """CPU seconds of this process and all that descend from it, as Linux tells them."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = place.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(facts[1]), []).append(int(place.parent.name))
        ticks[int(place.parent.name)] = sum(int(fact) for fact in facts[11:15])
    family = [os.getpid()]
    for process in family:
        family += children.get(process, [])
    return sum(ticks.get(process, 0) for process in family) / os.sysconf("SC_CLK_TCK")


def sample(path: Path, method: str, rows: int, folder: Path) -> tuple[float, float]:
    """(CPU seconds, seconds) of writing parts in this process, after a first part that starts everything."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    model = _fitted(__import__("sklar").fit, path, method, {})
    shutil.rmtree(folder, ignore_errors=True)
    model.write_rows(folder, 1 << 18, seed=1, workers=1)
    shutil.rmtree(folder)
    wall, cpu = timed(lambda: model.write_rows(folder, rows, seed=1, workers=1))
    shutil.rmtree(folder)
    return cpu, wall


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """(seconds, CPU seconds of this process)."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def _fitted(fit: Any, data: Any, method: str, reader: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory() as place:
        return fit(
            data, SCHEMA, method=method, epsilon=1.0, ledger=Path(place) / "ledger", new_ledger=True, read=reader
        )


RUNS = {"fit": run_fit, "slope": run_slope, "spark": run_spark, "sample": run_sample}

if __name__ == "__main__":
    main()
