"""Addresses of tables in databases and object stores; never shown with their secrets."""

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
"""Endings of the names of DuckDB files."""
OWN_PARAMETERS = ("table", "schema", "like")
"""Parameters of a URL that Sklar reads; all others are for the driver."""
PUBLIC_PARAMETERS = frozenset((
    "table", "schema", "like", "host", "hostaddr", "port", "user", "dbname", "application_name",
    "client_encoding", "connect_timeout", "channel_binding", "gssencmode", "keepalives", "keepalives_count",
    "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts", "passfile", "require_auth",
    "requirepeer", "service", "servicefile", "sslcert", "sslcertmode", "sslcrl", "sslcrldir", "sslkey",
    "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "ssl_max_protocol_version",
    "ssl_min_protocol_version", "target_session_attrs", "tcp_user_timeout", "allow_bucket_creation",
    "allow_bucket_deletion", "endpoint_override", "project_id", "region", "retry_limit_seconds", "scheme",
))  # fmt: skip
"""Parameters of a URL that are shown, as drivers and stores call them; every other parameter may be a secret."""
REASONS = {
    "password": "the user or the password is wrong or missing: set PGPASSWORD, or write a ~/.pgpass",
    "pg_hba": "the server does not let this user in from here",
    "refused": "no server accepts connections there",
    "translate host": "there is no such host",
    "no such file": "no server accepts connections at that socket",
    "timeout": "it does not answer",
    "does not exist": "there is no such database or user",
    "too many": "it has no connection left",
    "ssl": "the encrypted connection failed",
}
"""Words in a driver's message, in lower case, and what they mean; the message itself may quote a password."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "[::1]")
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
        table: Name of the table; None if it is not stated.
        namespace: The schema of the database that the table is in, if stated.
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
            raise UsageError(f"name the table in {self}: add ?table=NAME to the address, or use --table NAME")
        return ".".join(quote_identifier(part) for part in (self.namespace, self.table) if part)

    def meets(self, other: TableAddress) -> bool:
        """Return whether both are plainly the same table, in any spelling; without a table, the same database."""
        one, two = self._place, other._place
        return one[0] == two[0] and (one[1:] == two[1:] or not (self.table and other.table))

    @property
    def _place(self) -> tuple[str, str, str]:
        """(database, namespace, table), normalized for spelling, user and settings."""
        if self.kind == "postgresql":
            return _find_server(self.connection), self.namespace or "public", self.table or ""
        path = os.path.realpath(self.connection)
        with suppress(OSError, ValueError):
            status = os.stat(path)
            path = f"{status.st_dev}:{status.st_ino}"  # files of databases may have several names
        return path, (self.namespace or "main").lower(), (self.table or "").lower()

    def __str__(self) -> str:
        return self.shown


def find_scheme(data: Any) -> str | None:
    """Return the scheme of a text that is a URL, in small letters; None for everything else."""
    found = _SCHEME.match(data) if isinstance(data, str) else None
    return found[1].lower() if found else None


def table_address(data: Any, table: str | None = None) -> TableAddress | None:
    """Return the address that a URL of a database spells; None for everything else.

    Args:
        data: What may be a URL.
        table: Name of the table if the URL has none; SCHEMA.TABLE names both.
    """
    kind = DATABASES.get(find_scheme(data) or "")
    if kind is None:
        return None
    parts = _split_url(data)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    own = {key: value for key, value in pairs if key in OWN_PARAMETERS and value}
    if table and own.get("table") not in (None, table):
        raise UsageError("the address names one table and --table another: name it once")
    name, namespace = own.get("table") or table, own.get("schema")
    if name and not namespace and "." in name:
        namespace, name = name.split(".", 1)
    rest = urlencode([(key, value) for key, value in pairs if key not in OWN_PARAMETERS], quote_via=quote, safe="/")
    if kind == "postgresql":
        connection = urlunsplit(("postgresql", parts.netloc, parts.path, rest, ""))
        connection = connection if "//" in connection else connection.replace(":", "://", 1)
    else:
        connection = unquote(parts.netloc + parts.path).replace("//", "/", 1)
    return TableAddress(
        kind=kind, connection=connection, shown=remove_secrets(data), table=name, namespace=namespace,
        like=own.get("like"),
    )  # fmt: skip


def _split_url(url: str) -> SplitResult:
    with suppress(ValueError):  # its message may quote a password
        return urlsplit(url)
    raise UsageError(
        f"{remove_secrets(url)} is not a valid address: write characters such as [ in a name or a password as %5B"
    )


def _find_server(connection: str) -> str:
    """Return host, port and database of a PostgreSQL server, from URL and environment as its own tools do."""
    parts, env = urlsplit(connection), os.environ
    said = dict(parse_qsl(parts.query))
    account, _, at = parts.netloc.rpartition("@")
    named, port = re.fullmatch(r"(.*?)(?::(\d*))?", at, re.DOTALL).groups()  # pyright: ignore[reportOptionalMemberAccess]
    host = said.get("hostaddr") or said.get("host") or unquote(named) or env.get("PGHOST", "")
    host = "" if host.startswith("/") or host.lower() in LOCAL_HOSTS else host.lower()
    user = said.get("user") or unquote(account.partition(":")[0]) or env.get("PGUSER") or env.get("USER", "")
    database = said.get("dbname") or unquote(parts.path[1:]) or env.get("PGDATABASE") or user
    return f"{host}:{said.get('port') or port or env.get('PGPORT') or 5432}/{database}"


def file_address(path: str) -> TableAddress | None:
    """Return the address of a DuckDB file by the end of its name; None for other files."""
    known = path.lower().endswith(DUCKDB_FILES) and find_scheme(path) is None
    return TableAddress(kind="duckdb", connection=path, shown=path) if known else None


def is_pattern(path: str) -> bool:
    """Return whether a path is a pattern of files, as data/*.csv, and not the name of one."""
    return bool(set(path) & set("*?[")) and find_scheme(path) is None and not os.path.exists(path)


def remove_secrets(text: str) -> str:
    """Return a URL without its password and parameters that may be secret; another text without secret settings."""
    if _SCHEME.search(text) is None:
        return _SETTING.sub(r"\1=...", text)
    place, mark, parameters = _PASSWORD.sub(r"\1@", text).partition("?")
    return place + mark + "&".join(one if _is_public(one) else "..." for one in parameters.split("&"))


def has_secrets(text: str) -> bool:
    """Return whether a text has a URL in it with what may be a password or a key."""
    return _SCHEME.search(text) is not None and remove_secrets(text) != text


def _is_public(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return not parameter or (
        unquote(name).lower() in PUBLIC_PARAMETERS and "#" not in value and not has_secrets(unquote(value))
    )


def quote_identifier(name: str) -> str:
    """Return a name as SQL quotes it."""
    if "\0" in name or not name:
        raise UsageError("database names must be non-empty and must not contain NUL")
    return '"' + name.replace('"', '""') + '"'


def quote_identifiers(names: Iterable[str]) -> str:
    """Return names as SQL quotes them, with commas between them."""
    return ", ".join(map(quote_identifier, names))


def quote_literal(text: str) -> str:
    """Return a text as PostgreSQL quotes it, under any setting of `standard_conforming_strings`."""
    quoted = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{quoted}'" if "\\" in text else f"'{quoted}'"


def explain_unreachable(message: str) -> str | None:
    """Explain in our own words why a database could not be reached, from a driver's message; None if unknown."""
    text = message.lower()
    return next((reason for word, reason in REASONS.items() if word in text), None)
