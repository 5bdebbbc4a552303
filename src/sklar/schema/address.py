"""Where a table lies if not in a file: in a database or an object store; never shown with its secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from sklar.errors import UsageError

DATABASES = {"postgresql": "postgresql", "postgres": "postgresql", "duckdb": "duckdb", "sqlite": "sqlite"}
"""Scheme of a URL to the kind of database."""
STORES = ("s3", "gs", "gcs")
"""Schemes of object stores."""
DUCKDB_FILES = (".duckdb", ".ddb")
"""How names of DuckDB files end."""
OWN = ("table", "schema", "like")
"""Parameters of a URL that are ours; all others are for the driver."""
SHOWN = frozenset((
    "table", "schema", "like", "host", "hostaddr", "port", "user", "dbname", "application_name",
    "client_encoding", "connect_timeout", "channel_binding", "gssencmode", "keepalives", "keepalives_count",
    "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts", "passfile", "require_auth",
    "requirepeer", "service", "servicefile", "sslcert", "sslcertmode", "sslcrl", "sslcrldir", "sslkey",
    "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "ssl_max_protocol_version",
    "ssl_min_protocol_version", "target_session_attrs", "tcp_user_timeout", "allow_bucket_creation",
    "allow_bucket_deletion", "endpoint_override", "project_id", "region", "retry_limit_seconds", "scheme",
))  # fmt: skip
"""Parameters of a URL that are shown, as drivers and stores call them; whatever else there is may be a secret."""
REASONS = {
    "password": "the user or the password is wrong, or none was given: set PGPASSWORD, or write a ~/.pgpass",
    "pg_hba": "the server does not let this user in from here",
    "refused": "nothing listens there",
    "translate host": "there is no such host",
    "no such file": "nothing listens at that socket",
    "timeout": "it does not answer",
    "does not exist": "there is no such database or user",
    "too many": "it has no connection left",
    "ssl": "the encrypted connection failed",
}
"""What a driver's message may hold, in small letters, and what it means; its own words may quote a password."""
LOCAL = ("localhost", "127.0.0.1", "::1", "[::1]")
"""Names of this machine; sockets, which are paths, are on it too."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# A password may hold any sign, also those that should have been escaped, so it ends at the last @.
_PASSWORD = re.compile(r"(://.*?)(?::|%3a).+@", re.IGNORECASE | re.DOTALL)
_SETTING = re.compile(r"\b(\w*(?:password|secret|token|key))\s*=\s*\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAddress:
    """A table of a database.

    Attributes:
        kind: postgresql, duckdb or sqlite.
        connection: What the driver takes, secrets included: a URL, or the path of a file.
        shown: The address for messages, without secrets.
        table: Name of the table; None if it was not said.
        namespace: The schema of the database that the table is in, if it was said.
        like: For output: a table of the database whose types are wanted.
    """

    kind: str
    connection: str = field(repr=False)
    shown: str
    table: str | None = None
    namespace: str | None = None
    like: str | None = None

    @property
    def name(self) -> str:
        """The table as SQL writes it."""
        if not self.table:
            raise UsageError(f"name the table in {self}: add ?table=NAME to the address, or say --table NAME")
        return ".".join(identifier(part) for part in (self.namespace, self.table) if part)

    def meets(self, other: TableAddress) -> bool:
        """Whether both are plainly one table, however they are spelt; without a table it is the whole database."""
        one, two = self._place, other._place
        return one[0] == two[0] and (one[1:] == two[1:] or not (self.table and other.table))

    @property
    def _place(self) -> tuple[str, str, str]:
        """(database, namespace, table), without what differs in spelling, user and settings alone."""
        if self.kind == "postgresql":
            return _server(self.connection), self.namespace or "public", self.table or ""
        path = os.path.realpath(self.connection)
        with suppress(OSError, ValueError):
            status = os.stat(path)
            path = f"{status.st_dev}:{status.st_ino}"  # files of databases may have several names
        return path, (self.namespace or "main").lower(), (self.table or "").lower()

    def __str__(self) -> str:
        return self.shown


def scheme_of(data: Any) -> str | None:
    """The scheme of a text that is a URL, in small letters; None for everything else."""
    found = _SCHEME.match(data) if isinstance(data, str) else None
    return found[1].lower() if found else None


def table_address(data: Any, table: str | None = None) -> TableAddress | None:
    """The address that a URL of a database spells; None for everything else.

    Args:
        data: What may be one.
        table: Name of the table if the URL does not tell; SCHEMA.TABLE names both.
    """
    kind = DATABASES.get(scheme_of(data) or "")
    if kind is None:
        return None
    parts = _parts(data)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    own = {key: value for key, value in pairs if key in OWN and value}
    if table and own.get("table") not in (None, table):
        raise UsageError("the address names one table and --table another: name it once")
    name, namespace = own.get("table") or table, own.get("schema")
    if name and not namespace and "." in name:
        namespace, name = name.split(".", 1)
    rest = urlencode([(key, value) for key, value in pairs if key not in OWN], quote_via=quote, safe="/")
    if kind == "postgresql":
        connection = urlunsplit(("postgresql", parts.netloc, parts.path, rest, ""))
        connection = connection if "//" in connection else connection.replace(":", "://", 1)
    else:
        connection = unquote(parts.netloc + parts.path).replace("//", "/", 1)
    return TableAddress(
        kind=kind, connection=connection, shown=without_secrets(data), table=name, namespace=namespace,
        like=own.get("like"),
    )  # fmt: skip


def _parts(url: str) -> SplitResult:
    with suppress(ValueError):  # its message may quote a password
        return urlsplit(url)
    raise UsageError(f"{without_secrets(url)} is no address: write signs as [ in a name or a password as %5B")


def _server(connection: str) -> str:
    """Host, port and database of a PostgreSQL server, as its own tools take them from URL and environment."""
    parts, env = urlsplit(connection), os.environ
    said = dict(parse_qsl(parts.query))
    account, _, at = parts.netloc.rpartition("@")
    named, port = re.fullmatch(r"(.*?)(?::(\d*))?", at, re.DOTALL).groups()  # pyright: ignore[reportOptionalMemberAccess]
    host = said.get("hostaddr") or said.get("host") or unquote(named) or env.get("PGHOST", "")
    host = "" if host.startswith("/") or host.lower() in LOCAL else host.lower()
    user = said.get("user") or unquote(account.partition(":")[0]) or env.get("PGUSER") or env.get("USER", "")
    database = said.get("dbname") or unquote(parts.path[1:]) or env.get("PGDATABASE") or user
    return f"{host}:{said.get('port') or port or env.get('PGPORT') or 5432}/{database}"


def file_address(path: str) -> TableAddress | None:
    """The address of a DuckDB file by the end of its name; None for other files."""
    known = path.lower().endswith(DUCKDB_FILES) and scheme_of(path) is None
    return TableAddress(kind="duckdb", connection=path, shown=path) if known else None


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern of files, as data/*.csv, and not the name of one."""
    return bool(set(path) & set("*?[")) and scheme_of(path) is None and not os.path.exists(path)


def without_secrets(text: str) -> str:
    """A URL without its password and all parameters that may be secret; of other texts, without settings that are."""
    if _SCHEME.search(text) is None:
        return _SETTING.sub(r"\1=...", text)
    place, mark, parameters = _PASSWORD.sub(r"\1@", text).partition("?")
    return place + mark + "&".join(one if _may_be_shown(one) else "..." for one in parameters.split("&"))


def has_secrets(text: str) -> bool:
    """Whether a text has a URL in it with what may be a password or a key."""
    return _SCHEME.search(text) is not None and without_secrets(text) != text


def _may_be_shown(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return not parameter or (unquote(name).lower() in SHOWN and "#" not in value and not has_secrets(unquote(value)))


def identifier(name: str) -> str:
    """A name as SQL quotes it."""
    if "\0" in name or not name:
        raise UsageError("a name in a database is neither empty nor does it hold a NUL")
    return '"' + name.replace('"', '""') + '"'


def identifiers(names: Iterable[str]) -> str:
    """Names with commas between them."""
    return ", ".join(map(identifier, names))


def literal(text: str) -> str:
    """A text as PostgreSQL quotes it, whatever `standard_conforming_strings` says of backslashes."""
    quoted = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{quoted}'" if "\\" in text else f"'{quoted}'"


def unreachable(message: str) -> str | None:
    """Why a database could not be reached, by a driver's message, in our own words; None if it tells nothing."""
    text = message.lower()
    return next((reason for word, reason in REASONS.items() if word in text), None)
