"""How often a killed fit costs more than one that was left alone: kill -9 at random moments, then the same command.

    python -m benchmarks.interruptions [--kills 50] [--rows 200000] [--signal KILL]

Each trial fits a table by the command line and kills it at a moment drawn uniformly between its reservation in the
ledger (before, nothing is charged) and its end. Then it gives the same command again and reads the ledger: one fit, no
step charged twice, and the claimed epsilon is the one asked for.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import sklar

EPSILON = 0.5


def write_table(folder: Path, rows: int, seed: int = 0) -> None:
    """A table of six columns, and its schema."""
    rng = np.random.default_rng(seed)
    age, score = rng.integers(18, 90, rows), rng.normal(size=rows)
    frame = pd.DataFrame({
        "age": age, "income": np.round(np.exp(score + 10), 2), "score": np.round(score, 3),
        "sex": rng.choice(["F", "M"], rows), "region": rng.choice(list("abcdefgh"), rows),
        "smoker": rng.random(rows) < 0.2,
    })  # fmt: skip
    frame.to_csv(folder / "people.csv", index=False)
    columns = {
        "age": sklar.Integer(18, 90), "income": sklar.Real(0, 500_000), "score": sklar.Real(-4, 4),
        "sex": sklar.Category(["F", "M"]), "region": sklar.Category(list("abcdefgh")), "smoker": sklar.Boolean(),
    }  # fmt: skip
    sklar.Schema(columns).write(folder / "people.toml")


def start(folder: Path, number: int) -> subprocess.Popen[bytes]:
    """One fit as a user starts it, with a ledger and a model file of its own."""
    words = ["fit", "people.csv", "-s", "people.toml", "-e", str(EPSILON), "--ledger", f"{number}.ledger"]
    words += ["--new-ledger", "-o", f"{number}.sklar"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-m", "sklar", *words], cwd=folder, **quiet)


def wait_for_reservation(folder: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    """Return once the fit has reserved its budget, or has ended."""
    ledger = folder / f"{number}.ledger"
    while process.poll() is None and not (ledger.exists() and b'"open"' in ledger.read_bytes()):
        time.sleep(0.001)


def interrupt(folder: Path, number: int, after: float, sent: signal.Signals) -> dict[str, object]:
    """Stop a fit some seconds after its reservation, give the same command again, and report what that cost."""
    process = start(folder, number)
    wait_for_reservation(folder, number, process)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(sent)
        process.wait()
    ledger, model = folder / f"{number}.ledger", folder / f"{number}.sklar"
    (begun,) = sklar.read_ledger(ledger).fits
    if not model.exists():
        start(folder, number).wait()
    fits, claim = sklar.read_ledger(ledger).fits, sklar.load(model).claim
    return {
        "after": round(after, 3),
        "steps recorded": len(begun.digests),
        "unanswered": begun.pending is not None,
        "closed": begun.closed,
        "epsilon": claim.epsilon,
        "free": len(fits) == 1 and not fits[0].repeated and claim.epsilon == EPSILON,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--signal", choices=["KILL", "INT", "TERM"], default="KILL")
    given = parser.parse_args()
    rng = np.random.default_rng()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, given.rows)
        start(folder, 0).wait()  # compiles what is compiled once
        whole = start(folder, 1)
        wait_for_reservation(folder, 1, whole)
        began = time.monotonic()
        whole.wait()
        length = time.monotonic() - began
        trials: list[dict[str, object]] = []
        for number in range(2, 2 + given.kills):
            after = float(rng.uniform(0, length))
            trials.append(interrupt(folder, number, after, signal.Signals[f"SIG{given.signal}"]))
            print(json.dumps(trials[-1]), flush=True)
    free, unanswered, closed = (sum(bool(trial[key]) for trial in trials) for key in ("free", "unanswered", "closed"))
    print(
        f"{free} of {len(trials)} kills cost nothing. From reservation to end a fit takes {length:.1f} s; {unanswered} "
        f"kills fell between a charge and its release, {closed} came too late."
    )


if __name__ == "__main__":
    main()
