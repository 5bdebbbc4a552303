"""docs/benchmark.md and its plot, written from the list of results alone."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.open.entries import RESULTS
from benchmarks.open.tools import NOT_HERE, TOOLS
from benchmarks.results import HERE

PAGE, PLOT = HERE.parent / "docs" / "benchmark.md", HERE.parent / "docs" / "benchmark.svg"
OURS, FLOOR = "sklar", "independent"
TIED_ERRORS = 2.0
"""Two tools are tied if they differ by less than this number of standard errors of the difference."""
SHOWN = ("k_marginal", "tvd1", "tvd2", "tvd3", "all_3way", "skewed")
LEARNED = ("boosting", "linear", "tree")
ASSUMED_DEVIATION = 0.05
"""Relative spread of errors between runs where none was repeated: an assumption, and the page says so."""
MIN_AUC_LOSS = 0.01
"""Smaller differences of AUC between two tools are not listed: a test set of 2,000 rows has as much noise."""
WEAK_SHARE = 0.15
"""Tables on which Sklar is less close than this share of the real rows, at its largest epsilon, are named."""
WIDTH = 100
EPSILON_TICKS, ERROR_TICKS = (0.1, 0.3, 1, 3, 10), (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
INTRO = """# The open benchmark

Public tables, every tool at the same budget, and entries that anyone can check. This page is
written by `python -m benchmarks.open page` from benchmarks/results/open.jsonl.

"""
HOW = """## How to read it

* **Error** is 1000 minus NIST's k-marginal score: 1000 times the mean share of rows that differ
  between the tables of two columns. tvd1, tvd2 and tvd3 are the same for one, two and three columns
  in 32 equal cells. all 3-way and skewed are AIM's workload errors (twice the distance of three
  columns; over all triples, and over 256 triples in which some columns occur often).
* **Real rows**: a random part of the real rows of this size is as close to the whole table as the
  synthetic rows are. A fresh sample of the same size as the table has 33%.
* **AUC** is the mean of three learners (boosting, logistic regression, tree), trained on synthetic
  rows and tested on a fifth of the real rows that no tool saw; in brackets, trained on real rows.
* **Rank** is by error. Tools are tied that differ by less than two standard errors. {spread}
* Times are CPU seconds of the whole process on a busy machine, start included. Memory is the peak.
* delta is 1e-9. Peers work on at most 32 cells for a column of numbers, from public bounds; the
  k-marginal score cuts numbers into twentieths of their real ranks, which such a grid may miss.
* "Tuned on" means that results on this table were looked at while methods of Sklar were developed.
  The others were not used, as far as the developers' notes say. NIST's national excerpt is tuned
  on.
"""
WEAKNESS = """Columns of real numbers with few distinct values are one reason (randhie, bikeshare, abortion): rows
come out near these values and not on them, unless the schema states `step`, `decimals` or `atoms`,
and bins by rank put a number just above such a value into the next bin. Wide tables and times are
another.

"""
SKLAR_HEAD = """## Sklar on every table

NIST's k-marginal score of 1000, and in brackets the share of the real rows that is as close (a
fresh sample has 33%).

"""
CHECK = """## Check an entry

```bash not-run
python -m benchmarks.open fetch                                  # packages that hold the tables
python -m benchmarks.open run --tables wage --tools sklar --epsilons 1
# Writes wage.zip, and the rows of the table beside it.
python -m benchmarks.open entry wage sklar 1 -o wage.zip
sklar bench verify wage.zip
```

An entry has the checksums of the table, versions, settings, synthetic rows and scores, and for
Sklar the release bundle. `verify` computes the scores again, verifies the release, draws its rows
again, and compares what was released with the exact counts of the public table: the differences
must look like the stated noise. Entries of other tools have no release, so only their scores can be
checked.

A grid can be interrupted: runs that are there are not made again. `--limit` bounds a run, and a run
that exceeds it is listed below. `python -m benchmarks.open nist -o FOLDER` writes the files that
NIST's archive asks for.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """All repetitions of a tool on a table at an epsilon."""

    table: str
    tool: str
    epsilon: float | None
    runs: tuple[dict[str, Any], ...]

    def mean(self, score: str) -> float | None:
        """Return the mean of a score over repetitions; None if a run has none."""
        values = [run["scores"].get(score) for run in self.runs]
        return None if not values or any(value is None for value in values) else float(np.mean(values))

    @property
    def error(self) -> float:
        """1000 minus the k-marginal score."""
        return 1000.0 - (self.mean("k_marginal") or 0.0)

    @property
    def auc(self) -> tuple[float, float] | None:
        """Mean AUC of the learners, trained on synthetic and on real rows."""
        made = [self.mean(f"auc_{learner}") for learner in LEARNED]
        real = [self.mean(f"auc_{learner}_real") for learner in LEARNED]
        known = [value for value in (*made, *real) if value is not None]
        return (float(np.mean(known[:3])), float(np.mean(known[3:]))) if len(known) == 6 else None


def read_results(path: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the runs of the list."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def group(results: Iterable[dict[str, Any]]) -> dict[tuple[str, float], list[Cell]]:
    """Return the cells of each table and epsilon, best first; a tool without epsilon stands at every one."""
    runs: dict[tuple[str, str, float | None], list[dict[str, Any]]] = defaultdict(list)
    for one in results:
        if one["status"] == "ok":
            runs[one["table"], one["tool"], one["epsilon"]].append(one)
    cells = [Cell(table=t, tool=tool, epsilon=e, runs=tuple(some)) for (t, tool, e), some in runs.items()]
    places = sorted({(cell.table, cell.epsilon) for cell in cells if cell.epsilon is not None})
    return {
        (table, epsilon): sorted(
            (cell for cell in cells if cell.table == table and cell.epsilon in (None, epsilon)), key=lambda c: c.error
        )
        for table, epsilon in places
    }


def relative_error(cells: Iterable[Cell]) -> float:
    """Return the standard deviation of the logarithm of the error over repetitions, pooled over cells of our tool."""
    spread = [
        np.var(np.log([1000.0 - run["scores"]["k_marginal"] for run in cell.runs]), ddof=1)
        for cell in cells
        if cell.tool == OURS and len(cell.runs) > 1
    ]
    return float(np.sqrt(np.mean(spread))) if spread else ASSUMED_DEVIATION


def are_tied(one: Cell, other: Cell, deviation: float) -> bool:
    """Whether two tools differ by less than the noise of their repetitions explains."""
    error = deviation * math.sqrt(1 / len(one.runs) + 1 / len(other.runs))
    return abs(math.log(max(one.error, 1e-9) / max(other.error, 1e-9))) < TIED_ERRORS * error


def rank(cells: Sequence[Cell], deviation: float) -> list[int]:
    """Return ranks of cells in order of their errors; a cell that is tied with the first of a rank shares it."""
    ranks: list[int] = []
    first = 0
    for at, cell in enumerate(cells):
        if at and not are_tied(cell, cells[first], deviation):
            first = at
        ranks.append(first + 1)
    return ranks


def write_page() -> Path:
    """Write page and plot."""
    results = read_results()
    groups = group(results)
    deviation = relative_error(cell for cells in groups.values() for cell in cells)
    parts = [
        INTRO, _summary(groups, deviation), _ours(results, groups), f"![Error over epsilon]({PLOT.name})\n\n",
        HOW.replace("{spread}", _spread(groups, deviation)), _versions(results), _peers(groups, deviation),
        _left_out(results), CHECK,
    ]  # fmt: skip
    PAGE.write_text("".join(parts))
    draw(groups, PLOT)
    return PAGE


def _spread(groups: dict[tuple[str, float], list[Cell]], deviation: float) -> str:
    """Say where the standard errors come from."""
    if any(cell.tool == OURS and len(cell.runs) > 1 for cells in groups.values() for cell in cells):
        return f"Errors of\n  repeated runs of Sklar differ by {deviation:.1%}; those of peers are taken to do so, too."
    return f"No run was\n  repeated here: errors of all tools are assumed to differ by {deviation:.0%} between runs."


def _versions(results: list[dict[str, Any]]) -> str:
    """Return the versions that made the results, each with its number of runs."""
    runs = Counter(("Sklar " if one["tool"] in (OURS, FLOOR) else "") + one["version"] for one in results)
    listed = "; ".join(f"{version} ({count})" for version, count in sorted(runs.items()))
    text = f"* Versions (of Sklar with a checksum of the code that fits) and their runs: {listed}."
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False) + "\n\n"


def _summary(groups: dict[tuple[str, float], list[Cell]], deviation: float) -> str:
    """Say first where Sklar is not ahead, then count."""
    losses, learned, counts = list[str](), list[str](), defaultdict[float, list[int]](lambda: [0, 0, 0])
    peers: set[str] = set()
    for (table, epsilon), cells in groups.items():
        ours = next((cell for cell in cells if cell.tool == OURS), None)
        rivals = [cell for cell in cells if cell.tool not in (OURS, FLOOR) and TOOLS[cell.tool].private]
        if ours is None or not rivals:
            continue
        best, peers = rivals[0], peers | {TOOLS[cell.tool].title for cell in rivals}
        known = [cell for cell in rivals if cell.auc]
        ahead = max(known, key=lambda cell: cell.auc[0], default=None)
        if ahead is not None and ours.auc is not None and ahead.auc[0] - ours.auc[0] > MIN_AUC_LOSS:
            title = TOOLS[ahead.tool].title
            learned.append(f"| {table} | {epsilon:g} | {ours.auc[0]:.3f} | {title} | {ahead.auc[0]:.3f} |")
        tied = are_tied(ours, best, deviation)
        counts[epsilon][1 if tied else 0 if ours.error < best.error else 2] += 1
        if not tied and ours.error > best.error:
            title = TOOLS[best.tool].title
            losses.append(f"| {table} | {epsilon:g} | {ours.error:.1f} | {title} | {best.error:.1f} |")
    text = "## Where Sklar is behind a private peer\n\n"
    if losses:
        head = "| table | epsilon | error of Sklar | best peer | its error |\n|---|---|---|---|---|\n"
        text += head + "\n".join(losses) + "\n\n"
    else:
        text += "By error: nowhere among the runs that were made.\n\n"
    if learned:
        head = "| table | epsilon | AUC of Sklar | best peer | its AUC |\n|---|---|---|---|---|\n"
        text += "Learners trained on its rows are behind here:\n\n" + head + "\n".join(learned) + "\n\n"
    lines = [f"| {epsilon:g} | {a} | {t} | {b} |" for epsilon, (a, t, b) in sorted(counts.items())]
    head = "| epsilon | ahead of the best private peer | tied | behind |\n|---|---|---|---|\n"
    text += "Number of tables, of those on which at least one private peer was run\n"
    return text + f"({', '.join(sorted(peers)) or 'none'}):\n\n" + head + "\n".join(lines) + "\n\n" + _weak(groups)


def _weak(groups: dict[tuple[str, float], list[Cell]]) -> str:
    """Name the tables on which even the largest budget leaves Sklar far from the real rows."""
    last: dict[str, Cell] = {}
    for cells in groups.values():
        last |= {cell.table: cell for cell in cells if cell.tool == OURS}
    shares = {name: cell.mean("real_rows_share") or 0.0 for name, cell in last.items()}
    named = [
        f"* {name}: {shares[name]:.0%} at epsilon {last[name].epsilon:g}"
        for name in sorted(shares, key=lambda name: shares[name])
        if shares[name] < WEAK_SHARE
    ]
    head = f"## Where Sklar is weak\n\nTables on which its rows are less close than {WEAK_SHARE:.0%} of the real rows, "
    return head + "at the largest epsilon that was\nrun:\n\n" + ("\n".join(named) or "none.") + "\n\n" + WEAKNESS


def _ours(results: list[dict[str, Any]], groups: dict[tuple[str, float], list[Cell]]) -> str:
    """One line for each table: Sklar at each epsilon."""
    epsilons = sorted({epsilon for _, epsilon in groups})
    facts = {one["table"]: one for one in results}
    rows = ["| table | rows x columns | tuned on | " + " | ".join(f"epsilon {e:g}" for e in epsilons) + " | AUC at 1 |",
            "|---" * (4 + len(epsilons)) + "|"]  # fmt: skip
    for table in sorted({table for table, _ in groups}):
        one = facts[table]
        shown = [_short(next((c for c in groups.get((table, e), []) if c.tool == OURS), None)) for e in epsilons]
        ours = next((c for c in groups.get((table, 1.0), []) if c.tool == OURS), None)
        auc = "" if ours is None or ours.auc is None else f"{ours.auc[0]:.3f} ({ours.auc[1]:.3f})"
        size, tuned = f"{one['rows']:,} x {one['columns']}", "yes" if one["tuned"] else "no"
        rows.append(f"| {table}: {one['about']} | {size} | {tuned} | {' | '.join(shown)} | {auc} |")
    return SKLAR_HEAD + "\n".join(rows) + "\n\n"


def _short(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return f"{cell.mean('k_marginal') or 0:.0f} ({cell.mean('real_rows_share') or 0:.0%})"


def _peers(groups: dict[tuple[str, float], list[Cell]], deviation: float) -> str:
    """All scores of all tools, by table and epsilon."""
    head = "| table | epsilon | rank | tool | " + " | ".join(name.replace("_", " ") for name in SHOWN)
    rows = [f"{head} | real rows | AUC | CPU s | MB |", "|---" * (len(SHOWN) + 8) + "|"]
    for (table, epsilon), cells in groups.items():
        if {cell.tool for cell in cells} <= {OURS, FLOOR}:
            continue
        for place, cell in zip(rank(cells, deviation), cells, strict=True):
            auc = "" if cell.auc is None else f"{cell.auc[0]:.3f} ({cell.auc[1]:.3f})"
            scores = " | ".join(_number(name, cell.mean(name)) for name in SHOWN)
            share = f"{cell.mean('real_rows_share') or 0:.1%}"
            cpu, memory = (np.mean([run[what] for run in cell.runs]) for what in ("cpu", "memory"))
            title = TOOLS[cell.tool].title
            rows.append(
                f"| {table} | {epsilon:g} | {place} | {title} | {scores} | {share} | {auc} | {cpu:.0f} | {memory:.0f} |"
            )
    return "## Against other tools\n\n" + "\n".join(rows) + "\n\n"


def _number(name: str, value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if name == "k_marginal" else f"{value:.4f}"


def _left_out(results: list[dict[str, Any]]) -> str:
    """Tools and runs without a result, with the reason."""
    lines = [f"* {name}: {why}." for name, why in NOT_HERE.items()]
    made = {one["tool"] for one in results}
    lines += [f"* {tool.title}: there is a recipe, and no run." for name, tool in TOOLS.items() if name not in made]
    for tool in sorted(made - {OURS, FLOOR}):
        tables = sorted({one["table"] for one in results if one["tool"] == tool and one["status"] == "ok"})
        listed = sorted({one["epsilon"] or 0.0 for one in results if one["tool"] == tool})
        at = " at epsilon " + ", ".join(f"{epsilon:g}" for epsilon in listed) if TOOLS[tool].private else ""
        run = f"* {TOOLS[tool].title}: run{at} on {', '.join(tables)}; on no others."
        lines.append(textwrap.fill(run, WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    for one in results:
        if one["status"] != "ok":
            why = f"exceeded {one['limit']:g} s" if one["status"] == "timeout" else "failed"
            lines.append(f"* {TOOLS[one['tool']].title} {why} on {one['table']} at epsilon {one['epsilon']:g}.")
    return "## What was not run\n\n" + "\n".join(lines) + "\n\n"


def draw(groups: dict[tuple[str, float], list[Cell]], path: Path) -> None:
    """Draw errors over epsilon for every tool, relative to independent columns: tools were run on different tables."""
    import matplotlib as mpl
    import matplotlib.ticker

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "sklar"}
    ratios: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (_, epsilon), cells in groups.items():
        floor = next((cell.error for cell in cells if cell.tool == FLOOR), None)
        for cell in cells:
            if floor:
                ratios[cell.tool][epsilon].append(math.log(cell.error / floor))
    figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    for tool in sorted(ratios, key=list(TOOLS).index):
        at = sorted(ratios[tool])
        tables = max(len(ratios[tool][e]) for e in at)
        label = f"{TOOLS[tool].title}, {tables} table{'s' * (tables > 1)}"
        axes.plot(at, [math.exp(np.mean(ratios[tool][e])) for e in at], marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="error, as a multiple of independent columns'")
    for axis, ticks in ((axes.xaxis, EPSILON_TICKS), (axes.yaxis, ERROR_TICKS)):
        low, high = axis.get_view_interval()
        shown = [tick for tick in ticks if low <= tick <= high]
        axis.set_ticks(shown, [f"{tick:g}" for tick in shown])
        axis.set_minor_locator(mpl.ticker.NullLocator())
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
