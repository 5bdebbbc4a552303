"""The folder of a studio: its tables, the names of its files, and the restriction to files inside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from unicodedata import combining, normalize
from urllib.parse import parse_qsl, quote, urlsplit

from sklar.errors import LedgerError, OutputError, UsageError
from sklar.export.atomic import write_bytes
from sklar.portable import lock_within
from sklar.schema.address import STORES, find_scheme, has_secrets, table_address

STATE = ".sklar-studio"
"""Subfolder with the state of a studio, readable by its owner only."""
TABLES = "tables.json"
TABLE_ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".feather", ".arrow", ".ipc", ".xlsx",
    ".sav", ".dta", ".sas7bdat", ".duckdb", ".ddb", ".sqlite", ".sqlite3",
)  # fmt: skip
"""Endings of files that are offered as tables."""
MAX_WAIT_SECONDS = 60.0
"""Maximum time that a change of the folder waits for another one."""
READING = ("delimiter", "encoding", "null_values")
"""Options for reading a file."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,39}")
"""Pattern of table names in the studio; the table's files begin with its name."""
SERVERS = ("postgresql", "postgres", *STORES)
"""Schemes of addresses that can be added."""
DATABASE_ENDINGS = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
"""Endings of files that contain several tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """A table of the studio.

    Attributes:
        name: Its name; models and releases of it are called NAME-1 and so on.
        source: A file of the folder, or the address of a database table.
        schema: Its schema, a file of the folder.
        ledger: Its ledger, a file of the folder.
        reading: Options for reading it: delimiter, encoding, null values (comma-separated).
        by: The person who answers questions about it.
    """

    name: str
    source: str
    schema: str
    ledger: str
    reading: Mapping[str, str] = field(default_factory=dict[str, str])
    by: str = ""

    def model(self, number: int) -> str:
        """Return the common name, without ending, of the files of one of its models."""
        return f"{self.name}-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that may be a table: its name, size and date in words, and whether it contains several tables.

    A folder of files is listed, too, as one of linked tables.
    """

    name: str
    size: str
    changed: str
    is_database: bool
    is_folder: bool = False


class StudioFolder:
    """A folder and its tables. All state is on disk: another process sees the same."""

    def __init__(self, root: str | os.PathLike[str]):
        self.root = Path(os.path.realpath(root))
        if not self.root.is_dir():
            raise UsageError(f"the folder {os.fspath(root)} does not exist")
        self.state = self.root / STATE
        try:
            self.state.mkdir(mode=0o700, exist_ok=True)
            self.state.chmod(0o700)
        except OSError as error:
            raise OutputError(f"a studio needs a folder it can write to: {error.strerror}") from None

    def tables(self) -> dict[str, TableEntry]:
        """Return all tables by name."""
        try:
            listed = json.loads((self.state / TABLES).read_text(encoding="utf-8"))
            return {one["name"]: TableEntry(**one) for one in listed}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError):
            raise UsageError(f"{STATE}/{TABLES} cannot be read: delete it and add the tables again") from None

    @contextmanager
    def _changed(self) -> Generator[dict[str, TableEntry]]:
        """Yield the tables for a change and save them, under a lock so that no change is lost."""
        with only_one(self.state / "changing"):
            tables = self.tables()
            yield tables
            kept = json.dumps([asdict(one) for one in tables.values()], indent=1)
            write_bytes(self.state / TABLES, kept.encode(), mode=0o600)

    def table(self, name: str) -> TableEntry:
        """Return the table of this name."""
        found = self.tables().get(name)
        if found is None:
            raise UsageError(f"there is no table {name!r}")
        return found

    def change(self, name: str, **values: Any) -> None:
        """Change attributes of a table."""
        with self._changed() as tables:
            tables[name] = replace(self.table(name), **values)

    def forget(self, name: str) -> None:
        """Remove a table from the list; its files stay."""
        with self._changed() as tables:
            tables.pop(name, None)

    def new_table(self, source: str, name: str, reading: Mapping[str, str]) -> TableEntry:
        """Add a table: a file of the folder or the address of a database table."""
        options = dict(reading)
        inside = options.pop("table", "").strip()
        stem = inside or ("" if find_scheme(source) else source.split(".")[0])
        plain = "".join(one for one in normalize("NFKD", stem) if not combining(one))  # é is e
        name = name.strip() or re.sub(r"[^A-Za-z0-9_]+", "_", plain).strip("_")[:40]
        if not NAME.fullmatch(name):
            raise UsageError("the name of a table must have letters, digits and _ only, as people")
        if find_scheme(source) is not None:
            require_address(source)
        else:
            self.place(source, folder=True)
        entry = TableEntry(
            name=name, source=_with_table(source, inside), schema=f"{name}.toml", ledger=self._ledger(source, name),
            reading={key: value for key, value in options.items() if value},
        )  # fmt: skip
        with self._changed() as tables:
            if name in tables:
                raise UsageError(f"a table called {name} already exists; use another name")
            rows = self._rows(entry.source)
            same = (one for one in tables.values() if _shares_rows(self._rows(one.source), rows))
            if (other := next(same, None)) is not None:
                raise UsageError(
                    f"these rows are already the table {other.name}: a second ledger would not count what is spent on "
                    "them"
                )
            tables[name] = entry
        return entry

    def _ledger(self, source: str, name: str) -> str:
        """Return the ledger beside a file, as a fit at a terminal uses it, or an existing one named after the table."""
        beside, own = f"{source}.ledger", f"{name}.ledger"
        plain = find_scheme(source) is None and not source.lower().endswith(tuple(DATABASE_ENDINGS))
        return beside if plain and ((self.root / beside).is_file() or not (self.root / own).is_file()) else own

    def _rows(self, source: str) -> tuple[Any, ...]:
        """Return an identity of the rows, the same for different addresses of the same table."""
        found = table_address(source)
        if found is None and find_scheme(source) is not None:
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

    def candidates(self) -> list[FoundFile]:
        """Return files that may be tables and were not added yet."""
        taken = {one.source for one in self.tables().values()}
        made = re.compile(r"-\d+\.(sample-\d+|synthetic)\.")  # synthetic rows
        found = (p for p in self.root.iterdir() if _is_table(p) or (p.is_dir() and len(_tables_in(p)) > 1))
        new = (
            p for p in found if p.name not in taken and not p.name.startswith((".", "-")) and not made.search(p.name)
        )
        return sorted((_describe_file(path) for path in new), key=lambda one: one.name)

    def place(self, name: str, *, folder: bool = False) -> Path:
        """Return a file directly in the folder, or a folder there with such files; refuse any other path."""
        odd = not name or name.startswith((".", "-")) or any(c in "/\\\0" or not c.isprintable() for c in name)
        path = self.root / name if not odd else self.root
        inside = folder and path.is_dir() and all(one.resolve().parent == path for one in _tables_in(path))
        if odd or not (path.is_file() or inside) or path.resolve().parent != self.root:
            raise UsageError("the file must be directly in the folder of the studio")
        return path

    def free_place(self, name: str) -> Path:
        """Return the path of a new file of this name."""
        base = os.path.basename(name.replace("\\", "/"))
        if not base or base.startswith((".", "-")) or not base.isprintable() or len(base.encode()) > 200:
            raise UsageError("the name of the file cannot be used: rename it, as people.csv")
        if not base.lower().endswith(TABLE_ENDINGS):
            raise UsageError(f"the name of a table must end in one of {', '.join(TABLE_ENDINGS)}")
        path = self.root / base
        if os.path.lexists(path):
            raise UsageError(f"the file {base} already exists: rename the upload, or use the existing file")
        return path

    def models(self, entry: TableEntry) -> list[int]:
        """Return the numbers of the models of a table, the latest first."""
        return sorted(self._numbers(entry, r"\.sklar"), reverse=True)

    def next_model(self, entry: TableEntry) -> int:
        """Return a number that no file of the table has."""
        return 1 + max(self._numbers(entry, r"\..*"), default=0)

    def next_sample(self, entry: TableEntry, model: int) -> int:
        """Return a number that no sample of a model has."""
        own = re.compile(rf"{re.escape(entry.model(model))}\.sample-(\d+)\..*")
        return 1 + max((int(m[1]) for p in self.root.iterdir() if (m := own.fullmatch(p.name))), default=0)

    def _numbers(self, entry: TableEntry, ending: str) -> Iterator[int]:
        own = re.compile(rf"{re.escape(entry.name)}-([1-9]\d{{0,8}}){ending}")
        return (int(m[1]) for p in self.root.iterdir() if (m := own.fullmatch(p.name)))

    def require_ledger(self, entry: TableEntry) -> Path:
        """Return the ledger of a table, which must exist before anything is measured."""
        path = self.root / entry.ledger
        if not path.is_file():
            raise LedgerError(f"there is no ledger {entry.ledger} yet: create one with a cap first, in step Budget")
        return path


def _is_table(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(TABLE_ENDINGS)


def _tables_in(folder: Path) -> list[Path]:
    """Return the files of a folder that may be tables."""
    return [path for path in folder.iterdir() if _is_table(path) and not path.name.startswith(".")]


def _describe_file(path: Path) -> FoundFile:
    known = path.stat()
    units = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))
    scale, unit = next(((scale, unit) for scale, unit in units if known.st_size >= scale), (1.0, "bytes"))
    size = f"{len(_tables_in(path))} tables" if path.is_dir() else f"{known.st_size / scale:.3g} {unit}"
    return FoundFile(
        name=path.name, size=size, changed=datetime.fromtimestamp(known.st_mtime).strftime("%Y-%m-%d %H:%M"),
        is_database=path.is_file() and path.name.lower().endswith(tuple(DATABASE_ENDINGS)), is_folder=path.is_dir(),
    )  # fmt: skip


def _shares_rows(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two identities are of the same rows; a database without a table is all its tables."""
    return one == other or (len(one) == len(other) > 2 and one[:-1] == other[:-1] and "" in (one[-1], other[-1]))


@contextmanager
def only_one(path: Path) -> Generator[None]:
    """Hold a lock against all other threads and processes."""
    with path.open("ab") as file:
        if not lock_within(MAX_WAIT_SECONDS, file.fileno()):
            raise UsageError("another process of the studio is using this folder: try again")
        yield


def _with_table(source: str, table: str) -> str:
    """Return the file, or the address of a table in it."""
    kind = next((kind for ending, kind in DATABASE_ENDINGS.items() if source.lower().endswith(ending)), None)
    if kind is None or find_scheme(source) is not None:
        if table:
            raise UsageError("a table name is for database files; this file is one table, or the address names it")
        return source
    return f"{kind}://{quote(source)}?table={quote(table)}" if table else f"{kind}://{quote(source)}"


def require_address(address: str) -> None:
    """Refuse addresses with a password, since they are stored and shown, and addresses of files."""
    if has_secrets(address):
        raise UsageError("omit the password in the address: it is taken from the environment (PGPASSWORD) or ~/.pgpass")
    if find_scheme(address) not in SERVERS:
        raise UsageError("write the address as postgresql://host/database?table=visits; files must be in the folder")
