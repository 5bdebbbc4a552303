"""A marker planted in cells, and an odd exact count, must not appear in anything that leaves."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import SklarError

CANARY = "CANARY7f3aQ"
ROWS = 3571
LONE = 90_417
"""A number that occurs once in the table and nowhere else."""


def planted(folder: Path) -> tuple[Path, sklar.Schema]:
    """A table with the marker in every kind of column, in cells that the schema does not list or cannot read."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "name": [f"{CANARY}-{i}" for i in range(ROWS)],
            "note": [CANARY] * ROWS,
            "age": rng.integers(0, 100, ROWS).astype(object),
            "income": rng.integers(0, 50_000, ROWS).astype(object),
            "city": rng.choice(["Rome", "Oslo"], ROWS).astype(object),
            "since": ["2020-01-01"] * ROWS,
        }
    )
    for column in ("age", "income", "city", "since"):
        frame.loc[rng.integers(0, ROWS, 40), column] = f"{CANARY}-{column}"
    frame.loc[7, "income"] = LONE
    path = folder / "people.csv"
    frame.to_csv(path, index=False)
    schema = sklar.Schema(
        {
            "name": sklar.Id(),
            "note": sklar.Ignore(),
            "age": sklar.Integer(0, 120, nullable=True),
            "income": sklar.Integer(0, 100_000, bins=64),
            "city": sklar.Category(["Rome", "Oslo"]),
            "since": sklar.Datetime("2000-01-01", "2030-01-01", nullable=True),
        }
    )
    schema.write(folder / "people.toml")
    return path, schema


def texts_of(folder: Path) -> dict[str, str]:
    """Everything below a folder as text, with archives and packed arrays opened."""
    found: dict[str, str] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    found[f"{path.name}/{name}"] = _text(name, archive.read(name))
        else:
            found[path.name] = path.read_bytes().decode("latin-1")
    return found


def _text(name: str, content: bytes) -> str:
    if name.endswith(".npy"):
        import io

        return " ".join(repr(x) for x in np.load(io.BytesIO(content)).ravel().tolist())
    if name == "releases.jsonl":
        arrays = []
        for line in content.decode().splitlines():
            for release in json.loads(line)["releases"]:
                if "data" in release:
                    raw = zlib.decompress(base64.b64decode(release["data"]))
                    arrays.append(" ".join(str(x) for x in np.frombuffer(raw, "<i8").tolist()))
        return " ".join(arrays)
    return content.decode("latin-1")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["independent", "vine"])
def test_nothing_private_in_what_a_fit_writes(tmp_path: Path, method: str) -> None:
    private, public, scratch = tmp_path / "private", tmp_path / "public", tmp_path / "scratch"
    for folder in (private, public, scratch):
        folder.mkdir()
    data, _ = planted(private)
    facts, ledger = str(private / "people.toml"), str(public / "people.ledger")
    common = [str(data), "-s", facts, "-e", "2", "--method", method, "--ledger", ledger, "--new-ledger"]
    outputs = {"synth": public / "synthetic.csv", "fit": public / "m.sklar"}
    said = ""
    for command, output in outputs.items():
        run = subprocess.run(
            [sys.executable, "-m", "sklar", command, *common, "-o", str(output)],
            capture_output=True,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
            check=False,
        )
        assert run.returncode == 0, run.stderr
        said += run.stdout + run.stderr
    left = {**texts_of(public), **texts_of(scratch), "out": said}
    left |= {name: text for name, text in texts_of(private).items() if name not in ("people.csv", "people.toml")}
    for name, text in left.items():
        assert CANARY not in text, name
        text = re.sub(r"\b(?:[0-9a-f]{64}|[0-9a-f]{16})\b", "", text)  # digests show any digits by chance
        assert not re.search(rf"(?<![\d.]){LONE}(?!\d)", text) or name == "synthetic.csv", name
    # The exact number of rows is private under add-remove. Noisy numbers, hashes and seeds may show its digits by
    # chance, so it is looked for as a number of its own where no noisy count is stored.
    for name in ("m.sklar/fit.json", "m.sklar/claim.json", "people.ledger"):
        assert not re.search(rf"(?<![\w.,]){ROWS}(?![\w.])", left[name]), name
    assert not list(scratch.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("age", "years", 1),
        lambda text: text + f"{CANARY},1,2\n",
        lambda text: text.replace("Rome", '"Rome', 1),
        lambda text: text.replace("Rome", "Ro\0me", 1),
        lambda text: text.replace("Rome", "R\udcff", 1),
        lambda text: CANARY,
        lambda text: "",
    ],
)
def test_errors_about_a_file_show_no_cell(tmp_path: Path, damage: object) -> None:
    data, schema = planted(tmp_path)
    text = damage(data.read_text())  # type: ignore[operator]
    data.write_bytes(text.encode("utf-8", "surrogateescape"))
    try:
        sklar.fit(data, schema, method="independent", epsilon=1.0)
    except SklarError as error:
        chain: BaseException | None = error
        while chain is not None:
            assert CANARY not in str(chain)
            assert "Rome" not in str(chain)
            chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)


def test_exceptions_of_a_frame_show_no_cell() -> None:
    frame = pd.DataFrame({"age": [CANARY, object(), 3, None], "city": [CANARY, 1, b"x", {"a": CANARY}]})
    schema = sklar.Schema({"age": sklar.Integer(0, 120), "city": sklar.Category(["Rome"])})
    model = sklar.fit(frame, schema, method="independent", epsilon=5.0)
    assert CANARY not in str(model.claim) + repr(model) + json.dumps(model.inspect())
