"""`python -m benchmarks.data`: fetch and check every file, and say which are at hand."""

from __future__ import annotations

import sys

from benchmarks.data.sources import SOURCES, find

if __name__ == "__main__":
    failed = False
    for name, source in SOURCES.items():
        try:
            print(f"{name}: {find(name)}")
        except (OSError, SystemExit) as error:
            failed = True
            print(f"{name}: {error}\n  published at {source.publisher}", file=sys.stderr)
    sys.exit(failed)
