"""Accounting is imported everywhere, so it must not drag heavy libraries along."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import sklar.accounting

HEAVY = ("scipy.stats", "scipy.special", "dp_accounting", "pandas", "pyarrow", "numba", "opendp")


def test_importing_all_of_accounting_loads_nothing_heavy() -> None:
    modules = [info.name for info in pkgutil.walk_packages(sklar.accounting.__path__, "sklar.accounting.")]
    assert "sklar.accounting.composition.exact" in modules
    code = f"import sys, {', '.join(modules)}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
