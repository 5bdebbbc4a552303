"""Commands of the open benchmark: `python -m benchmarks.open run --tools sklar,mst_dpmm --epsilons 1,10`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.open import entries, packages, page, runs, submission, tables
from benchmarks.open.tools import TOOLS


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.open", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="download the packages that hold tables")
    commands.add_parser("tables", help="list the tables at hand")
    run = commands.add_parser("run", help="make synthetic rows that are not there yet")
    run.add_argument("--tables", help="names, with commas; by default all")
    run.add_argument("--tools", default="sklar", help="names, with commas; " + ", ".join(TOOLS))
    run.add_argument("--epsilons", default="0.3,1,3,10")
    run.add_argument("--repetitions", default="0", help="numbers, with commas")
    run.add_argument("--limit", type=float, default=900.0, help="seconds for one run")
    commands.add_parser("score", help="score what is not scored yet, and list all results")
    commands.add_parser("page", help="write docs/benchmark.md from the list of results")
    entry = commands.add_parser("entry", help="write the entry of a run, with the rows of its table beside it")
    entry.add_argument("table")
    entry.add_argument("tool", choices=TOOLS)
    entry.add_argument("epsilon", type=float)
    entry.add_argument("-o", "--output", type=Path, required=True)
    verify = commands.add_parser("verify", help="verify an entry with the rows of its table")
    verify.add_argument("entry", type=Path)
    nist = commands.add_parser("nist", help="write the files for NIST's archive")
    nist.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "fetch":
        print(*packages.fetch(), sep="\n")
    elif given.command == "tables":
        _list_tables()
    elif given.command == "run":
        _run(given)
    elif given.command == "score":
        print(f"{len(entries.collect())} runs are listed in {entries.RESULTS}")
    elif given.command == "page":
        print(page.write_page())
    elif given.command == "entry":
        print(*entries.write(given.table, given.tool, given.epsilon, given.output), sep="\n")
    elif given.command == "nist":
        print(*submission.prepare(given.output), sep="\n")
    elif given.command == "verify":
        found = entries.check(given.entry)
        print(found)
        sys.exit(0 if found.ok else 1)


def _list_tables() -> None:
    for name in tables.table_names():
        one = tables.load(name)
        rows = len(one.frame) + (0 if one.test is None else len(one.test))
        mark = "tuned on" if one.tuned else "not tuned on"
        print(f"{name:20s} {rows:7d} x {len(one.schema.modelled):3d}  {mark:12s}  {one.sha256[:12]}  {one.about}")


def _run(given: argparse.Namespace) -> None:
    wanted = given.tables.split(",") if given.tables else tables.table_names()
    for name in wanted:
        table = tables.load(name)
        for tool in given.tools.split(","):
            for epsilon in map(float, given.epsilons.split(",")):
                for repetition in map(int, given.repetitions.split(",")):
                    _run_one(table, tool, epsilon, repetition, given.limit)


def _run_one(table: tables.OpenTable, tool: str, epsilon: float, repetition: int, limit: float) -> None:
    run = runs.planned(table, tool, epsilon, repetition)
    if run is None:
        print(f"{tool} is not installed here: not run", flush=True)
        return
    found = runs.kept(run, limit)
    done = found or runs.make(run, table, limit)
    how = "kept" if found else done.status
    print(
        f"{table.name} {tool} {epsilon:g} #{repetition}: {how}, {done.cpu:.0f} s of CPU {done.says[-200:]}", flush=True
    )


if __name__ == "__main__":
    main()
