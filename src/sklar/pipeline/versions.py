"""What the last digits of a model depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import sklar

LIBRARIES = ("numpy", "scipy", "numba", "pyvinecopulib", "opendp", "pyarrow")


def versions() -> dict[str, str]:
    """Sklar, Python, the kind of machine, and the libraries that compute."""
    own = {"sklar": sklar.__version__, "python": platform.python_version(), "machine": platform.machine()}
    return {**own, **{name: _version(name) for name in LIBRARIES}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
