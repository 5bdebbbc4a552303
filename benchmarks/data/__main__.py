"""`python -m benchmarks.data [NAME ...]`: fetch and check every file, or those named, and say which are at hand."""

from __future__ import annotations

import sys

from benchmarks.data.sources import SOURCES, find


def main(names: list[str]) -> int:
    """Fetch and check; 1 if one of them fails."""
    unknown = sorted(set(names) - set(SOURCES))
    if unknown:
        print(f"{unknown[0]} is no table; there are: {', '.join(SOURCES)}", file=sys.stderr)
        return 2
    failed = False
    for name in names or SOURCES:
        try:
            print(f"{name}: {find(name)}")
        except (OSError, SystemExit) as error:
            failed = True
            print(f"{name}: {error}\n  published at {SOURCES[name].publisher}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
