"""What benchmarks printed, kept with command, time and versions, and listed in RESULTS.md between its markers.

Each benchmark's output is a file in benchmarks/results; `python -m benchmarks.all` makes them and writes RESULTS.md.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sklar.arrays import usable_cores

HERE = Path(__file__).resolve().parent
STORE = HERE / "results"
RESULTS = HERE / "RESULTS.md"
BEGIN, END = "<!-- printed: begin -->", "<!-- printed: end -->"
LIBRARIES = ("numpy", "scipy", "numba", "opendp", "pyvinecopulib", "pyarrow")
TITLE = (
    "## As printed\n\nWhat each benchmark printed when it was last kept, in full, is in its file of benchmarks/results "
    "(wall time on a loaded machine); above is what it means.\n\n"
    "| command | when | seconds | file |\n|---|---|---|---|\n"
)


def run_kept(module: str, words: list[str]) -> bool:
    """Run a benchmark, show what it prints, and keep it; whether it ended well."""
    command = [sys.executable, "-m", module, *words]
    began, lines = time.monotonic(), list[str]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    facts = {
        "command": " ".join(["python", "-m", module, *words]), "code": process.returncode,
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "seconds": round(time.monotonic() - began, 1),
        "versions": versions(), "cores": usable_cores(), "output": "".join(lines),
    }  # fmt: skip
    STORE.mkdir(exist_ok=True)
    place = stored(module, words)
    place.with_suffix(".tmp").write_text(json.dumps(facts, indent=1))
    place.with_suffix(".tmp").replace(place)
    return process.returncode == 0


def stored(module: str, words: list[str]) -> Path:
    """Where the output of a benchmark is kept."""
    name = "_".join([module.removeprefix("benchmarks."), *words])
    return STORE / f"{''.join(c if c.isalnum() or c in '._-' else '_' for c in name)}.json"


def versions() -> dict[str, str]:
    """Of Python and the libraries that matter."""
    out = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            continue
    return out


def write_results() -> int:
    """List everything that is kept between the markers of RESULTS.md, at its end if it has none; how many there are."""
    lines = [_line(path) for path in sorted(STORE.glob("*.json"))]
    text = RESULTS.read_text()
    if BEGIN not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    RESULTS.write_text(f"{head}{BEGIN}\n{TITLE}" + "".join(lines) + f"{END}{tail}")
    return len(lines)


def _line(path: Path) -> str:
    facts = json.loads(path.read_text())
    ended = "" if facts["code"] == 0 else f" (it did not finish: exit code {facts['code']})"
    about = f"{facts['when']} | {facts['seconds']}{ended} | [{path.name}](results/{path.name})"
    return f"| `{facts['command']}` | {about} |\n"
