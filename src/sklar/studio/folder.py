"""The folder of a studio: which tables it knows, what its files are called, and that nothing outside is reached."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from sklar.errors import LedgerError, OutputError, UsageError
from sklar.export.atomic import atomic_file
from sklar.schema.address import STORES, has_secrets, scheme_of

STATE = ".sklar-studio"
"""Where a studio keeps what it knows, inside the folder; readable by its owner only."""
TABLES = "tables.json"
TABLE_ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".feather", ".arrow", ".ipc", ".xlsx",
    ".sav", ".dta", ".sas7bdat", ".duckdb", ".ddb", ".sqlite", ".sqlite3",
)  # fmt: skip
"""Files that are offered as tables."""
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
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            raise UsageError(f"{STATE}/{TABLES} cannot be read: delete it and name the tables again") from None
        return {one["name"]: TableEntry(**one) for one in listed}

    def table(self, name: str) -> TableEntry:
        """The table of this name."""
        found = self.tables().get(name)
        if found is None:
            raise UsageError(f"there is no table {name!r} here")
        return found

    def save(self, entry: TableEntry) -> None:
        """Keep what is known about a table."""
        kept = {**self.tables(), entry.name: entry}
        with atomic_file(self.state / TABLES, mode=0o600) as file:
            file.write(json.dumps([asdict(one) for one in kept.values()], indent=1).encode())

    def change(self, name: str, **values: str) -> TableEntry:
        """Keep something new about a table."""
        entry = replace(self.table(name), **values)
        self.save(entry)
        return entry

    def new_table(self, source: str, name: str, reading: Mapping[str, str]) -> TableEntry:
        """Take up a table: a file of the folder or the address of a database table."""
        told = dict(reading)
        inside = told.pop("table", "").strip()
        stem = inside or ("" if scheme_of(source) else source.split(".")[0])
        name = name.strip() or re.sub(r"[^A-Za-z0-9_]+", "_", stem).strip("_")[:40]
        if not NAME.fullmatch(name):
            raise UsageError("name the table in letters, digits and _, as people")
        if name in self.tables():
            raise UsageError(f"there is a table called {name} already; name this one otherwise")
        if scheme_of(source) is not None:
            require_address(source)
        else:
            self.place(source)
        beside = f"{source}.ledger"
        kept = scheme_of(source) is None and not inside and (self.root / beside).is_file()
        entry = TableEntry(
            name=name, source=_with_table(source, inside), schema=f"{name}.toml",
            ledger=beside if kept else f"{name}.ledger", reading={key: value for key, value in told.items() if value},
        )  # fmt: skip
        self.save(entry)
        return entry

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
