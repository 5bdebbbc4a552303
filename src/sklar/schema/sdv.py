"""SDV metadata (the JSON of SDV 1.x) in and out: kinds of columns, but no domains, which SDV does not record.

Reading gives a stated kind for every column. Booleans, keys, ignored columns and ordered categories are complete with
that; numbers, times and plain categories still need bounds or values, from a custodian or from a draft.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

from sklar.errors import SchemaError, UsageError
from sklar.schema.columns import Boolean, Category, Column, Id, Ignore, Labels, Ordinal
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.persons.person import Person
from sklar.schema.persons.tables import Tables
from sklar.schema.table import Schema

NEEDS = {"category": "values", **dict.fromkeys(("integer", "real", "number", "datetime"), "lower and upper")}
"""What SDV metadata leave open, by kind; `number` is an integer or a real."""
LINK = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")
"""What a relationship says."""
ISO_FORMATS = frozenset({"%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedKind:
    """What metadata say about one column.

    Attributes:
        kind: A kind of column, or `number` where integer or real is left open.
        format: Of texts that are times; None for ISO.
        values: Ordered values, if they are listed.
        notes: What a custodian should know.
    """

    kind: str
    sdtype: str
    format: str | None = None
    values: tuple[str, ...] | tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def read_sdv(path: str | PathLike[str], table: str | None = None) -> dict[str, StatedKind]:
    """Read the kinds from a metadata file."""
    try:
        document = json.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot read the metadata {os.fspath(path)}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise SchemaError([f"{os.fspath(path)} is not JSON"]) from None
    return kinds_from_sdv(document, table)


def kinds_from_sdv(document: Any, table: str | None = None) -> dict[str, StatedKind]:
    """The kind of every column of one table (named, if there are several); all faults are reported at once."""
    entry = _table_entry(document, table)
    columns = entry.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise SchemaError(["the metadata have no 'columns'"])
    faults = [f"column '{name}': it has no sdtype" for name, column in columns.items() if not _sdtype(column)]
    if faults:
        raise SchemaError(faults)
    keys = _keys(entry)
    return {name: _kind(column, is_key=name in keys) for name, column in columns.items()}


def schema_from_sdv(document: Any, domains: Mapping[str, Column] | None = None, table: str | None = None) -> Schema:
    """A schema with the kinds of SDV metadata and the given domains; whoever calls it vouches for the kinds.

    Args:
        document: The parsed JSON.
        domains: Complete columns for those that metadata leave open (numbers, times, categories).
        table: Needed if there are several.
    """
    given = domains or {}
    stated = kinds_from_sdv(document, table)
    columns = {name: given[name] if name in given else _complete(kind) for name, kind in stated.items()}
    open_kinds = {name: stated[name] for name, column in columns.items() if column is None}
    faults = [f"column '{name}': {kind.sdtype} needs {NEEDS[kind.kind]}" for name, kind in open_kinds.items()]
    faults += [
        f"column '{name}': the metadata say {stated[name].sdtype}, but it is given as {column.kind}"
        for name, column in given.items()
        if name in stated and not _agrees(column.kind, stated[name].kind)
    ]
    faults += [f"column '{name}' is not in the metadata" for name in given if name not in stated]
    if faults:
        raise SchemaError(faults)
    return Schema({name: column for name, column in columns.items() if column is not None})


def tables_from_sdv(
    document: Any, domains: Mapping[str, Mapping[str, Column]] | None = None, person: Person | None = None
) -> Tables:
    """Two tables and the key between them from SDV metadata of several tables; the parents are the persons.

    Args:
        document: The parsed JSON: two tables, and one relationship.
        domains: By table, complete columns for those that metadata leave open.
        person: How many rows of a parent are used, their order, and rules across rows.
    """
    given = domains or {}
    parent, own, child, key = _relationship(document)
    columns: dict[str, Any] = {name: _table_entry(document, name).get("columns") for name in (parent, child)}
    if not all(isinstance(found, Mapping) and found for found in columns.values()):
        raise SchemaError(["the metadata have a table without 'columns'"])
    links = {parent: own, child: key}
    faults = [
        f"'{of}' is the key of '{name}', but no column of it" for name, of in links.items() if of not in columns[name]
    ]
    faults += [f"there is no table '{name}' in the metadata" for name in given if name not in columns]
    schemas: dict[str, Schema] = {}
    for name, found in columns.items():
        try:
            schemas[name] = schema_from_sdv({"columns": {**found, links[name]: {"sdtype": "id"}}}, given.get(name))
        except SchemaError as error:
            faults += [f"table '{name}': {fault}" for fault in error.faults]
    if faults:
        raise SchemaError(faults)
    # Other keys of the parents would leave open which one rows point to; samples have none of them anyway.
    parents = Schema({name: column for name, column in schemas[parent].items() if name == own or column.modelled})
    if key != own and key in parents:
        raise SchemaError([f"'{key}' is the key of '{child}', but no key of '{parent}': rename it in one of them"])
    rows = schemas[child] if person is None else schemas[child].with_person(person)
    return Tables({parent: parents, child: rows}, keys={child: (key, parent)}, person=parent)


def schema_to_pay(kinds: Mapping[str, StatedKind]) -> Schema:
    """A schema with the kinds of metadata, whose bounds and values are all to be measured, and paid for."""
    return Schema({name: _complete(kind) or _to_pay(kind) for name, kind in kinds.items()})


def _to_pay(stated: StatedKind) -> Column:
    bounds = {"lower": "pay", "upper": "pay", "nullable": "pay"}
    if stated.kind == "category":
        return Category(source="pay")
    if stated.kind == "datetime":
        return Datetime("1970-01-01", "1970-01-02", format=stated.format, source=bounds)
    return Integer(0, 1, source=bounds) if stated.kind == "integer" else Real(0, 1, source=bounds)


def to_sdv(schema: Schema, table: str = "table") -> dict[str, Any]:
    """The kinds of a schema as SDV metadata; domains and provenance have no place there."""
    entry: dict[str, Any] = {"columns": {name: _sdv_column(column) for name, column in schema.items()}}
    keys = [name for name, column in schema.items() if isinstance(column, Id)]
    if keys:
        entry["primary_key"] = keys[0]
    return {"METADATA_SPEC_VERSION": "V1", "tables": {table: entry}, "relationships": []}


def _table_entry(document: Any, table: str | None) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise SchemaError(["the metadata are not a JSON object"])
    tables = document.get("tables")
    if tables is None:
        return document
    if not isinstance(tables, Mapping) or not tables:
        raise SchemaError(["the metadata have no tables"])
    if table is None and len(tables) > 1:
        raise UsageError(f"the metadata have several tables; name one of {', '.join(map(str, tables))} (--table)")
    name = next(iter(tables)) if table is None else table
    if not isinstance(tables.get(name), Mapping):
        raise UsageError(f"the metadata have no table '{name}'")
    return tables[name]


def _relationship(document: Any) -> tuple[str, str, str, str]:
    """Parents, their key, the rows and theirs; metadata of other than two tables with one key are refused."""
    tables = document.get("tables") if isinstance(document, Mapping) else None
    if not isinstance(tables, Mapping):
        raise SchemaError(["the metadata have no tables"])
    if len(tables) != 2:
        shown = ", ".join(map(str, tables))
        raise SchemaError([f"two tables are joined by one key, but the metadata have {len(tables)}: {shown}"])
    links: Any = document.get("relationships")
    if not isinstance(links, list) or len(links) != 1 or not isinstance(links[0], Mapping):
        raise SchemaError(["two tables are joined by one key: the metadata need exactly one of 'relationships'"])
    found: list[Any] = [links[0].get(word) for word in LINK]
    faults = [f"the relationship needs one name as {word}" for word, name in zip(LINK, found, strict=True)
              if not isinstance(name, str) or not name]  # fmt: skip
    if not faults and {found[0], found[2]} != set(tables):
        faults = [f"the relationship must lead from one of the tables to the other: {', '.join(map(str, tables))}"]
    if faults:
        raise SchemaError(faults)
    return found[0], found[1], found[2], found[3]


def _keys(entry: Mapping[str, Any]) -> set[str]:
    """Names of the key columns; a primary key may be several columns."""
    primary, alternate = entry.get("primary_key"), entry.get("alternate_keys")
    listed = [primary, *(alternate if isinstance(alternate, list) else [])]
    return {name for item in listed for name in (item if isinstance(item, list) else [item]) if isinstance(name, str)}


def _sdtype(column: Any) -> str | None:
    sdtype = column.get("sdtype") if isinstance(column, Mapping) else None
    return sdtype if isinstance(sdtype, str) and sdtype else None


def _kind(column: Mapping[str, Any], *, is_key: bool) -> StatedKind:
    sdtype = str(column["sdtype"])
    if is_key:
        return StatedKind(kind="id", sdtype=sdtype)
    if sdtype == "numerical":
        return StatedKind(kind=_number_kind(str(column.get("computer_representation", ""))), sdtype=sdtype)
    if sdtype == "datetime":
        form = column.get("datetime_format")
        plain = not isinstance(form, str) or form in ISO_FORMATS
        return StatedKind(kind="datetime", sdtype=sdtype, format=None if plain else form)
    if sdtype == "categorical":
        return _category_kind(column)
    if sdtype in ("boolean", "id"):
        return StatedKind(kind=sdtype, sdtype=sdtype)
    if column.get("pii") is False:
        return StatedKind(kind="category", sdtype=sdtype, notes=(f"The metadata call it {sdtype}, not personal data.",))
    return StatedKind(kind="ignore", sdtype=sdtype)


def _category_kind(column: Mapping[str, Any]) -> StatedKind:
    order: Any = column.get("order")
    order = cast("list[Any]", order) if isinstance(order, list) else []
    alike = {type(value) for value in order}
    if alike in ({str}, {int}) and len(set(order)) == len(order):
        return StatedKind(kind="ordinal", sdtype="categorical", values=tuple(order))
    notes = ("The metadata say that its values are ordered: make it `ordinal`.",) if column.get("order_by") else ()
    return StatedKind(kind="category", sdtype="categorical", notes=notes)


def _number_kind(representation: str) -> str:
    if representation.lower().startswith(("int", "uint")):
        return "integer"
    return "real" if representation.lower().startswith("float") else "number"


def _complete(stated: StatedKind) -> Column | None:
    """The column, if its kind says all."""
    if stated.kind == "ordinal":
        return Ordinal(stated.values)
    return {"boolean": Boolean(), "id": Id(), "ignore": Ignore()}.get(stated.kind)


def _agrees(kind: str, stated: str) -> bool:
    """Keys and personal data may also be left out, and any column may be ignored."""
    wider = {"number": ("integer", "real"), "category": ("category", "ordinal"), "ordinal": ("category", "ordinal")}
    return kind == "ignore" or kind == stated or kind in wider.get(stated, ())


def _sdv_column(column: Column) -> dict[str, Any]:
    if isinstance(column, Ordinal):
        return {"sdtype": "categorical", "order": list(column.values)}
    if isinstance(column, Labels):
        return {"sdtype": "categorical"}
    if isinstance(column, Integer):
        return {"sdtype": "numerical", "computer_representation": "Int64"}
    if isinstance(column, Real):
        return {"sdtype": "numerical", "computer_representation": "Float"}
    if isinstance(column, Datetime):
        iso = "%Y-%m-%d" if column.resolution == "day" else "%Y-%m-%d %H:%M:%S"
        return {"sdtype": "datetime", "datetime_format": column.format or iso}
    if isinstance(column, Boolean | Id):
        return {"sdtype": column.kind}
    return {"sdtype": "unknown", "pii": True}
