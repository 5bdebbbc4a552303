"""What is published: wheel and sdist are the same bytes whenever they are built, and the image serves any user."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.environments import python_with

ROOT = Path(__file__).resolve().parents[2]
EPOCH = "1700000000"
STRANGER = 54321
"""A user id that no machine of tests has an account for."""
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def built(place: Path, clock: int) -> dict[str, bytes]:
    """Build both files from a copy of the tracked files, all of them touched at this time."""
    names = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    source = place / "source"
    for name in filter(None, names.stdout.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
            os.utime(source / name, (clock, clock))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    command = [python_with("build", "hatchling"), "-m", "build", "--no-isolation", "--outdir", place / "dist", source]
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=300)
    return {path.name: path.read_bytes() for path in sorted((place / "dist").iterdir())}


@pytest.mark.slow
def test_two_builds_are_the_same_bytes_and_hold_what_they_must(tmp_path: Path) -> None:
    first, second = built(tmp_path / "one", 1_600_000_000), built(tmp_path / "two", 1_650_000_000)
    assert sorted(name.rsplit(".", 1)[1] for name in first) == ["gz", "whl"] and first == second
    wheel = next((tmp_path / "one" / "dist").glob("*.whl"))
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        about = next(file.read(name).decode() for name in names if name.endswith("METADATA"))
    tracked = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*")
               if path.is_file() and "__pycache__" not in path.parts}  # fmt: skip
    assert "sklar/py.typed" in names and tracked <= names
    assert all(name.startswith(("sklar/", "sklar-")) for name in names)
    assert "Project-URL" not in about and "Typing :: Typed" in about
    with tarfile.open(next((tmp_path / "one" / "dist").glob("*.tar.gz"))) as file:
        inside = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
    assert {"pyproject.toml", "LICENSE", "README.md", "src/sklar/__init__.py", "tests/conftest.py"} <= inside


def test_no_address_is_invented() -> None:
    """There is no public host of the code, so the package names none."""
    assert "urls" not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_image_has_what_it_offers_and_copies_what_its_folder_holds() -> None:
    """Checked as text: no container engine is needed, and none builds the image here."""
    extras = set(re.search(r"\.\[([\w,]+)\]", DOCKERFILE)[1].split(","))  # type: ignore[index]
    assert {"studio", "sign", "postgres"} <= extras
    assert extras <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    shown = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [word for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE) for word in line.split()]
    assert set(copied) <= set(shown) and all((ROOT / name).exists() for name in copied)
    users = re.findall(r"^USER (\w+)$", DOCKERFILE, re.MULTILINE)
    assert users and users[-1] != "root"


@pytest.mark.slow
def test_a_user_without_an_account_works_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """As in the image with --user: the variables of the Dockerfile, an unknown user id, and nothing written elsewhere.

    Where the kernel lets nobody map user ids, the command runs as the user of the tests.
    """
    words = " ".join(re.findall(r"^ENV (.+)$", DOCKERFILE, re.MULTILINE))
    stated = {name: value.replace("/tmp", str(tmp_path)) for name, value in re.findall(r"(\w+)=(\S+)", words)}
    assert stated["HOME"] == str(tmp_path)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "LANG": "C.UTF-8", **stated}
    become = ["unshare", "--user", f"--map-user={STRANGER}", f"--map-group={STRANGER}"]
    mapped = shutil.which("unshare") and subprocess.run([*become, "true"], capture_output=True).returncode == 0
    before = sorted((ROOT / "src").rglob("*.nb?"))

    def run(*command: str) -> str:
        done = subprocess.run(
            [*(become if mapped else []), sys.executable, "-B", *command],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert not mapped or run("-c", "import os; print(os.getuid())").strip() == str(STRANGER)
    run("-m", "sklar", "demo", "demo", "--rows", "500")
    run("-m", "sklar", "key", "office")
    assert list((tmp_path / "numba").rglob("*.nbi")) and sorted((ROOT / "src").rglob("*.nb?")) == before
