"""Entries of the benchmark: true ones verify, forged ones are named, and noise is told from what is not noise."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sklar
from sklar.accounting.noise import Noise
from sklar.cli.main import app
from sklar.lab.entries.check import verify_entry
from sklar.lab.entries.entry import Entry, read_entry, read_public, rows_checksum, write_entry
from sklar.lab.entries.noise import compare_with_exact
from sklar.lab.entries.scores import all_triples, score_rows, skewed_triples
from sklar.pipeline.fit import FitRequest, open_fit
from sklar.release.counts import Counts
from sklar.release.measurements import Measurement

ROWS = 1500
SCHEMA = sklar.Schema({
    "age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"]), "pay": sklar.Real(0, 1, nullable=True),
    "sick": sklar.Boolean(),
})  # fmt: skip


def people(seed: int, rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, rows), rng.choice(["F", "M"], rows)
    pay = np.where(rng.random(rows) < 0.1, np.nan, np.clip(age / 100 + rng.normal(0, 0.1, rows), 0, 1))
    return pd.DataFrame({"age": age, "sex": sex, "pay": pay, "sick": age + rng.normal(0, 10, rows) > 60})


class LessNoise:
    """A dishonest source of noise: half of what is stated."""

    def add(self, exact_tables: Sequence[np.ndarray], noises: Sequence[Any], cells: Any = None) -> list[np.ndarray]:
        rng = np.random.default_rng(1)
        pairs = zip(exact_tables, noises, strict=True)
        return [
            table + np.rint(rng.normal(0, 0.5 * noise.scale, table.shape)).astype(np.int64) for table, noise in pairs
        ]

    def pick(self, exact_scores: np.ndarray, sensitivity: float, epsilon: float, picks: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.argsort(-exact_scores, kind="stable")[:picks])


def enter(folder: Path, make: Callable[..., sklar.Model], real: pd.DataFrame, test: pd.DataFrame) -> Path:
    """Fit, bundle and write an entry as the benchmark does."""
    model = make()
    sklar.bundle(model, folder / "run.release.zip", rows=ROWS, seed=0)
    pq.write_table(model.sample(ROWS, seed=0), folder / "rows.parquet")
    tables = [read_public(real, SCHEMA), read_public(str(folder / "rows.parquet"), SCHEMA, "synthetic")]
    held = read_public(test, SCHEMA, "test")
    facts = Entry(
        table="people", real_sha256=rows_checksum(tables[0]), test_sha256=rows_checksum(held), target="sick",
        tool="sklar", version="1", epsilon=2.0, delta=1e-9, seconds=1.0, cpu=1.0, memory=1.0,
        scores=score_rows(*tables, target="sick", test=held),
    )  # fmt: skip
    write_entry(folder / "entry.zip", facts, SCHEMA, folder / "rows.parquet", folder / "run.release.zip")
    return folder / "entry.zip"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame, pd.DataFrame]:
    folder, real, test = tmp_path_factory.mktemp("entry"), people(0), people(1, 400)
    fit = lambda: sklar.fit(real, SCHEMA, epsilon=2.0, delta=1e-9, method="independent")  # noqa: E731
    return enter(folder, fit, real, test), real, test


def changed(path: Path, folder: Path, **members: Any) -> Path:
    """Return a copy of an entry with other members; facts are given as changes of its JSON."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(folder / "forged.zip", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "entry.json" and "facts" in members:
                content = json.dumps({**json.loads(content), **members["facts"]}).encode()
            new.writestr(name, members.get(name.split(".")[0], content) if name != "entry.json" else content)
    return folder / "forged.zip"


@pytest.mark.slow
def test_a_true_entry_verifies_and_says_so_on_the_command_line(made: Any, tmp_path: Path) -> None:
    path, real, test = made
    found = verify_entry(path, real, test)
    assert found.ok and [check.ok for check in found.checks] == [True] * 5, str(found)
    for name, frame in (("real", real), ("test", test)):
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / f"e.{name}.parquet")
    (tmp_path / "e.zip").write_bytes(path.read_bytes())
    ended = CliRunner().invoke(app, ["bench", "verify", str(tmp_path / "e.zip")])
    assert ended.exit_code == 0 and "Verified" in ended.stdout
    ended = CliRunner().invoke(app, ["bench", "verify", str(path)])
    assert ended.exit_code == 1 and "--table" in ended.stderr


@pytest.mark.slow
def test_forged_entries_are_named(made: Any, tmp_path: Path) -> None:
    """Other scores, other rows with their own scores, another table, another promise, and a damaged file."""
    path, real, test = made
    scores = dict(read_entry(path).facts.scores)
    better = changed(path, tmp_path, facts={"scores": {**scores, "tvd2": scores["tvd2"] * 0.9}})
    assert "tvd2" in verify_entry(better, real, test)["scores"].says and not verify_entry(better, real, test).ok
    pq.write_table(pa.Table.from_pandas(real, preserve_index=False), tmp_path / "copied.parquet")
    copied = read_public(real, SCHEMA)
    own = score_rows(copied, copied, target="sick", test=read_public(test, SCHEMA, "test"))
    rows = changed(path, tmp_path, facts={"scores": own}, rows=(tmp_path / "copied.parquet").read_bytes())
    found = verify_entry(rows, real, test)
    assert found["scores"].ok and found["rows"].ok is False
    assert verify_entry(path, people(3), test)["table"].ok is False
    assert verify_entry(path, real)["table"].ok is False
    less = verify_entry(changed(path, tmp_path, facts={"epsilon": 0.5}), real, test)
    assert less["release"].ok is False and "0.5" in less["release"].says
    (tmp_path / "no.zip").write_bytes(b"nothing")
    assert verify_entry(tmp_path / "no.zip", real)["file"].ok is False


@pytest.mark.slow
def test_a_release_with_less_noise_than_it_states_is_named(tmp_path: Path) -> None:
    """Everything in it is consistent: it verifies, and only the exact counts of the public table show the forgery."""
    real, test = people(0), people(1, 400)
    request = FitRequest(data=real, schema=SCHEMA, epsilon=2.0, delta=1e-9, method="independent")

    def fit() -> sklar.Model:
        with open_fit(request, LessNoise()) as model:
            return model

    found = verify_entry(enter(tmp_path, fit, real, test), real, test)
    assert found["release"].ok and found["rows"].ok and found["scores"].ok
    assert found["noise"].ok is False and "less noise than stated" in found["noise"].says


CODES = {
    "sex": np.random.default_rng(0).integers(0, 2, 9000),
    "age": np.random.default_rng(1).triangular(0, 75, 150, 9000).astype(int),
}
QUERY = Counts(columns=("sex", "age"), partitions=(np.arange(2), np.arange(151)))


def released(noise: Noise, add: Callable[[np.random.Generator, np.ndarray], np.ndarray], seed: int) -> Measurement:
    exact = np.zeros((2, 151), dtype=np.int64)
    np.add.at(exact, (CODES["sex"], CODES["age"]), 1)
    values = np.rint(exact + add(np.random.default_rng(seed), exact)).astype(np.int64)
    return Measurement(query=QUERY, values=values, noise=noise, label="pair")


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_stated_noise_passes_and_forged_noise_does_not(kind: Any) -> None:
    noise = Noise(kind=kind, scale=12.0)

    def draw(scale: float) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
        return lambda rng, exact: (rng.normal if kind == "gaussian" else rng.laplace)(0, scale, exact.shape)

    honest = [released(noise, draw(12.0), seed) for seed in range(200)]
    assert compare_with_exact(honest, CODES).faults == ()
    forged = {
        "less noise": lambda rng, exact: draw(5.0)(rng, exact),
        "more noise": lambda rng, exact: draw(30.0)(rng, exact),
        "on average": lambda rng, exact: draw(12.0)(rng, exact) + 12,
        "follows the exact": lambda rng, exact: draw(12.0)(rng, exact) + 0.6 * (exact - exact.mean()),
    }
    for says, add in forged.items():
        faults = compare_with_exact([released(noise, add, 1)], CODES).faults
        assert any(says in fault for fault in faults), (says, faults)
    exact = compare_with_exact([released(noise, lambda rng, exact: np.zeros(exact.shape), 0)], CODES)
    assert exact.faults and exact.values == 302
    assert compare_with_exact(
        [replace(honest[0], query=Counts(columns=("x",), partitions=(np.arange(2),)))], CODES
    ).unknown


def test_checksums_follow_the_rows_and_not_the_file(tmp_path: Path) -> None:
    frame = people(0, 50)
    frame.to_csv(tmp_path / "t.csv", index=False)
    one, two = rows_checksum(read_public(frame, SCHEMA)), rows_checksum(read_public(str(tmp_path / "t.csv"), SCHEMA))
    assert one == two != rows_checksum(read_public(people(1, 50), SCHEMA))


def test_workloads_are_the_same_everywhere_and_within_their_size() -> None:
    assert len(all_triples(5)) == 10 and len(all_triples(60)) == 2000 and all_triples(60) == all_triples(60)
    skewed = skewed_triples(20)
    assert len(skewed) == 256 == len(set(skewed))
    counts = np.bincount(np.array(skewed).ravel(), minlength=20)
    assert counts.max() > 60 and np.sort(counts)[3] < 10  # some columns are in many triples
    assert asdict(Entry(table="t", real_sha256="", tool="", version="", epsilon=None, delta=0.0, seconds=0, cpu=0,
                        memory=0, scores={}))["area"] is None  # fmt: skip
