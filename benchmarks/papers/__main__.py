"""All reproductions in turn: `python -m benchmarks.papers --all --quick [--out FOLDER]`, or some: `... NAME NAME`.

What each printed is kept beside its pictures, as NAME.txt. One that fails, as for a table that cannot be fetched, is
named at the end and does not stop the others.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.papers.figures import PICTURES

ROOT = Path(__file__).resolve().parents[2]
DRAWS = "--quick --out {out}"
FOLDS = "--tables compas --runs 1"
QUICK = {
    "galloni_table1": "", "galloni_figure1": DRAWS, "shirley_table2": "--seeds 1", "shirley_models": DRAWS,
    "dpcopula_distribution": DRAWS, "dpcopula_time": DRAWS, "dpcopula_hybrid": DRAWS,
    "tvine_matrices": f"{DRAWS} --levels 1,10,20", "tvine_fidelity": DRAWS,
    "tvine_utility": f"{DRAWS} --levels 1,10,20", "tvine_mse": f"{DRAWS} --levels 1,17,20",
    "tvine_attribute": f"{DRAWS} --levels 1,17,20", "tvine_tradeoff": f"{DRAWS} --levels 1,11,20",
    "tvine_membership": f"{DRAWS} --levels 1,20", "tvine_overview": f"{DRAWS} --levels 1,10,25",
    "tvine_order": f"{DRAWS} --levels 1,10,25", "galloni_adult": DRAWS, "dpc_curves": DRAWS,
    "shirley_privacy": DRAWS, "shirley_comparison": FOLDS, "shirley_encoder": FOLDS, "shirley_mechanism": FOLDS,
    "shirley_split": FOLDS, "shirley_truncation": FOLDS,
}  # fmt: skip
"""Every script and the words of a quick run; those that need no file come first."""


def run_one(name: str, words: list[str], out: Path) -> bool:
    """Run a script, show and keep what it prints; whether it ended well."""
    began, lines = time.monotonic(), list[str]()
    command = [sys.executable, "-m", f"benchmarks.papers.{name}", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    (out / f"{name}.txt").write_text("".join(lines))
    print(f"({time.monotonic() - began:.0f} s)")
    return process.returncode == 0


def main() -> None:
    """Run all of them, or those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(QUICK))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--quick", action="store_true", help="fewer rows, levels and runs; without it, days")
    parser.add_argument("--out", type=Path, default=PICTURES)
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(QUICK))
    if unknown or not (given.all or given.names):
        parser.error(f"name scripts, or --all; there are: {', '.join(QUICK)}")
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    for name in QUICK if given.all else given.names:
        words = QUICK[name] if given.quick else "--out {out}" if "{out}" in QUICK[name] else ""
        print(f"\n=== python -m benchmarks.papers.{name} {words.format(out=out)}", flush=True)
        if not run_one(name, words.format(out=out).split(), out):
            failed.append(name)
    if failed:
        sys.exit(f"these did not finish: {', '.join(failed)}")


if __name__ == "__main__":
    main()
