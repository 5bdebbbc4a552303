"""Estimate the time that a running job still takes, from an earlier job of the same commands.

Each job keeps the times at which its stages began. The stages that are done took some share of the earlier job; at the
same pace the rest takes the rest. Without an earlier job, or as long as too little is done, there is no estimate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

TIMES = "progress.times"
"""Name of the file with the beginnings of stages: one JSON object a line."""
END = "end"
"""Name of the last stage of a job that succeeded."""
MIN_DONE_SHARE, MIN_SECONDS = 0.1, 2.0
"""Share of the earlier job, and seconds, that must be done for an estimate: before, chance decides."""


def read_stages(place: Path) -> dict[str, float]:
    """Return the stages of a job with the time at which each began first, in seconds since 1970."""
    begun: dict[str, float] = {}
    with suppress(OSError, ValueError, KeyError, TypeError):
        for line in (place / TIMES).read_text(encoding="utf-8").splitlines():
            stage = json.loads(line)
            begun.setdefault(str(stage["what"]), float(stage["at"]))
    return begun


def estimate_seconds_left(done: Mapping[str, float], earlier: Mapping[str, float], now: float) -> float | None:
    """Return the seconds that a job still takes; None where that cannot be estimated.

    Args:
        done: The stages of the job so far, with the times at which they began.
        earlier: The stages of an earlier job that ended.
        now: The present time.
    """
    common = [name for name in done if name in earlier]
    if not common or END not in earlier:
        return None
    last, begun, start = max(common, key=lambda name: earlier[name]), min(earlier.values()), min(done.values())
    share = (earlier[last] - begun) / max(earlier[END] - begun, MIN_SECONDS)
    if share < MIN_DONE_SHARE or done[last] - start < MIN_SECONDS:
        return None
    left = start + (done[last] - start) / share - now
    return left if left > 0 else None


def describe_seconds(seconds: float | None) -> str:
    """Return a time left in words; empty if there is none."""
    if seconds is None:
        return ""
    return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {max(seconds, 1):.0f} s left"
