"""Fuzzing of the readers: whatever the bytes, a table or a plain refusal, soon, and without a word of a cell.

Each test runs for SKLAR_FUZZ_SECONDS (3 by default); set it to hours to look for more. A failure names the seed and
leaves the file, so that it can be made a test of its own.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sklar.errors import SklarError
from sklar.rows import open_rows
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema
from sklar.schema.table import schema_from_toml, schema_to_toml
from tests.hostile.checks import CANARY, SCHEMA

SECONDS = float(os.environ.get("SKLAR_FUZZ_SECONDS", "3"))
ONE_CASE = 20.0
"""Seconds that a single small case may take, on a busy machine; compiled code is warmed up before."""

TABLE = Schema(
    {
        "x": Integer(0, 9, nullable=True),
        "c": Category(["a", "ü", "b;c"], nullable=True),
        "r": Real(0, 1, bins=8),
        "d": Datetime("2020-01-01", "2020-12-31"),
        "b": Boolean(),
    }
)
CSV_SEEDS = [
    f"x,c,r,d,b,note\n1,a,0.5,2020-03-04,true,{CANARY}\n2,ü,1e-3,2020-12-31,0,\n,{CANARY},nan,{CANARY},no,\"q\"\"\n,\"\n",
    f"\ufeff\"x\";\"c\";r;d;b\r\n9;\"b;c\";{CANARY};20200101;yes\r\n",
    f"b\td\tr\tc\tx\n{CANARY}\t2020-02-30\t1e400\t\t-1\n" * 3,
]  # fmt: skip
PIECES = [
    b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xff\xfe", b" ",
    b"x", b"x,c\n", b"-", b"e", b"9" * 40, b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", CANARY.encode(), b"z" * 5000,
    b"," * 300,
]  # fmt: skip
TOML_PIECES = [
    b'"', b"'", b"[", b"]", b"{", b"}", b"=", b"\n", b"#", b".", b"\0", b"\xff", b"nan", b"inf", b"-", b"true",
    b"1e400", b"9" * 400, b"0x", b"2020-02-30", b"[columns.q]\n", b'kind = "real"\n', b"\\u", b"[[rules]]\n",
    b"\xf0\x9f\x98\x80",
]  # fmt: skip


def mutations(seeds: list[bytes], pieces: list[bytes], rng: random.Random) -> Iterator[bytes]:
    """Seeds with a few bytes changed, dropped, doubled, moved, or with a piece of syntax put in."""
    while True:
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice([1, 1, 2, 4, 16])):
            at, to = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
            match rng.randrange(6):
                case 0 if data:
                    data[at % len(data)] = rng.randrange(256)
                case 1:
                    data[at:at] = rng.choice(pieces)
                case 2:
                    del data[at : min(to, at + 40)]
                case 3:
                    data[at:at] = data[at : at + 60]
                case 4:
                    del data[at:]
                case _:
                    data += data[at:to]
        yield bytes(data[:50_000])


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Ends a case that hangs."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fuzz(tries: Callable[[bytes], None], seeds: list[bytes], pieces: list[bytes], kept: Path) -> int:
    """Run cases until the time is up; the number of cases."""
    seed = random.SystemRandom().randrange(2**32) if SECONDS > 60 else 7
    begun = time.monotonic()
    for case, data in enumerate(mutations(seeds, pieces, random.Random(seed))):
        try:
            with deadline(ONE_CASE):
                tries(data)
        except SklarError as error:
            if CANARY in f"{error} {error!r} {error.__cause__!r} {error.__context__!r}":
                kept.write_bytes(data)
                raise AssertionError(f"seed {seed}, case {case}: the message shows a cell; see {kept}") from None
        except BaseException as error:
            kept.write_bytes(data)
            raise AssertionError(f"seed {seed}, case {case}: {type(error).__name__}; see {kept}") from error
        if time.monotonic() - begun > SECONDS:
            return case
    raise AssertionError("there is always another case")


def read_rows(path: Path, schema: Schema = TABLE, **reader: str) -> None:
    """One full pass; every column has as many codes as there are rows, all of them codes."""
    rows = open_rows(path, schema, threads=1, **reader)
    for batch in rows.batches(rows.schema.modelled):
        for name, codes in zip(rows.schema.modelled, batch.codes, strict=True):
            assert len(codes) == batch.rows and (not batch.rows or int(max(codes)) < rows.schema.size(name))


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("warm") / "t.csv"
    path.write_text(CSV_SEEDS[0])
    read_rows(path)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", [None, "utf-16", "latin-1"], ids=str)
def test_csv_bytes(encoding: str | None, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    seeds = [text.encode(encoding or "utf-8", "replace") for text in CSV_SEEDS]

    def tries(data: bytes) -> None:
        path.write_bytes(data)
        read_rows(path, **({"encoding": encoding} if encoding else {}))

    assert fuzz(tries, seeds, PIECES, tmp_path / "found.csv") > 50


@pytest.mark.slow
def test_schema_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    constrained = '[[rules]]\nkind = "never"\nvalues = { c = "a", b = true }\n'
    seeds = [schema_to_toml(TABLE).encode(), (schema_to_toml(TABLE) + constrained).encode()]

    def tries(data: bytes) -> None:
        path.write_bytes(data)
        schema = Schema.read(path)
        assert schema_from_toml(schema_to_toml(schema)) == schema

    assert fuzz(tries, seeds, TOML_PIECES, tmp_path / "found.toml") > 50


cells = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
relaxed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@relaxed
@given(
    st.lists(st.lists(cells, min_size=2, max_size=2), max_size=6),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_well_formed_text_is_a_table(
    tmp_path: Path, rows: list[list[str]], delimiter: str, line: str, end: bool
) -> None:
    """Quoted as they should be, any cells are read, whatever they hold: a row in is a row counted."""
    quoted = [["x", "c"], *([f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row] for row in rows)]
    text = line.join(delimiter.join(row) for row in quoted) + line * end
    (tmp_path / "t.csv").write_text(text, encoding="utf-8", newline="")
    found = open_rows(tmp_path / "t.csv", SCHEMA, threads=1)
    assert found.exact_rows == len(rows)


@relaxed
@given(st.lists(cells.filter(lambda label: label != "other"), min_size=1, max_size=6, unique=True), st.data())
def test_listed_labels_are_recognized(tmp_path: Path, labels: list[str], data: st.DataObject) -> None:
    schema = Schema({"c": Category(labels), "x": Integer(0, 1)})
    chosen = data.draw(st.lists(st.integers(0, len(labels) - 1), max_size=8))
    lines = [f'"{labels[k].replace(chr(34), chr(34) * 2)}",1' for k in chosen]
    (tmp_path / "t.csv").write_text("\n".join(["c,x", *lines]) + "\n", encoding="utf-8", newline="")
    batches = open_rows(tmp_path / "t.csv", schema, threads=1).batches(["c"])
    assert [code for batch in batches for code in batch.codes[0].tolist()] == chosen
