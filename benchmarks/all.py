"""Runs every benchmark one after the other: `python -m benchmarks.all`. Takes long; each can be run alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Run all benchmark modules of this folder but this one and the shared parts."""
    shared = {"__init__", "all", "stopwatch"}
    failed: list[str] = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem in shared:
            continue
        print(f"\n=== python -m benchmarks.{path.stem}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{path.stem}"], check=False).returncode:
            failed.append(path.stem)
    if failed:
        sys.exit(f"these did not finish: {', '.join(failed)}")


if __name__ == "__main__":
    main()
