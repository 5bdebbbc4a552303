"""The process that works off cells: reads tasks from standard input, answers on standard output, a line of JSON each.

When its input ends, the comparison is over or its process is gone: whatever runs is ended at once.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

from sklar.lab.compare.cell import Bank, read_cell, read_settings, run_cell
from sklar.lab.compare.peers import Limits, adopt_orphans, end_all
from sklar.lab.compare.store import Store


class _Voice:
    """Answers to the comparison. Libraries that print do so to standard error."""

    def __init__(self) -> None:
        self._handle = os.dup(1)
        os.dup2(2, 1)
        self.group = 0

    def say(self, **facts: Any) -> None:
        """One line."""
        os.write(self._handle, json.dumps(facts).encode() + b"\n")

    def began(self, group: int) -> None:
        """A peer was started."""
        self.group = group
        self.say(group=group)


def _listen(tasks: queue.Queue[dict[str, Any]], voice: _Voice) -> None:
    for line in sys.stdin:
        tasks.put(json.loads(line))
    if voice.group:
        end_all(voice.group, os.getpid())
    os._exit(0)


def main() -> None:
    """Work until the input ends."""
    warnings.simplefilter("ignore")
    adopt_orphans()
    voice = _Voice()
    tasks: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(tasks, voice), daemon=True).start()
    start = tasks.get()
    store = Store(Path(start["folder"]))
    bank = Bank(
        store=store, schema=store.schema(), settings=read_settings(start["settings"]), limits=Limits(**start["limits"]),
        began=voice.began,
    )  # fmt: skip
    while True:
        task = tasks.get()
        result = run_cell(bank, read_cell(task["cell"]))
        voice.group = 0
        voice.say(result=result)


if __name__ == "__main__":
    main()
