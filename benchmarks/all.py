"""Runs every benchmark and writes RESULTS.md: `python -m benchmarks.all`. Takes long; each can be run alone.

What each printed is kept in benchmarks/results, so `--missing` goes on where a run was stopped, `--only a,b` repeats
some, and `--write` just writes RESULTS.md again. Those of the papers are run by `python -m benchmarks.papers`, which
has pages of its own.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from benchmarks.results import run_kept, stored, write_results

HERE = Path(__file__).resolve().parent
WORDS = {"benchmarks.dpc": ("adult", "pure", "epsilon")}
"""Benchmarks that are run more than once, with what."""


def modules() -> list[str]:
    """All benchmarks that can be run, but for those of the papers."""
    found = sorted(HERE.glob("*.py"))
    runnable = [path for path in found if path.stem != "all" and '__name__ == "__main__"' in path.read_text()]
    return [".".join(path.relative_to(HERE.parent).with_suffix("").parts) for path in runnable]


def commands() -> list[str]:
    """Every benchmark with the words it is run with."""
    return [f"{module} {words}".strip() for module in modules() for words in WORDS.get(module, ("",))]


def main() -> None:
    """Run what was asked for, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="with commas between them, as 'yardstick,dpc adult'")
    parser.add_argument("--missing", action="store_true", help="only those of which nothing is kept")
    parser.add_argument("--write", action="store_true", help="run nothing")
    given = parser.parse_args()
    wanted = [f"benchmarks.{words}" for words in given.only.split(",")] if given.only else commands()
    failed: list[str] = []
    for command in [] if given.write else wanted:
        module, *words = shlex.split(command)
        if given.missing and stored(module, words).exists():
            continue
        print(f"\n=== python -m {command}", flush=True)
        if not run_kept(module, words):
            failed.append(command)
        write_results()
    if given.write:
        print(f"{write_results()} benchmarks are in RESULTS.md")
    if failed:
        sys.exit(f"these did not finish: {', '.join(failed)}")


if __name__ == "__main__":
    main()
