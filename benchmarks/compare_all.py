"""The whole yardstick in one table: `python -m benchmarks.compare_all`. Ours beside MST, AIM, PrivBayes, independent.

Tables, split and metrics are those of the yardstick, see benchmarks.yardstick. Every system runs as an external command
with a limit of time and memory, each table, epsilon and seed once; the most telling cells come first.
Every finished cell is kept at once in --store, so a run that was stopped continues; `--print` only prints the table.
Peers need their environment: `benchmarks/peers/setup dpmm`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.metrics import all_scores
from benchmarks.tables import load
from sklar.errors import PeerError
from sklar.lab.compare.peers import Limits, adopt_orphans, run_peer

HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "compare_all.jsonl"
TABLES = ("adult", "compas", "tail6", "gauss8", "support2", "sim20")
OURS = ("vine", "independent", "vine+target", "dpcopula-kendall", "dpc-gauss")
PEERS = {
    "mst": "dpmm mst",
    "aim": "dpmm aim",
    "privbayes": "dpmm privbayes",
    "aim-smartnoise": "smartnoise aim",
}
FIRST = (
    "vine", "independent", "mst", "vine+target", "privbayes", "aim", "aim-smartnoise", "dpcopula-kendall", "dpc-gauss",
)  # fmt: skip
"""Systems, most telling first."""
EPSILONS = (1.0, 0.5, 3.0)
SHOWN = ("tvd1", "tvd2", "tvd3", "rho_delta", "range_rel", "auc_synth")
DELTA = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One system on one table, at one epsilon, with one seed of the split."""

    table: str
    system: str
    epsilon: float
    seed: int

    @property
    def key(self) -> tuple[str, str, float, int]:
        """What tells cells apart."""
        return self.table, self.system, self.epsilon, self.seed


def plan(
    tables: list[str], systems: list[str], epsilons: list[float], seeds: list[int], peer_seeds: list[int]
) -> list[Cell]:
    """All cells: first seed before further ones, epsilon 1 before others, and the most telling systems first."""
    cells = [
        Cell(table=table, system=system, epsilon=epsilon, seed=seed)
        for system in systems
        for table in tables
        for epsilon in epsilons
        for seed in (peer_seeds if system in PEERS else seeds)
    ]
    order = [name for name in FIRST if name in systems] + [name for name in systems if name not in FIRST]

    def place(cell: Cell) -> tuple[Any, ...]:
        # The cheap core (vine, independent, MST at epsilon 1), then all at epsilon 1, then the other epsilons.
        core = order.index(cell.system) >= 3
        return (
            cell.seed != seeds[0],
            cell.epsilon != epsilons[0],
            core,
            order.index(cell.system),
            tables.index(cell.table),
        )

    return sorted(cells, key=place)


def command(system: str, target: str | None) -> str | None:
    """How a system is started; None if it makes no sense for this table."""
    if system in PEERS:
        return f"{shlex.quote(str(HERE / 'peers' / 'run'))} {PEERS[system]}"
    method, _, with_target = system.partition("+")
    if with_target and target is None:
        return None
    options = json.dumps({"target": target} if with_target else {})
    script = HERE / "peers" / "sklar" / "run.py"
    return shlex.join([sys.executable, str(script), method, options])


def run_cell(cell: Cell, limits: Limits) -> dict[str, Any] | None:
    """The metrics of a cell, or the reason why there are none; None if there is nothing to do."""
    split = load(cell.table, seed=cell.seed)
    words = command(cell.system, split.target)
    if words is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="sklar-yardstick-"))
    try:
        split.frame.to_parquet(folder / "train.parquet", index=False)
        split.schema.write(folder / "schema.toml")
        told = {
            "train": str(folder / "train.parquet"), "schema": str(folder / "schema.toml"),
            "epsilon": f"{cell.epsilon:g}", "delta": f"{DELTA:g}", "rows": str(len(split.frame)),
        }  # fmt: skip
        ended = run_peer(words, told, folder, folder / "log", limits)
        made = read_made(ended.output, list(split.schema.modelled))
        plain = {name: round(value, 5) for name, value in all_scores(split, made, cell.seed).items()}
        return {"status": "ok", "seconds": round(ended.seconds, 1), "peak_gb": round(ended.peak / 1e9, 2), **plain}
    except PeerError as error:
        last = _last_line(folder / "log")
        return {"status": "failed", "reason": str(error) + (f" ({last})" if last and not error.stopped else "")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_made(path: Path, names: list[str]) -> Any:
    """The synthetic table, with the columns of the real one."""
    import pandas as pd

    made = pd.read_parquet(path)
    missing = [name for name in names if name not in made]
    if missing:
        raise PeerError(f"its table lacks columns {missing[:3]}")
    return made[names]


def _last_line(log: Path) -> str:
    try:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    return lines[-1][:200] if lines else ""


def read_store(path: Path) -> dict[tuple[str, str, float, int], dict[str, Any]]:
    """Results by cell; a line cut short by a crash is left out, and the last one of a cell counts."""
    found: dict[tuple[str, str, float, int], dict[str, Any]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            found[row["table"], row["system"], float(row["epsilon"]), int(row["seed"])] = row
        except (ValueError, KeyError, TypeError):
            continue
    return found


def keep(path: Path, cell: Cell, result: dict[str, Any]) -> None:
    """Add a line to the store, and see that it is on the disk."""
    row = {
        "table": cell.table, "system": cell.system, "epsilon": cell.epsilon, "seed": cell.seed, **result,
        "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()), "python": platform.python_version(),
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            file.write("\n")
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


def table_lines(found: dict[tuple[str, str, float, int], dict[str, Any]], tables: list[str]) -> Iterator[str]:
    """The table in the form of RESULTS.md, and where the vine stands against the best peer."""
    yield "| table | epsilon | system | " + " | ".join(SHOWN[:-1]) + " | AUC (real) | seeds | seconds | GB |"
    yield "|" + "---|" * (len(SHOWN) + 6)
    for table in tables:
        for epsilon in sorted({key[2] for key in found if key[0] == table}):
            for system in FIRST:
                rows = [row for key, row in found.items() if key[:3] == (table, system, epsilon)]
                if rows:
                    yield _line(table, epsilon, system, rows)
    yield ""
    yield from _against_peers(found, tables)


def _line(table: str, epsilon: float, system: str, rows: list[dict[str, Any]]) -> str:
    good = [row for row in rows if row["status"] == "ok"]
    head = f"| {table} | {epsilon:g} | {system} | "
    if not good:
        return head + rows[0]["reason"] + " |" * (len(SHOWN) + 3)
    cells = [_mean(good, name) for name in SHOWN[:-1]]
    auc = "" if "auc_synth" not in good[0] else f"{_mean(good, 'auc_synth', 3)} ({_mean(good, 'auc_real', 3)})"
    seeds = f"{len(good)}" + (f" of {len(rows)}" if len(good) < len(rows) else "")
    return head + " | ".join([*cells, auc, seeds, _mean(good, "seconds", 0), _mean(good, "peak_gb", 1)]) + " |"


def _mean(rows: list[dict[str, Any]], name: str, digits: int = 4) -> str:
    values = [row[name] for row in rows if row.get(name) is not None]
    return f"{fmean(values):.{digits}f}" if values else ""


def _against_peers(found: dict[tuple[str, str, float, int], dict[str, Any]], tables: list[str]) -> Iterator[str]:
    """One line for each comparison in which the vine is behind the best peer on the seeds they share."""
    ahead, behind = 0, list[str]()
    for table in tables:
        for epsilon in sorted({key[2] for key in found}):
            for metric in ("tvd2", "tvd3", "rho_delta", "auc_synth"):
                values = {s: _shared(found, table, s, epsilon, metric) for s in ("vine", *PEERS)}
                ours, peers = values.pop("vine"), {s: v for s, v in values.items() if v is not None}
                if ours is None or not peers:
                    continue
                best = (max if metric == "auc_synth" else min)(peers, key=lambda s: peers[s] or 0.0)
                better = ours >= peers[best] if metric == "auc_synth" else ours <= peers[best]
                ahead += better
                if not better:
                    behind.append(f"{metric} of {table} at epsilon {epsilon:g}: {ours:.4f}, {best} {peers[best]:.4f}")
    yield f"vine is on or ahead of the best peer in {ahead} of {ahead + len(behind)} comparisons (first seed)."
    yield from (f"* behind in {line}" for line in behind)


def _shared(found: dict[Any, dict[str, Any]], table: str, system: str, epsilon: float, metric: str) -> float | None:
    row = found.get((table, system, epsilon, 0))
    return None if row is None else row.get(metric)


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--systems", default=",".join((*OURS, "mst", "privbayes", "aim")))
    parser.add_argument("--epsilons", default="1,0.5,3", help="the first one comes first")
    parser.add_argument("--seeds", default="0,1,2", help="seeds of our systems")
    parser.add_argument("--peer-seeds", default="0", help="seeds of the peers, which are slow")
    parser.add_argument("--timeout", type=float, default=1500.0, help="seconds a cell may take")
    parser.add_argument("--memory", type=float, default=12.0, help="gigabytes a cell may take")
    parser.add_argument("--budget", type=float, help="seconds after which no further cell is begun")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--retry", action="store_true", help="try failed cells again")
    parser.add_argument("--print", action="store_true", dest="only_print")
    given = parser.parse_args()
    tables, systems = given.tables.split(","), given.systems.split(",")
    seeds, peer_seeds = ([int(s) for s in text.split(",")] for text in (given.seeds, given.peer_seeds))
    cells = plan(tables, systems, [float(e) for e in given.epsilons.split(",")], seeds, peer_seeds)
    if not given.only_print:
        work(cells, given)
    print("\n".join(table_lines(read_store(given.store), tables)))


def work(cells: list[Cell], given: argparse.Namespace) -> None:
    """Run every cell that has no result."""
    adopt_orphans()
    began = time.monotonic()
    done = read_store(given.store)
    missing = [c for c in cells if c.key not in done or (given.retry and done[c.key]["status"] != "ok")]
    limits = Limits(seconds=given.timeout, memory=int(given.memory * 1e9))
    for at, cell in enumerate(missing, 1):
        if given.budget is not None and time.monotonic() - began > given.budget:
            print(f"stopped after {at - 1} cells; {len(missing) - at + 1} are left", file=sys.stderr)
            return
        result = run_cell(cell, limits)
        if result is None:
            continue
        keep(given.store, cell, result)
        text = " ".join(f"{k}={v}" for k, v in result.items())
        print(
            f"[{at}/{len(missing)}] {cell.table} {cell.system} {cell.epsilon:g} {cell.seed}: {text}",
            file=sys.stderr,
            flush=True,
        )


if __name__ == "__main__":
    main()
