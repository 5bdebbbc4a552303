"""Versions of the software and the machine, on which the last digits of a model depend."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import sklar

LIBRARIES = ("numpy", "scipy", "numba", "opendp", "pyarrow")


def list_versions() -> dict[str, str]:
    """Return the versions of Sklar, its code, Python, the machine and numerical libraries."""
    own = {"sklar": sklar.__version__, "code": _code(), "python": platform.python_version()}
    return {**own, "machine": platform.machine(), **{name: _get_version(name) for name in LIBRARIES}}


@cache
def _code() -> str:
    """Return a hash of the code, which distinguishes builds of the same version."""
    home, digest = Path(sklar.__file__).parent, hashlib.sha256()
    for place in sorted(place for place in home.rglob("*.py") if place.is_file()):
        digest.update(place.relative_to(home).as_posix().encode() + b"\0" + place.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _get_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
