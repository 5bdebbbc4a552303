"""Methods from outside the package: as objects, and as entry points of installed packages."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sklar
from sklar.errors import UsageError
from sklar.methods.independent import INDEPENDENT
from sklar.methods.registry import METHODS, find_method

OWN = replace(INDEPENDENT, name="our-margins", summary="margins, as we like them")
SCHEMA = sklar.Schema({"x": sklar.Integer(0, 9)})
DATA = {"x": [1, 2, 3, 4] * 100}
PLUGIN = """
from dataclasses import replace
from sklar.methods.independent import INDEPENDENT
OWN = replace(INDEPENDENT, name="plugged-in", summary="of another package")
WRONG = replace(INDEPENDENT, name="another")
"""
POINTS = "[sklar.methods]\nplugged-in = sklar_plugin:OWN\nmisnamed = sklar_plugin:WRONG\n"
VERIFY = """
import sys, sklar
print(sklar.verify(sys.argv[1]).ok)
try:
    sklar.plan(sklar.Schema({"x": sklar.Integer(0, 9)}), method="misnamed", epsilon=1.0)
except sklar.errors.UsageError as error:
    print(error)
"""


def test_a_method_is_handed_over_as_an_object(tmp_path: Path) -> None:
    model = sklar.fit(DATA, SCHEMA, method=OWN, epsilon=1.0)
    assert "'our-margins' is not part of Sklar" in str(model.claim) and model.sample(5).num_rows == 5
    model.save(tmp_path / "own.sklar")
    assert sklar.verify(tmp_path / "own.sklar").ok  # it is known to this process by its name
    assert sklar.load(tmp_path / "own.sklar").estimate("mean", "x").value is not None


def test_a_method_of_sklar_is_no_stranger() -> None:
    model = sklar.fit(DATA, SCHEMA, method=METHODS["independent"], epsilon=1.0)
    assert "not part of Sklar" not in str(model.claim)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (replace(OWN, name="vine"), "method of Sklar"),
        (replace(OWN, name="cop"), "without a guarantee"),
        (3, "not a int"),
    ],
)
def test_names_of_other_methods_are_refused(method: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        sklar.fit(DATA, SCHEMA, method=method, epsilon=1.0)
    with pytest.raises(UsageError, match="there is no method"):
        find_method("nobodys")


@pytest.mark.slow
def test_an_installed_package_offers_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to another process, which verifies what was fitted by it."""
    (tmp_path / "sklar_plugin.py").write_text(PLUGIN)
    facts = tmp_path / "sklar_plugin-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: sklar-plugin\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    model = sklar.fit(DATA, SCHEMA, method="plugged-in", epsilon=1.0)
    assert "'plugged-in' is not part of Sklar" in str(model.claim)
    model.save(tmp_path / "m.sklar")
    path = os.pathsep.join([str(tmp_path), str(Path(sklar.__file__).parents[1])])
    ended = subprocess.run(
        [sys.executable, "-c", VERIFY, str(tmp_path / "m.sklar")], env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.stdout.splitlines() == [
        "True",
        "the entry point sklar_plugin:WRONG must be a Method called 'misnamed'",
    ]
