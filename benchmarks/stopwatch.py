"""Timing competitors side by side: in turn, several rounds, the best of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def best_of(rounds: int, **runs: Callable[[], Any]) -> dict[str, float]:
    """Best seconds of each run; they take turns, so that a busy machine is busy for all of them."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def verdict(what: str, ratio: float, goal: float, at_least: bool) -> None:
    """Print a ratio beside its goal."""
    good = ratio >= goal if at_least else ratio <= goal
    print(
        f"{what}: {ratio:.2f} (goal {'at least' if at_least else 'at most'} {goal:g}) {'ok' if good else 'MISSED'}",
        flush=True,
    )
