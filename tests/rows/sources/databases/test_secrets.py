"""A password opens the door and is found nowhere afterwards: not in files, messages, the claim or the process list."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import sklar
from sklar.errors import SklarError, SourceError
from sklar.rows import open_rows
from sklar.schema import Schema
from sklar.schema.address import has_secrets, remove_secrets, table_address

SECRET = "geh/ei?m@7#f%3a"
QUOTED = quote(SECRET, safe="")


@pytest.fixture(scope="module")
def locked(postgres: Any, run: Callable[..., Any], visits: str) -> Iterator[str]:
    """Address of the table for a user whom the server asks for a password."""
    run(f"CREATE ROLE joe LOGIN PASSWORD '{SECRET}'")
    run("GRANT SELECT ON visits TO joe")
    rules = Path(postgres.pgdata) / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text("local all joe scram-sha-256\n" + before)
    run("SELECT pg_reload_conf()")
    yield visits.replace("postgres:@", "joe@")
    rules.write_text(before)
    run("SELECT pg_reload_conf()")


def written(folder: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as parts:
                yield from (parts.read(name) for name in parts.namelist())
        elif path.is_file():
            yield path.read_bytes()


def told(texts: Iterator[bytes]) -> bool:
    return any(secret.encode() in text for text in texts for secret in (SECRET, QUOTED, SECRET[:6], "ei?m", "m%407"))


def test_a_password_in_the_address_opens_and_is_written_nowhere(
    locked: str, visits_schema: Schema, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = locked.replace("joe@", f"joe:{QUOTED}@")
    model = sklar.fit(address, visits_schema, epsilon=1.0, method="independent", ledger=tmp_path / "l", new_ledger=True)
    model.save(tmp_path / "m.sklar")
    (tmp_path / "claim").write_text(f"{model.claim} {model.claim.to_dict()} {model!r}")
    (tmp_path / "said").write_text("".join(capfd.readouterr()))
    assert len(list(tmp_path.iterdir())) == 4
    assert not told(written(tmp_path))


@pytest.mark.parametrize("unescaped", [False, True])
def test_errors_do_not_tell_it(locked: str, visits_schema: Schema, unescaped: bool) -> None:
    wrong = f"joe:{SECRET if unescaped else QUOTED}x@"
    with pytest.raises(SklarError) as error:
        open_rows(locked.replace("joe@", wrong), visits_schema)
    text = "".join(traceback.format_exception(error.value)) + repr(error.value.args)
    assert not told(iter([text.replace(wrong, "").encode()]))


def test_it_may_come_from_the_environment_or_a_file(
    locked: str, visits_schema: Schema, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="PGPASSWORD"):
        open_rows(locked, visits_schema)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert open_rows(locked, visits_schema).exact_rows
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:joe:{SECRET}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert open_rows(locked, visits_schema).exact_rows


@pytest.mark.slow
def test_no_process_shows_it(locked: str, visits_schema: Schema, tmp_path: Path) -> None:
    """A fit from the command line: it, what it starts and the processes of servers are looked at while it runs."""
    visits_schema.write(tmp_path / "s.toml")
    command = [sys.executable, "-m", "sklar", "fit", locked, "-s", str(tmp_path / "s.toml"), "-e", "1", "-m",
               "independent", "--ledger", str(tmp_path / "l"), "--new-ledger", "-o", str(tmp_path / "m")]  # fmt: skip
    process = subprocess.Popen(
        command, env={**os.environ, "PGPASSWORD": SECRET}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    seen = 0
    while process.poll() is None:
        lines = [(_parent(place), _read(place / "cmdline")) for place in Path("/proc").glob("[0-9]*")]
        own = [_read(Path(f"/proc/{process.pid}/cmdline")), *(line for of, line in lines if of == process.pid)]
        shown = [*own, *(line for _, line in lines if line.startswith(b"postgres"))]
        assert not told(iter(shown))
        seen += any(b"sklar\0fit" in line for line in shown)
        time.sleep(0.05)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    assert seen
    assert not told(iter([output, *written(tmp_path)]))


def _parent(place: Path) -> int:
    """The process that started one; 0 where it is gone."""
    rest = _read(place / "stat").rpartition(b")")[2].split()
    return int(rest[1]) if rest else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it ended meanwhile
        return b""


def test_a_command_line_with_a_password_is_refused(locked: str, tmp_path: Path) -> None:
    address = locked.replace("joe@", f"joe:{QUOTED}@")
    ended = subprocess.run(
        [sys.executable, "-m", "sklar", "schema", "draft", address, "-o", str(tmp_path / "s.toml")],
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 1
    assert b"PGPASSWORD" in ended.stderr
    assert not told(iter([ended.stderr, ended.stdout]))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://u:p%40@h:5432/db?table=x", "postgresql://u@h:5432/db?table=x"),
        ("postgresql://u:p@ss/w@h/db", "postgresql://u@h/db"),
        ("postgresql://u:p?w#x@h/db", "postgresql://u@h/db"),
        ("postgresql://u:S3 CRET@h/db?table=t", "postgresql://u@h/db?table=t"),
        ("postgresql://u:a\nb@h/db", "postgresql://u@h/db"),
        ("postgresql://u:1?SEKRET@h", "postgresql://u@h"),
        ("postgresql://u:5432#s@h", "postgresql://u@h"),
        ("postgresql://u:5432/s@h/db", "postgresql://u@h/db"),
        ("postgresql://u%3apw@h/db", "postgresql://u@h/db"),
        ("postgresql://joe@work:pw@h/db", "postgresql://joe@work@h/db"),
        ("--prior=postgresql://u:pw@h/db", "--prior=postgresql://u@h/db"),
        ("postgresql://postgres:@/db?host=/tmp", "postgresql://postgres:@/db?host=/tmp"),
        ("postgresql://h:5432/db?user=a%40b&SSLMode=require", "postgresql://h:5432/db?user=a%40b&SSLMode=require"),
        ("postgresql://h/db?password=pw&table=x", "postgresql://h/db?...&table=x"),
        ("postgresql://h/db?password=p&w&table=x", "postgresql://h/db?...&...&table=x"),
        ("postgresql://h/db?pass%77ord=pw", "postgresql://h/db?..."),
        ("postgresql://h/db?table=x#pw", "postgresql://h/db?..."),
        ("postgresql://h/db?oauth_client_secret=a&scram_client_key=b", "postgresql://h/db?...&..."),
        ("s3://b/x.csv?region=eu&X-Amz-Signature=a&access_token=b", "s3://b/x.csv?region=eu&...&..."),
        ("s3://b/x.csv?endpoint_override=http%3A%2F%2Fu%3Apw%40h", "s3://b/x.csv?..."),
        ("s3://b/x.csv?endpoint_override=http://h:9000", "s3://b/x.csv?endpoint_override=http://h:9000"),
        ("gs://b/x.csv?json_credentials=a", "gs://b/x.csv?..."),
        ("https://h/x.csv?sig=a", "https://h/x.csv?..."),
        ("s3://key:secret@bucket/x.parquet", "s3://key@bucket/x.parquet"),
        ("people.csv", "people.csv"),
    ],
)
def test_what_is_shown_of_an_address(address: str, shown: str) -> None:
    assert remove_secrets(address) == shown
    assert has_secrets(address) == (address != shown)
    found = table_address(address)
    assert found is None or (str(found) == shown and "p%40" not in repr(found))


def test_an_address_that_cannot_be_split_is_refused_without_its_password() -> None:
    with pytest.raises(SklarError) as error:
        table_address(f"postgresql://u:{chr(0x2100)}w@h/db")
    assert chr(0x2100) not in "".join(traceback.format_exception(error.value))
    assert remove_secrets("host=h password=pw") == "host=h password=..."
