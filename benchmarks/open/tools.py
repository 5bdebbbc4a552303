"""The tools of the benchmark: how each is run, by which version, and whether it can be run here."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import sklar
from benchmarks.results import HERE

PEERS = HERE / "peers"
FITTED_BY = ("accounting", "counting", "methods", "model", "private", "release", "rows", "sample", "schema")
"""Packages of Sklar that decide what a fit returns: their text is its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A synthesizer.

    Attributes:
        title: Its name on the page.
        command: From (train, schema, epsilon, delta, rows, output) to the words of a command.
        version: Its version, or None where it is not installed.
        promise: What it promises, in a few words.
        private: Whether it takes an epsilon.
        bundled: Whether it leaves a release that can be verified.
        settings: What else the result depends on.
    """

    title: str
    command: Callable[[list[str]], list[str]]
    version: Callable[[], str | None]
    promise: str
    private: bool = True
    bundled: bool = False
    settings: Mapping[str, Any]


@cache
def sklar_version() -> str:
    """Return the release and a checksum of the code that fits."""
    root = Path(sklar.__file__).parent
    files = sorted(path for name in FITTED_BY for path in (root / name).rglob("*.py"))
    text = b"".join(path.read_bytes() for path in files)
    return f"{sklar.__version__}+{hashlib.sha256(text).hexdigest()[:12]}"


def _sklar(title: str, method: str) -> Tool:
    def command(words: list[str]) -> list[str]:
        return [sys.executable, "-m", "benchmarks.open.sklar_run", method, "{}", *words]

    return Tool(
        title=title, command=command, version=sklar_version, promise="(epsilon, delta)-DP for one row", bundled=True,
        settings={"method": method},
    )  # fmt: skip


def _environment(recipe: str) -> Path:
    return Path(os.environ.get("SKLAR_PEERS") or PEERS / ".venvs") / recipe / "bin" / "python"


def _peer(title: str, recipe: str, packages: str, *words: str, promise: str, private: bool = True) -> Tool:
    def command(task: list[str]) -> list[str]:
        train, schema, _epsilon, _delta, rows, output = task
        return [str(PEERS / "run"), recipe, *words, *(task if private else [train, schema, rows, output])]

    def version() -> str | None:
        python = _environment(recipe)
        if not python.exists():
            return None
        code = (
            f"from importlib.metadata import version as v; print(' '.join(p + ' ' + v(p) for p in {packages.split()}))"
        )
        return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    settings = {"words": list(words), "cells": 32}
    return Tool(
        title=title, command=command, version=cache(version), promise=promise, private=private, settings=settings
    )


ZCDP = "(epsilon, delta)-DP for one row"
TOOLS: dict[str, Tool] = {
    "sklar": _sklar("Sklar (vine)", "vine"),
    "independent": _sklar("independent columns (Sklar)", "independent"),
    "mst_dpmm": _peer("MST (dpmm)", "dpmm", "dpmm", "mst", promise=ZCDP),
    "aim_dpmm": _peer("AIM (dpmm)", "dpmm", "dpmm", "aim", promise=ZCDP),
    "privbayes_dpmm": _peer(
        "PrivBayes (dpmm)", "dpmm", "dpmm", "privbayes", promise="(epsilon, delta)-DP, number of rows public"
    ),
    "aim_opendp": _peer("AIM (OpenDP)", "opendp", "opendp mbi", promise=ZCDP),
    "mst_smartnoise": _peer(
        "MST (SmartNoise)", "smartnoise", "smartnoise-synth mbi", "mst", promise="labels read off the rows, unpaid"
    ),
    "sdv_gaussian": _peer("Gaussian copula (SDV)", "sdv", "sdv", promise="NO DP GUARANTEE", private=False),
}  # fmt: skip
"""Peers work on the public grid of benchmarks/peers: at most 32 cells for a column of numbers."""
NOT_HERE = {
    "google/dpsynth": "not on the package index, so it was not installed",
    "synthpop (R)": "CRAN cannot be reached here; its DP part is for groups of categories only",
}
"""Tools that the benchmark has no recipe for, and why."""


def settings_text(tool: Tool) -> str:
    """Return the settings in a form that hashes the same everywhere."""
    return json.dumps(dict(tool.settings), sort_keys=True)
