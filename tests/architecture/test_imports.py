"""The house stands: import contracts hold, planted violations are caught, and importing the package stays light."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "pandas",
    "pyarrow",
    "duckdb",
    "polars",
    "scipy.stats",
    "sklearn",
    "opendp",
    "numba",
    "pyvinecopulib",
    "matplotlib",
)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports; "
        "sys.exit(lint_imports(no_cache=True))"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture
def copy_of_the_house(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_importing_sklar_loads_nothing_heavy() -> None:
    code = f"import sys, sklar; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run_python(code).stdout.strip() == "[]"


def test_the_public_names_exist_and_are_few() -> None:
    code = """
import sklar
for module in (sklar, sklar.lab, sklar.results, sklar.adapters):
    homes = [name for names in module._HOMES.values() for name in names.split()]
    print(sorted(homes) == sorted(module.__all__) and all(hasattr(module, name) for name in homes))
print(len(sklar.__all__) <= 50, hasattr(sklar, "nothing"))
"""
    assert run_python(code).stdout.split() == ["True"] * 5 + ["False"]


def test_a_private_fit_loads_no_module_of_the_laboratory() -> None:
    """The one way there is an import by name, which contracts cannot see: it is taken for baselines alone."""
    code = """
import sys, warnings, sklar
warnings.simplefilter("ignore")
schema = sklar.Schema({"x": sklar.Integer(0, 9)})
for settings in ({"method": "independent", "epsilon": 1.0}, {"epsilon": 1.0},
                 {"method": "plain-gaussian", "no_guarantee": True}):
    sklar.fit({"x": [1, 2] * 50}, schema, **settings)
    print(any(name.startswith("sklar.lab") for name in sys.modules))
"""
    ended = run_python(code)
    assert ended.stdout.split() == ["False", "False", "True"], ended.stderr


def test_the_names_of_baselines_are_those_of_the_laboratory() -> None:
    from sklar.lab.baselines.registry import BASELINES
    from sklar.methods.registry import BASELINE_NAMES, METHODS

    assert tuple(BASELINES) == BASELINE_NAMES and not set(BASELINE_NAMES) & set(METHODS)


def test_the_contracts_hold(copy_of_the_house: Path) -> None:
    result = lint(copy_of_the_house)
    assert result.returncode == 0, result.stdout + result.stderr


PLANTED = {
    "methods/independent.py": ("sklar.rows", "sklar.private.noise"),
    "pipeline/plan.py": ("sklar.private.door", "sklar.lab.evaluate"),
    "model/margins/margin.py": ("pandas",),
    "sample/decode.py": ("pyarrow",),
    "private/door.py": ("sklar.model.margins.margin",),
    "schema/table.py": ("sklar.accounting.noise",),
    "counting/evaluate.py": ("sklar.rows", "sklar.private.noise"),
    "release/counts.py": ("sklar.counting.tables",),
    "inference/__init__.py": ("sklar.private.noise",),
    "report/__init__.py": ("sklar.lab",),
    "pipeline/fit/run.py": ("sklar.lab.tables.reading",),
    "utils/__init__.py": (),
}
"""Imports that no contract allows, by file, and a package that has no place in the layers."""


def test_planted_imports_are_caught(copy_of_the_house: Path) -> None:
    for file, imports in PLANTED.items():
        target = copy_of_the_house / "src" / "sklar" / file
        target.parent.mkdir(exist_ok=True)
        text = target.read_text() if target.exists() else ""
        target.write_text(text + "".join(f"\nimport {name}\n" for name in imports))
    result = lint(copy_of_the_house)
    assert result.returncode != 0
    said = " ".join(result.stdout.split())
    for file, imports in PLANTED.items():
        importer = "sklar." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert all(f"{importer} -> {name} " in said for name in imports), (importer, result.stdout)
    assert "sklar.utils" in said
