"""SDV metadata (the JSON of SDV 1.x, V1, and 2.x, V2) in and out: kinds of columns and, in V2, their ranges.

Reading gives a stated kind for every column. Booleans, keys, ignored columns and ordered categories are complete with
that. Numbers, times and plain categories need bounds or values. V1 leaves them open. V2 may state them, but not where
they come from: `Metadata.detect_from_dataframes` reads them off the rows. So they count as read off the rows, and a
private fit refuses them, until they are confirmed (`ranges="public"`, or `Schema.confirm`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal, cast

from sklar.errors import SchemaError, UsageError
from sklar.schema.columns import Boolean, Category, Column, Id, Ignore, Labels, Ordinal
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.persons.person import Person
from sklar.schema.persons.tables import Tables
from sklar.schema.table import Schema

NEEDS = {"category": "values", **dict.fromkeys(("integer", "real", "number", "datetime"), "lower and upper")}
"""Facts that SDV metadata leave open, by kind; `number` is an integer or a real."""
RELATIONSHIP_KEYS = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")
"""Entries of a relationship."""
ISO_FORMATS = frozenset({"%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"})
RESOLUTION_OF_LETTER = {"%f": "microsecond", "%S": "second", "%M": "minute", "%H": "hour", "%I": "hour"}
"""The resolution that a letter of a format implies, the finest first."""
MAX_DECIMALS = 15
"""SDV's `decimal_places` of numbers that are not rounded; a Real() then states no decimals."""
RANGE_FACTS = ("lower", "upper", "values", "nullable", "decimals", "resolution")
"""Facts of a column that a range states."""
UNWRITTEN = ("from-rows", "pay")
"""Provenances of facts that are not known without the rows: they are not written."""
Ranges = Literal["from-rows", "public"]
"""Where the ranges of V2 metadata come from: read off the rows, as SDV detects them, or known without the rows."""
Version = Literal["V1", "V2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedKind:
    """The facts that metadata state about one column.

    Attributes:
        kind: A kind of column, or `number` where integer or real is left open.
        format: Format of times that are text; None for ISO.
        values: Ordered values, if they are listed.
        domain: The column with its bounds or values, if V2 metadata state a range.
        notes: What a custodian should know.
    """

    kind: str
    sdtype: str
    format: str | None = None
    values: tuple[str, ...] | tuple[int, ...] = ()
    domain: Column | None = None
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
    """Return the kind of every column of one table (named, if there are several); all faults are reported at once."""
    entry = _get_table_entry(document, table)
    columns = entry.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise SchemaError(["the metadata have no 'columns'"])
    faults = [f"column '{name}': it has no sdtype" for name, column in columns.items() if not _get_sdtype(column)]
    if faults:
        raise SchemaError(faults)
    keys = _find_keys(entry)
    return {name: _parse_kind(column, is_key=name in keys) for name, column in columns.items()}


def schema_from_sdv(
    document: Any,
    domains: Mapping[str, Column] | None = None,
    table: str | None = None,
    *,
    ranges: Ranges = "from-rows",
) -> Schema:
    """Return a schema with the kinds of SDV metadata and the given domains; the caller vouches for the kinds.

    Args:
        document: The parsed JSON.
        domains: Complete columns for those that metadata leave open (numbers, times, categories), or state otherwise.
        table: Needed if there are several.
        ranges: Where the ranges of V2 metadata come from. By default they are marked `from-rows`, as SDV detects them;
            a private fit refuses these until they are confirmed. "public" says that you know them without the rows.
    """
    given = domains or {}
    stated = kinds_from_sdv(document, table)
    columns = {name: given[name] if name in given else _complete_column(kind, ranges) for name, kind in stated.items()}
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
    document: Any,
    domains: Mapping[str, Mapping[str, Column]] | None = None,
    person: Person | None = None,
    *,
    ranges: Ranges = "from-rows",
) -> Tables:
    """Return two tables and the key between them from SDV metadata; the parents are the persons.

    Args:
        document: The parsed JSON: two tables, and one relationship.
        domains: By table, complete columns for those that metadata leave open.
        person: The number of rows of a parent that are used, their order, and rules across rows.
        ranges: Where the ranges of V2 metadata come from, as for `schema_from_sdv`.
    """
    given = domains or {}
    parent, own, child, key = _parse_relationship(document)
    columns: dict[str, Any] = {name: _get_table_entry(document, name).get("columns") for name in (parent, child)}
    if not all(isinstance(found, Mapping) and found for found in columns.values()):
        raise SchemaError(["the metadata have a table without 'columns'"])
    links = {parent: own, child: key}
    faults = [
        f"'{of}' is the key of table '{name}', but no column of it"
        for name, of in links.items()
        if of not in columns[name]
    ]
    faults += [f"there is no table '{name}' in the metadata" for name in given if name not in columns]
    schemas: dict[str, Schema] = {}
    for name, found in columns.items():
        try:
            entry = {"columns": {**found, links[name]: {"sdtype": "id"}}}
            schemas[name] = schema_from_sdv(entry, given.get(name), ranges=ranges)
        except SchemaError as error:
            faults += [f"table '{name}': {fault}" for fault in error.faults]
    if faults:
        raise SchemaError(faults)
    # Other keys of the parents are left out: rows point to this one, and samples have no other.
    parents = Schema({name: column for name, column in schemas[parent].items() if name == own or column.modelled})
    if key != own and key in parents:
        raise SchemaError([f"'{key}' is the key of '{child}', but no key of '{parent}': rename it in one of them"])
    rows = schemas[child] if person is None else schemas[child].with_person(person)
    return Tables({parent: parents, child: rows}, keys={child: (key, parent)}, person=parent)


def schema_to_pay(kinds: Mapping[str, StatedKind], *, take_ranges: bool = False) -> Schema:
    """Return a schema with the kinds of metadata, whose bounds and values are to be measured, and paid for.

    With `take_ranges` those that V2 metadata state are taken as known without the rows.
    """

    def column(kind: StatedKind) -> Column:
        known = _complete_column(kind, "public") if take_ranges or kind.domain is None else None
        return known or _make_column_to_pay(kind)

    return Schema({name: column(kind) for name, kind in kinds.items()})


def _make_column_to_pay(stated: StatedKind) -> Column:
    """Return the column without what its range states."""
    bounds = {"lower": "pay", "upper": "pay", "nullable": "pay"}
    if stated.kind == "ordinal":
        whole = all(type(value) is int for value in stated.values)
        return Integer(0, 1, source=bounds) if whole else Category(source="pay")
    if stated.kind == "category":
        return Category(source="pay")
    if stated.kind == "datetime":
        return Datetime("1970-01-01", "1970-01-02", format=stated.format, source=bounds)
    if stated.kind == "boolean":
        return Boolean(nullable=True)  # which is right with and without nulls
    return Integer(0, 1, source=bounds) if stated.kind == "integer" else Real(0, 1, source=bounds)


def to_sdv(schema: Schema, table: str = "table", version: Version = "V2") -> dict[str, Any]:
    """Return a schema as SDV metadata.

    Args:
        schema: Its kinds are written and, in V2, the bounds and values that are public, assumed or measured. What was
            read off the rows, or is to be measured, is left out: metadata have no place to say so.
        table: The name of the table.
        version: "V2" for SDV 2.x, "V1" for SDV 1.x, which has no ranges.
    """
    write = {"V1": _to_sdv_column, "V2": _sdv_column_with_range}.get(version)
    if write is None:
        raise UsageError(f"versions of SDV metadata are V1 and V2, not {version!r}")
    entry: dict[str, Any] = {"columns": {name: write(column) for name, column in schema.items()}}
    keys = [name for name, column in schema.items() if isinstance(column, Id)]
    if keys:
        entry["primary_key"] = keys[0]
    return {"METADATA_SPEC_VERSION": version, "tables": {table: entry}, "relationships": []}


def _get_table_entry(document: Any, table: str | None) -> Mapping[str, Any]:
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


def _parse_relationship(document: Any) -> tuple[str, str, str, str]:
    """Return the table of parents, its key, the table of rows and its key; anything but two tables is refused."""
    tables = document.get("tables") if isinstance(document, Mapping) else None
    if not isinstance(tables, Mapping):
        raise SchemaError(["the metadata have no tables"])
    if len(tables) != 2:
        shown = ", ".join(map(str, tables))
        raise SchemaError([f"two tables are joined by one key, but the metadata have {len(tables)}: {shown}"])
    links: Any = document.get("relationships")
    if not isinstance(links, list) or len(links) != 1 or not isinstance(links[0], Mapping):
        raise SchemaError(["two tables are joined by one key: the metadata need exactly one of 'relationships'"])
    found: list[Any] = [links[0].get(word) for word in RELATIONSHIP_KEYS]
    faults = [f"the relationship needs one name as {word}" for word, name in zip(RELATIONSHIP_KEYS, found, strict=True)
              if not isinstance(name, str) or not name]  # fmt: skip
    if not faults and {found[0], found[2]} != set(tables):
        faults = [f"the relationship must lead from one of the tables to the other: {', '.join(map(str, tables))}"]
    if faults:
        raise SchemaError(faults)
    return found[0], found[1], found[2], found[3]


def _find_keys(entry: Mapping[str, Any]) -> set[str]:
    """Return the names of the key columns; a primary key may be several columns."""
    primary, alternate = entry.get("primary_key"), entry.get("alternate_keys")
    listed = [primary, *(alternate if isinstance(alternate, list) else [])]
    return {name for item in listed for name in (item if isinstance(item, list) else [item]) if isinstance(name, str)}


def _get_sdtype(column: Any) -> str | None:
    sdtype = column.get("sdtype") if isinstance(column, Mapping) else None
    return sdtype if isinstance(sdtype, str) and sdtype else None


def _parse_kind(column: Mapping[str, Any], *, is_key: bool) -> StatedKind:
    sdtype = str(column["sdtype"])
    if is_key:
        return StatedKind(kind="id", sdtype=sdtype)
    if sdtype == "numerical":
        return _numerical(column)
    if sdtype == "datetime":
        form = column.get("datetime_format")
        plain = not isinstance(form, str) or form in ISO_FORMATS
        stated = StatedKind(kind="datetime", sdtype=sdtype, format=None if plain else form)
        return replace(stated, domain=_read_time_range(column, form if isinstance(form, str) else None, stated.format))
    if sdtype in ("categorical", "ordinal"):
        return _read_labels_kind(column, sdtype)
    if sdtype == "boolean":
        known = isinstance(column.get("range_is_nullable"), bool)
        return StatedKind(kind=sdtype, sdtype=sdtype, domain=Boolean(nullable=_nullable(column)) if known else None)
    if sdtype == "id":
        return StatedKind(kind=sdtype, sdtype=sdtype)
    if column.get("pii") is False:
        return StatedKind(kind="category", sdtype=sdtype, notes=(f"The metadata call it {sdtype}, not personal data.",))
    return StatedKind(kind="ignore", sdtype=sdtype)


def _nullable(column: Mapping[str, Any]) -> bool:
    """Return whether nulls are allowed; by default they are, as in SDV."""
    return column.get("range_is_nullable") is not False


def _read_labels_kind(column: Mapping[str, Any], sdtype: str) -> StatedKind:
    listed = column.get("range_values") if "range_values" in column else column.get("order")
    values = cast("list[Any]", listed) if isinstance(listed, list) else []
    ranged = "range_values" in column
    if ranged and {type(value) for value in values} == {bool}:
        return StatedKind(kind="boolean", sdtype=sdtype, domain=Boolean(nullable=_nullable(column)))
    labels = _labels(values) if ranged else _keep_one_type(values)
    ordered = sdtype == "ordinal" or not ranged
    if ordered and labels:
        # SDV finds ordinal values in the order of the rows where they are numbers; a list of texts has an order.
        labels = tuple(sorted(labels)) if ranged and type(labels[0]) is int else labels
        domain = _keep_if_valid(Ordinal(labels, nullable=_nullable(column))) if ranged else None
        return StatedKind(kind="ordinal", sdtype=sdtype, values=cast("Any", labels), domain=domain)
    said = sdtype == "ordinal" or column.get("order_by")
    notes = ("The metadata say that its values are ordered: make it `ordinal`.",) if said else ()
    # Sorted: SDV lists them in the order of the rows, which is private.
    found = _keep_if_valid(Category(values=cast("Any", sorted(labels)), nullable=_nullable(column))) if labels else None
    return StatedKind(kind="category", sdtype=sdtype, domain=found if ranged else None, notes=notes)


def _keep_one_type(values: list[Any]) -> tuple[Any, ...]:
    """Return the values, if they are all text or all integers and differ; else nothing."""
    types = {type(value) for value in values}
    return tuple(values) if types in ({str}, {int}) and len(set(values)) == len(values) else ()


def _labels(values: list[Any]) -> tuple[Any, ...]:
    """Return the labels of a range: whole numbers as integers, other numbers as text."""
    if not all(type(value) in (str, int, float) for value in values):
        return ()
    if all(type(value) is int or (type(value) is float and value.is_integer()) for value in values):
        return _keep_one_type([int(value) for value in values])
    return _keep_one_type([value if isinstance(value, str) else repr(value) for value in values])


def _numerical(column: Mapping[str, Any]) -> StatedKind:
    """Return a number: V1 states how it is stored, V2 its digits and its range."""
    places = column.get("decimal_places")
    kind = _read_number_kind(str(column.get("computer_representation", "")))
    if type(places) is int:
        kind = "real" if places else "integer"
    lower, upper = column.get("range_min"), column.get("range_max")
    domain = None
    if isinstance(lower, int | float) and isinstance(upper, int | float):
        if kind != "integer":
            digits = places if type(places) is int and 0 < places < MAX_DECIMALS else None
            domain = Real(lower, upper, decimals=digits, nullable=_nullable(column))
        elif all(isinstance(end, int) or end.is_integer() for end in (lower, upper)):
            domain = Integer(int(lower), int(upper), nullable=_nullable(column))
    return StatedKind(kind=kind, sdtype="numerical", domain=_keep_if_valid(domain))


def _read_time_range(column: Mapping[str, Any], form: str | None, written: str | None) -> Column | None:
    ends = [_parse_time(column.get(word), form) for word in ("range_min", "range_max")]
    if any(end is None for end in ends):
        return None
    lower, upper = cast("list[datetime]", ends)
    clock = form if form is not None else "" if _is_midnight(lower) and _is_midnight(upper) else "%S"
    resolution = next((name for letters, name in RESOLUTION_OF_LETTER.items() if letters in clock), "day")
    texts = [str(end.date()) if resolution == "day" else end.isoformat() for end in (lower, upper)]
    found = Datetime(*texts, resolution=resolution, format=written, nullable=_nullable(column))
    return _keep_if_valid(found)


def _parse_time(text: Any, form: str | None) -> datetime | None:
    """Parse a time in the format of the column or in ISO 8601; None for other texts, and for times with a zone."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text) if form is None else datetime.strptime(text, form)
    except (ValueError, re.error):
        return None
    return found if found.tzinfo is None else None


def _is_midnight(time: datetime) -> bool:
    return time == datetime(time.year, time.month, time.day)


def _keep_if_valid(column: Column | None) -> Column | None:
    """Return the column, or None if it has faults: its domain then has to be given."""
    return None if column is None or column.faults() else column


def _read_number_kind(representation: str) -> str:
    if representation.lower().startswith(("int", "uint")):
        return "integer"
    return "real" if representation.lower().startswith("float") else "number"


def _complete_column(stated: StatedKind, ranges: Ranges) -> Column | None:
    """Return the column, if kind and range are complete; facts of the range are marked with their provenance."""
    if stated.domain is not None:
        marks = {fact: ranges for fact in RANGE_FACTS if fact in stated.domain.facts and stated.domain.states(fact)}
        return replace(cast("Any", stated.domain), source=marks)
    if stated.kind == "ordinal":
        return Ordinal(stated.values)
    return {"boolean": Boolean(), "id": Id(), "ignore": Ignore()}.get(stated.kind)


def _agrees(kind: str, stated: str) -> bool:
    """Return whether a given kind agrees with the stated one; any column may be ignored."""
    number = ("integer", "real")
    wider = {
        "number": number,
        "integer": number,
        "category": ("category", "ordinal"),
        "ordinal": ("category", "ordinal"),
    }
    return kind == "ignore" or kind == stated or kind in wider.get(stated, ())


def _to_sdv_column(column: Column) -> dict[str, Any]:
    if isinstance(column, Ordinal) and column.provenance("values") not in UNWRITTEN:
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


def _sdv_column_with_range(column: Column) -> dict[str, Any]:
    """Return a column in V2: the kind, and the public facts of its range."""
    plain: dict[str, Any] = _to_sdv_column(column)
    plain.pop("computer_representation", None)
    if isinstance(column, Ordinal):
        plain = {"sdtype": "ordinal"}
    known = {fact for fact in RANGE_FACTS if fact in column.facts}
    known = {fact for fact in known if column.provenance(fact) not in UNWRITTEN}
    if "nullable" in known:
        plain["range_is_nullable"] = bool(getattr(column, "nullable", False))
    if isinstance(column, Labels) and "values" in known:
        plain |= {"range_values": list(column.values), "high_cardinality": False}
    if isinstance(column, Integer | Real | Datetime):
        ends = {"range_min": "lower", "range_max": "upper"}
        plain |= {word: _end(column, fact) for word, fact in ends.items() if fact in known}
    if isinstance(column, Integer):
        plain["decimal_places"] = 0
    elif isinstance(column, Real):
        stated = column.decimals if "decimals" in known else None
        plain["decimal_places"] = MAX_DECIMALS if stated is None else stated
    return plain


def _end(column: Integer | Real | Datetime, fact: str) -> Any:
    value = getattr(column, fact)
    if isinstance(column, Datetime):
        return datetime.fromisoformat(value).strftime(_to_sdv_column(column)["datetime_format"])
    return value
