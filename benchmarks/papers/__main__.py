"""Reproductions: `python -m benchmarks.papers NAME ... [--profile quick|paper] [--out FOLDER]`, or `--all`.

Each prints the paper's value, ours as published and ours by default side by side. The profile `quick` has fewer rows,
levels, games and runs, and says so on the page; `paper` has the paper's sizes. Options of the scripts are passed on.

What each printed is kept with its pictures as a page, NAME.md, and the folder's README.md lists them with their
seconds. One that fails, as for a table that cannot be fetched, or that takes longer than `--limit` seconds, is named
and does not stop the others. Pages of scripts that are not run again stay.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "papers"
TIMES = "times.json"
"""What the list is made of, so that a run of some scripts keeps the lines of the others."""
QUICK_LIMIT = 600.0
"""Seconds of a script in a quick run: the longest took 454 s, and all 24 together 37 minutes, on two busy cores."""
NOTES = (
    "Why they differ",
    "Beside the paper",
    "The paper prints",
    "PrivBayes here has",
    "paper:",
    "paper (",
    "paper, ",
)
"""Beginnings of the lines below the numbers that explain them."""
COLUMNS = (
    "Column `paper` has the number printed in the paper (`chart`: it is only drawn there), `as published` that of the "
    "same method with the paper's settings, and `ours` that of Sklar's default settings."
)
INTRODUCTION = """# Figures and tables of the papers

Each page repeats a figure or table of a paper: the paper's numbers, the same method with the
paper's settings, and Sklar's own. Pages are written by
`python -m benchmarks.papers NAME --profile PROFILE`.

| profile | sizes |
|---|---|
| `paper` | those of the paper |
| `quick` | few rows, levels, games and runs: shows that a script works, and the direction of effects |

| word | meaning |
|---|---|
| level | truncation level: the number of vine trees that are kept; more trees fit closer and protect less |
| real rows, floor | the same score for real rows in place of synthetic ones |
| stand-in | a generated table in place of one that may not be handed on |
| Q1, Q2, Q3 | all counts of one value, of two values together, and of three values together |
| MAB, WCAB | mean and greatest absolute regression coefficient about a sensitive column; lower protects better |
| PG | privacy gain: 1 if a membership attack learns nothing |
| PU_t | weighted mean of privacy and utility at level t |
| ks, rho | Kolmogorov-Smirnov distance of single columns; mean error of Spearman correlations |
| mcc2, mccn, rmse | Matthews correlation for two and for several classes; error of a linear regression |
"""
GRACE = 10
"""Seconds that a stopped script has to end its own processes."""
DRAWS = "--quick --out {out}"
FOLDS = f"{DRAWS} --tables compas"
QUICK = {
    "galloni_table1": "", "galloni_figure1": DRAWS, "shirley_table2": "--seeds 1", "shirley_models": DRAWS,
    "dpcopula_distribution": DRAWS, "dpcopula_sweeps": DRAWS, "dpcopula_time": DRAWS, "dpcopula_hybrid": DRAWS,
    "tvine_matrices": f"{DRAWS} --levels 1,10,20", "tvine_fidelity": f"{DRAWS} --levels 1,20",
    "tvine_utility": f"{DRAWS} --levels 1,10,20", "tvine_mse": f"{DRAWS} --levels 1,17,20",
    "tvine_attribute": f"{DRAWS} --levels 1,5,10,11,12,15,16,17,18,19,20",
    "tvine_tradeoff": f"{DRAWS} --levels 1,11,20",
    "tvine_membership": f"{DRAWS} --levels 1,20", "tvine_overview": f"{DRAWS} --levels 1,10,25",
    "tvine_published": DRAWS, "tvine_order": f"{DRAWS} --levels 1,10,25", "galloni_adult": DRAWS, "dpc_curves": DRAWS,
    "dpc_pure": DRAWS, "dpcopula_joint": "--quick",
    "shirley_privacy": DRAWS, "shirley_comparison": FOLDS, "shirley_encoder": FOLDS, "shirley_mechanism": FOLDS,
    "shirley_split": FOLDS, "shirley_truncation": FOLDS,
}  # fmt: skip
"""Every script and the words of a quick run; those that need no file come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a script ended."""

    about: str
    command: str
    seconds: int
    ended: str
    profile: str = "quick"


def run_one(name: str, profile: str, out: Path, limit: float | None, more: Sequence[str] = ()) -> Run:
    """Run a script, show what it prints, and write its page."""
    words = " ".join((words_of(name, profile), *more))
    began, lines, late = time.monotonic(), list[str](), list[int]()
    command = [sys.executable, "-m", f"benchmarks.papers.{name}", *words.format(out=out).split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True) as process:
        assert process.stdout is not None
        if limit is not None:
            signal.signal(signal.SIGALRM, lambda *_: _stop(process.pid, late))
            signal.alarm(int(limit))
        try:
            for line in process.stdout:
                print(line, end="", flush=True)
                lines.append(line)
        finally:
            signal.alarm(0)
    seconds = round(time.monotonic() - began)
    ended = f"stopped after {limit:.0f} s" if late else "ended well" if process.returncode == 0 else "failed"
    print(f"({seconds} s, {ended})", flush=True)
    shown = " ".join(("python -m benchmarks.papers", name, "--profile", profile, *more))
    found = Run(about=about(name), command=shown, seconds=seconds, ended=ended, profile=profile)
    write_page(name, found, "".join(lines), out)
    return found


def words_of(name: str, profile: str) -> str:
    """The words of a script in a profile: without any, its sizes are the paper's."""
    return QUICK[name] if profile == "quick" else "--out {out}" if "{out}" in QUICK[name] else ""


def _stop(group: int, late: list[int]) -> None:
    """Interrupt a script, so that it ends what it started; what does not heed that is killed."""
    os.killpg(group, signal.SIGKILL if late else signal.SIGINT)
    late.append(group)
    signal.alarm(GRACE)


def about(name: str) -> str:
    """The first sentence of a script."""
    spec = importlib.util.find_spec(f"benchmarks.papers.{name}")
    text = Path(spec.origin if spec and spec.origin else "").read_text()
    return text.split('"""')[1].split("\n\n")[0].split("`python")[0].strip().rstrip(".")


def write_page(name: str, run: Run, printed: str, out: Path) -> None:
    """Write the page of a script: its numbers, what they mean, its notes, and the pictures that it drew."""
    drawn = [Path(line.removeprefix("drawn: ").strip()) for line in printed.splitlines() if line.startswith("drawn: ")]
    plain = [line for line in printed.splitlines() if not line.startswith("drawn: ")]
    first_note = next((at for at, line in enumerate(plain) if line.startswith(NOTES)), len(plain))
    numbers, notes = "\n".join(plain[:first_note]), paragraphs(plain[first_note:])
    pictures = [f"![{path.stem}]({path.name})" for path in drawn if path.exists()]
    # A heading cannot be wrapped: the paper and its figures are the heading, and what they show is a line below.
    heading, _, what = run.about.partition(": ")
    parts = [
        f"# {heading}",
        fill(f"{what[0].upper() if what[1:2].isalpha() else what[0]}{what[1:]}.") if what else "",
        fill(describe_run(run)),
    ]
    parts += [fill(COLUMNS)] if "as published" in numbers else []
    parts += [f"```text\n{numbers}\n```", *notes, *pictures]
    (out / f"{name}.md").write_text("\n\n".join(part for part in parts if part) + "\n")


def describe_run(run: Run) -> str:
    """Say how the numbers of a page were made."""
    return (
        f"Made by `{run.command}` in {run.seconds} s ({run.ended}), with the sizes of the profile `{run.profile}`. "
        "[The list of pages](README.md) explains profiles and words."
    )


def paragraphs(lines: Sequence[str]) -> list[str]:
    """Join the lines of notes to paragraphs; each starts like one of `NOTES`."""
    found: list[str] = []
    for line in lines:
        if line.startswith(NOTES) or not found:
            found.append(line)
        else:
            found[-1] += f" {line.strip()}"
    return [fill(text) for text in found]


def fill(text: str) -> str:
    """Wrap a paragraph at 100 characters, without breaks inside of code."""
    whole = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), text)
    return textwrap.fill(whole, 100, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def write_list(runs: Mapping[str, Run], out: Path) -> None:
    """Write the list of pages, with what their words mean."""
    (out / TIMES).write_text(json.dumps({name: asdict(run) for name, run in runs.items()}, indent=1) + "\n")
    rows = [
        f"| [{name}]({name}.md) | {run.about} | {run.profile} | {run.seconds} s, {run.ended} |"
        for name, run in runs.items()
    ]
    total = sum(run.seconds for run in runs.values()) / 60
    head = "| script | what | profile | time |\n|---|---|---|---|\n"
    text = fill(f"All pages together took {total:.0f} minutes.")
    (out / "README.md").write_text(f"{INTRODUCTION}\n{text}\n\n{head}" + "\n".join(rows) + "\n")


def main() -> None:
    """Run all of them, or those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(QUICK))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--profile", default="quick", choices=["quick", "paper"], help="paper: the paper's sizes")
    parser.add_argument("--out", type=Path, default=PAGES, help="folder of pages and pictures")
    parser.add_argument("--limit", type=float, help=f"seconds a script may take; {QUICK_LIMIT:.0f} of a quick run")
    given, more = parser.parse_known_args()
    unknown = sorted(set(given.names) - set(QUICK))
    if unknown or not (given.all or given.names):
        parser.error(f"name scripts, or --all; there are: {', '.join(QUICK)}")
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    before = json.loads((out / TIMES).read_text()) if (out / TIMES).exists() else {}
    runs = {name: Run(**before[name]) for name in QUICK if name in before}
    asked = list(QUICK) if given.all else given.names
    for name in asked:
        print(f"\n=== python -m benchmarks.papers {name} --profile {given.profile}", flush=True)
        limit = given.limit or (QUICK_LIMIT if given.profile == "quick" else None)
        runs[name] = run_one(name, given.profile, out, limit, more)
        write_list({known: runs[known] for known in QUICK if known in runs}, out)
    bad = [name for name in asked if runs[name].ended != "ended well"]
    if bad:
        sys.exit(f"these did not finish: {', '.join(bad)}")


if __name__ == "__main__":
    main()
