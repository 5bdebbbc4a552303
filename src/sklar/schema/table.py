"""The schema of a table: its columns in order, and the public rules its rows obey."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from sklar.errors import SchemaError, UnconfirmedFactError
from sklar.schema import toml
from sklar.schema.columns import Column, is_unicode
from sklar.schema.prices import Price, price_faults
from sklar.schema.rules import Rule, rule_faults

MAX_COLUMNS = 20_000
"""Bounds what is done, and kept, for each pair of columns."""


class Schema(Mapping[str, Column]):
    """Public facts about the columns of a table, in their order; rules that every synthetic row must obey; and what
    measured facts cost. Immutable; all faults are reported at once.
    """

    __slots__ = ("_columns", "prices", "rules")

    def __init__(self, columns: Mapping[str, Column], rules: Iterable[Rule] = (), prices: Iterable[Price] = ()):
        self._columns = dict(columns)
        self.rules = tuple(rules)
        self.prices = tuple(prices)
        faults = self._faults()
        if faults:
            raise SchemaError(faults)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        same = list(self._columns.items()) == list(other._columns.items())
        return same and self.rules == other.rules and self.prices == other.prices

    def __hash__(self) -> int:
        return hash((tuple(self._columns.items()), self.rules, self.prices))

    def __repr__(self) -> str:
        return f"Schema({self._columns!r}, rules={self.rules!r}, prices={self.prices!r})"

    @property
    def names(self) -> tuple[str, ...]:
        """All column names, in order."""
        return tuple(self._columns)

    @property
    def modelled(self) -> tuple[str, ...]:
        """Names of the columns that are read and modelled, in order."""
        return tuple(name for name, column in self._columns.items() if column.modelled)

    def size(self, name: str) -> int:
        """Number of base codes of a column."""
        return self._columns[name].size

    def facts_by_provenance(self, word: str) -> tuple[tuple[str, str], ...]:
        """The (column, fact) pairs whose provenance is `word`."""
        return tuple(
            (name, fact)
            for name, column in self._columns.items()
            for fact in column.facts
            if column.provenance(fact) == word
        )

    def with_prices(self, prices: Iterable[Price]) -> Schema:
        """The same facts with these prices."""
        return Schema(self._columns, self.rules, prices)

    @property
    def unpriced(self) -> tuple[tuple[str, str], ...]:
        """The (column, fact) pairs that were measured at a price nobody states."""
        priced = {fact for price in self.prices for fact in price.facts}
        return tuple(pair for pair in self.facts_by_provenance("measured") if ".".join(pair) not in priced)

    def require_confirmed(self) -> None:
        """Refuse facts that were read off private rows and neither confirmed nor paid for."""
        marked: dict[str, list[str]] = {}
        for name, fact in self.facts_by_provenance("from-rows"):
            marked.setdefault(name, []).append(fact)
        if marked:
            raise UnconfirmedFactError([f"column '{name}': {', '.join(facts)}" for name, facts in marked.items()])

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the schema's own text; it says nothing about rows."""
        return hashlib.sha256(schema_to_toml(self).encode()).hexdigest()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Schema:
        """Read a schema from a TOML file; every fault is reported at once."""
        return schema_from_toml(toml.read_text(path))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the schema to a TOML file; reading it back gives an equal schema."""
        write_schema(self, path)

    def _faults(self) -> list[str]:
        if not self._columns:
            return ["it has no columns"]
        if len(self._columns) > MAX_COLUMNS:
            return [f"it has {len(self._columns):,} columns; at most {MAX_COLUMNS:,} are supported"]
        faults: list[str] = []
        for name, column in self._columns.items():
            if not isinstance(name, str) or not name.strip() or not is_unicode(name):
                faults.append("a column has a name that is blank or not text")
            elif not isinstance(column, Column) or not column.kind:
                faults.append(f"column '{name}' is not one of the column kinds")
            else:
                faults += [f"column '{name}': {fault}" for fault in column.faults()]
        if not faults and not self.modelled:
            faults.append("it has no column to model: all are id or ignore")
        return faults or [*rule_faults(self._columns, self.rules), *price_faults(self.prices)]


def schema_from_toml(text: str) -> Schema:
    """Parse a schema from TOML text."""
    return schema_from_dict(toml.parse_toml(text))


def schema_from_dict(document: Mapping[str, Any]) -> Schema:
    """Build a schema from the parsed document."""
    faults: list[str] = []
    columns, rules, prices = toml.parts_from_dict(document, faults)
    try:
        schema = Schema({name: column for name, column in columns.items() if column}, rules, prices)
    except SchemaError as error:
        raise SchemaError([*faults, *toml.first_hand(error.faults, broken=None in columns.values())]) from None
    if faults:
        raise SchemaError(faults)
    return schema


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """The schema as plain dicts, lists, numbers and strings; defaults are left out."""
    return toml.dict_from_parts(schema, schema.rules, schema.prices)


def schema_to_toml(schema: Schema, notes: Mapping[str, Sequence[str]] | None = None) -> str:
    """The schema as TOML text; notes on columns become comments above them."""
    return toml.HEADER + toml.document_text(schema_to_dict(schema), notes or {})


def write_schema(
    schema: Schema,
    path: str | PathLike[str],
    notes: Mapping[str, Sequence[str]] | None = None,
    *,
    private: bool = False,
) -> None:
    """Write the schema by atomic rename; a private one for its owner only."""
    toml.write_text(schema_to_toml(schema, notes), path, private=private)
