"""The vine and dpmm's MST on Adult in one run, CPU time and quality: `python -m benchmarks.mst --python PYTHON`.

MST runs through benchmarks/peers/dpmm/run.py in an environment of its own that has dpmm, pandas and pyarrow. CPU time
(user and system, start of the process included on both sides) is compared, since the machine may be shared.
Goal: the vine takes at most a tenth of the time.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from benchmarks.metrics import all_scores
from benchmarks.stopwatch import verdict
from benchmarks.tables import load

PEERS = Path(__file__).resolve().parent / "peers"
VINE = """
import sys, pandas, sklar
train, schema, epsilon, delta, rows, output = sys.argv[1:]
model = sklar.fit(pandas.read_parquet(train), sklar.Schema.read(schema), epsilon=float(epsilon), delta=float(delta))
model.sample(int(rows), seed=0).to_pandas().to_parquet(output)
"""


def timed(command: list[str]) -> tuple[float, float]:
    """CPU and wall seconds of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - start


def main() -> None:
    """Run both and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=str(PEERS / ".venvs" / "dpmm" / "bin" / "python"))
    parser.add_argument("--table", default="adult")
    parser.add_argument("--epsilon", default="1.0")
    given = parser.parse_args()
    split = load(given.table, seed=0)
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        split.frame.to_parquet(place / "train.parquet")
        split.schema.write(place / "schema.toml")
        files = [str(place / "train.parquet"), str(place / "schema.toml")]
        task = [*files, given.epsilon, "1e-9", str(len(split.frame))]
        commands = {
            "vine": [sys.executable, "-c", VINE],
            "mst": [given.python, str(PEERS / "dpmm" / "run.py"), "mst"],
        }
        for name, command in commands.items():
            made = place / f"{name}.parquet"
            seconds[name], wall = timed([*command, *task, str(made)])
            scores = all_scores(split, pd.read_parquet(made))
            told = " ".join(f"{key}={value:.4f}" for key, value in scores.items())
            print(f"{name:5s} cpu {seconds[name]:.1f} s, wall {wall:.1f} s, {told}", flush=True)
    verdict("CPU time of the vine / MST", seconds["vine"] / seconds["mst"], 0.1, at_least=False)


if __name__ == "__main__":
    main()
