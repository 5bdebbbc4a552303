"""The rules of the map hold, and each of them catches a planted fault."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import sklar
from tests.architecture import house

SOURCE = Path(sklar.__file__).parents[1]
BEHIND = ("estimate", "write_rows", "shadow_attack", "attribute_attack", "monte_carlo", "fit_rvine")
PUBLIC = {*sklar.__all__, *sklar.lab.__all__, *BEHIND}
"""Public verbs, and those whose keywords are the options that people write behind a public verb."""


def parameters(root: Path) -> list[str]:
    return house.parameters(root, PUBLIC)


RULES: dict[str, Callable[[Path], list[str]]] = {
    "sizes": house.sizes,
    "prefixes": house.prefixes,
    "maps": house.maps,
    "cycles": house.cycles,
    "repeated modules": house.repeated_modules,
    "repeated classes": house.repeated_classes,
    "generators": house.generators,
    "parameters": parameters,
}


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_holds(rule: str) -> None:
    assert RULES[rule](SOURCE) == []


@pytest.fixture
def copy_of_the_house(tmp_path: Path) -> Path:
    shutil.copytree(SOURCE / "sklar", tmp_path / "sklar", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


MANY = "def many(a, b, c, d, e, f, g, h, i):\n    return a\n"
FAULTS: dict[str, tuple[str, dict[str, str]]] = {
    "twenty-one modules": (
        "sizes",
        {f"lab/crowd/m{i}.py": "" for i in range(21)} | {"lab/crowd/__init__.py": '"""x"""'},
    ),
    "a room of one": ("sizes", {"lab/lonely/__init__.py": '"""x"""', "lab/lonely/one.py": ""}),
    "three of one prefix": ("prefixes", {f"sample/rows_{x}.py": "" for x in "abc"}),
    "a bare room": ("maps", {"sample/__init__.py": '"""sample."""\n'}),
    "a map to nowhere": ("maps", {"sample/__init__.py": f'"""{"word " * 40} Start with `nothing`."""\n'}),
    "a map of what is gone": (
        "maps",
        {"sample/__init__.py": f'"""{"word " * 40} Start with `draw`, then `gone`."""\n'},
    ),
    "a cycle": ("cycles", {"sample/a.py": "import sklar.sample.b\n", "sample/b.py": "import sklar.sample.a\n"}),
    "a hidden cycle": (
        "cycles",
        {"sample/a.py": "import sklar.sample.b\n", "sample/b.py": "def f():\n    from sklar.sample import a\n"},
    ),
    "a name in three rooms": ("repeated modules", {f"{room}/thing.py": "" for room in ("sample", "model", "export")}),
    "a class twice": ("repeated classes", {"sample/a.py": "class Schema: ...\n"}),
    "a generator": ("generators", {"model/a.py": "import numpy as np\nrng = np.random.default_rng(0)\n"}),
    "nine parameters": ("parameters", {"sample/a.py": MANY}),
}


@cache
def faults_now(rule: str) -> tuple[str, ...]:
    """Faults that are there without a planted one: only others show that the plant was seen."""
    return tuple(RULES[rule](SOURCE))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(copy_of_the_house: Path, fault: str) -> None:
    rule, files = FAULTS[fault]
    for name, text in files.items():
        path = copy_of_the_house / "sklar" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert set(RULES[rule](copy_of_the_house)) - set(faults_now(rule))
