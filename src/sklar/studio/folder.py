"""The folder of a studio: which tables it knows, what its files are called, and that nothing outside is reached."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from sklar.errors import LedgerError, OutputError, UsageError
from sklar.export.atomic import write_bytes
from sklar.portable import lock_within
from sklar.schema.address import STORES, has_secrets, scheme_of, table_address

STATE = ".sklar-studio"
"""Where a studio keeps what it knows, inside the folder; readable by its owner only."""
TABLES = "tables.json"
TABLE_ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".feather", ".arrow", ".ipc", ".xlsx",
    ".sav", ".dta", ".sas7bdat", ".duckdb", ".ddb", ".sqlite", ".sqlite3",
)  # fmt: skip
"""Files that are offered as tables."""
MAX_WAIT_SECONDS = 60.0
"""How long a change of the folder waits for another one."""
READING = ("delimiter", "encoding", "null_values")
"""What can be said about how to read a file."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,39}")
"""What a table may be called in the studio; its files begin with it."""
SERVERS = ("postgresql", "postgres", *STORES)
"""Schemes of addresses that may be taken up."""
DATABASE_ENDINGS = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
"""Files that hold several tables, one of which is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """A table of the studio.

    Attributes:
        name: What it is called here; models and releases of it are called NAME-1 and so on.
        source: A file of the folder, or the address of a database table.
        schema: Its schema, a file of the folder.
        ledger: Its ledger, likewise.
        reading: What was said about how to read it: delimiter, encoding, null values (with commas).
        by: Who answers questions about it.
    """

    name: str
    source: str
    schema: str
    ledger: str
    reading: Mapping[str, str] = field(default_factory=dict[str, str])
    by: str = ""

    def model(self, number: int) -> str:
        """The name, without ending, of what belongs to one of its models."""
        return f"{self.name}-{number}"


class StudioFolder:
    """A folder and its tables. All state is on disk: another process sees the same."""

    def __init__(self, root: str | os.PathLike[str]):
        self.root = Path(os.path.realpath(root))
        if not self.root.is_dir():
            raise UsageError(f"there is no folder {os.fspath(root)}")
        self.state = self.root / STATE
        try:
            self.state.mkdir(mode=0o700, exist_ok=True)
            self.state.chmod(0o700)
        except OSError as error:
            raise OutputError(f"a studio needs a folder it can write to: {error.strerror}") from None

    def tables(self) -> dict[str, TableEntry]:
        """All tables by name."""
        try:
            listed = json.loads((self.state / TABLES).read_text(encoding="utf-8"))
            return {one["name"]: TableEntry(**one) for one in listed}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError):
            raise UsageError(f"{STATE}/{TABLES} cannot be read: delete it and name the tables again") from None

    @contextmanager
    def _changed(self) -> Generator[dict[str, TableEntry]]:
        """The tables, to be changed and kept: by one at a time, or of two changes one is lost."""
        with only_one(self.state / "changing"):
            tables = self.tables()
            yield tables
            kept = json.dumps([asdict(one) for one in tables.values()], indent=1)
            write_bytes(self.state / TABLES, kept.encode(), mode=0o600)

    def table(self, name: str) -> TableEntry:
        """The table of this name."""
        found = self.tables().get(name)
        if found is None:
            raise UsageError(f"there is no table {name!r} here")
        return found

    def change(self, name: str, **values: Any) -> None:
        """Keep something new about a table."""
        with self._changed() as tables:
            tables[name] = replace(self.table(name), **values)

    def forget(self, name: str) -> None:
        """Know a table no more; its files stay."""
        with self._changed() as tables:
            tables.pop(name, None)

    def new_table(self, source: str, name: str, reading: Mapping[str, str]) -> TableEntry:
        """Take up a table: a file of the folder or the address of a database table."""
        told = dict(reading)
        inside = told.pop("table", "").strip()
        stem = inside or ("" if scheme_of(source) else source.split(".")[0])
        name = name.strip() or re.sub(r"[^A-Za-z0-9_]+", "_", stem).strip("_")[:40]
        if not NAME.fullmatch(name):
            raise UsageError("name the table in letters, digits and _, as people")
        if scheme_of(source) is not None:
            require_address(source)
        else:
            self.place(source)
        entry = TableEntry(
            name=name, source=_with_table(source, inside), schema=f"{name}.toml", ledger=self._ledger(source, name),
            reading={key: value for key, value in told.items() if value},
        )  # fmt: skip
        with self._changed() as tables:
            if name in tables:
                raise UsageError(f"there is a table called {name} already; name this one otherwise")
            rows = self._rows(entry.source)
            if (other := next((one for one in tables.values() if self._rows(one.source) == rows), None)) is not None:
                raise UsageError(
                    f"these rows are the table {other.name} already: with a second ledger nobody would add up what is "
                    "spent on them"
                )
            tables[name] = entry
        return entry

    def _ledger(self, source: str, name: str) -> str:
        """The ledger beside a file, as a fit at a terminal has it, unless there is only one called after the table."""
        beside, own = f"{source}.ledger", f"{name}.ledger"
        plain = scheme_of(source) is None and not source.lower().endswith(tuple(DATABASE_ENDINGS))
        return beside if plain and ((self.root / beside).is_file() or not (self.root / own).is_file()) else own

    def _rows(self, source: str) -> tuple[Any, ...]:
        """What is the same for two ways to write where the same rows are."""
        found = table_address(source)
        if found is None and scheme_of(source) is not None:
            return (source,)
        if found is not None and found.kind == "postgresql":  # other users and settings lead to the same rows
            parts = urlsplit(found.connection)
            server = parts.netloc.rpartition("@")[2].lower().removesuffix(":5432")
            more = sorted(pair for pair in parse_qsl(parts.query) if pair[0] in ("host", "port", "dbname"))
            return (server, parts.path, *more, found.namespace or "public", found.table)
        path = self.root / (source if found is None else found.connection)
        inside = () if found is None else (found.namespace or "main", (found.table or "").lower())
        known = path.stat() if path.exists() else None
        return (*((known.st_dev, known.st_ino) if known else (path,)), *inside)

    def candidates(self) -> list[str]:
        """Files that may be tables and are not taken up yet."""
        taken = {one.source for one in self.tables().values()}
        made = re.compile(r"-\d+\.")
        found = (p.name for p in self.root.iterdir() if p.is_file() and p.name.lower().endswith(TABLE_ENDINGS))
        return sorted(n for n in found if n not in taken and not n.startswith((".", "-")) and not made.search(n))

    def place(self, name: str) -> Path:
        """A file that lies in the folder itself; whatever would lead elsewhere is refused."""
        odd = not name or name.startswith((".", "-")) or any(c in "/\\\0" or not c.isprintable() for c in name)
        path = self.root / name if not odd else self.root
        if odd or not path.is_file() or path.resolve().parent != self.root:
            raise UsageError("name a file that lies in the folder of the studio")
        return path

    def free_place(self, name: str) -> Path:
        """The place of a new file of this name."""
        base = os.path.basename(name.replace("\\", "/"))
        if not base or base.startswith((".", "-")) or not base.isprintable() or len(base.encode()) > 200:
            raise UsageError("the file has a name that cannot be used here: rename it, as people.csv")
        if not base.lower().endswith(TABLE_ENDINGS):
            raise UsageError(f"a table is a file that ends in one of {', '.join(TABLE_ENDINGS)}")
        path = self.root / base
        if os.path.lexists(path):
            raise UsageError(f"there is a file {base} already: name the upload otherwise, or use the one that is there")
        return path

    def models(self, entry: TableEntry) -> list[int]:
        """Numbers of the models of a table, the latest first."""
        return sorted(self._numbers(entry, r"\.sklar"), reverse=True)

    def next_model(self, entry: TableEntry) -> int:
        """A number that no file of the table has."""
        return 1 + max(self._numbers(entry, r"\..*"), default=0)

    def next_sample(self, entry: TableEntry, model: int) -> int:
        """The same for samples of one model."""
        own = re.compile(rf"{re.escape(entry.model(model))}\.sample-(\d+)\..*")
        return 1 + max((int(m[1]) for p in self.root.iterdir() if (m := own.fullmatch(p.name))), default=0)

    def _numbers(self, entry: TableEntry, ending: str) -> Iterator[int]:
        own = re.compile(rf"{re.escape(entry.name)}-([1-9]\d{{0,8}}){ending}")
        return (int(m[1]) for p in self.root.iterdir() if (m := own.fullmatch(p.name)))

    def require_ledger(self, entry: TableEntry) -> Path:
        """The ledger of a table, which must exist before anything is measured."""
        path = self.root / entry.ledger
        if not path.is_file():
            raise LedgerError(f"there is no ledger {entry.ledger} yet: make one with a cap first, in step Budget")
        return path


@contextmanager
def only_one(path: Path) -> Generator[None]:
    """One at a time, of all threads and processes."""
    with path.open("ab") as file:
        if not lock_within(MAX_WAIT_SECONDS, file.fileno()):
            raise UsageError("another process of the studio is busy with this folder: try again")
        yield


def _with_table(source: str, table: str) -> str:
    """The file, or the address of a table in it."""
    kind = next((kind for ending, kind in DATABASE_ENDINGS.items() if source.lower().endswith(ending)), None)
    if kind is None or scheme_of(source) is not None:
        if table:
            raise UsageError("a table is named inside a database file; this file is one table, or the address names it")
        return source
    if not table:
        raise UsageError("the file holds several tables: name one of them")
    return f"{kind}://{quote(source)}?table={quote(table)}"


def require_address(address: str) -> None:
    """A studio keeps addresses on disk and shows them, so no password may be in one; files lie in its folder."""
    if has_secrets(address):
        raise UsageError(
            "leave the password out of the address: it is taken from the environment (PGPASSWORD) or ~/.pgpass"
        )
    if scheme_of(address) not in SERVERS:
        raise UsageError("write the address as postgresql://host/database?table=visits; files lie in the folder")
