"""Processes that share a model: they read it, and never run the script that asked for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PLAIN_SCRIPT = """
import sys
import numpy as np
import pandas as pd
import sklar
from sklar.pipeline.estimation import making

print("begun")
making.MIN_SECONDS_FOR_PROCESSES, making.usable_cores = 0.0, lambda: 2
rng = np.random.default_rng(0)
table = pd.DataFrame({"a": rng.normal(size=500), "y": rng.random(500) > 0.5})
schema = sklar.Schema({"a": sklar.Real(-5, 5), "y": sklar.Boolean()})
model = sklar.fit(table, schema, method="independent", epsilon=5.0)
print(len(list(model.implicates(4, 50, seed=1))))
print(sys.modules["__main__"].__file__.endswith("plain.py"))
"""


@pytest.mark.slow
def test_a_plain_script_without_a_main_guard_fits_once(tmp_path: Path) -> None:
    """A worker that ran the script again would fit again, which nobody would charge for."""
    (tmp_path / "plain.py").write_text(PLAIN_SCRIPT)
    command = [sys.executable, "-W", "ignore", "plain.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["begun", "4", "True"]
