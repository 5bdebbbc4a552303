"""Reading and writing a schema as TOML, made to be read and edited by people. The round trip is exact."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from os import PathLike
from pathlib import Path
from typing import Any, cast

from sklar.errors import OutputError, SchemaError, UsageError
from sklar.schema.columns import Boolean, Category, Column, Id, Ignore, Ordinal
from sklar.schema.constraints import CONSTRAINTS, Constraint
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.prices import Price
from sklar.schema.table import Schema
from sklar.schema.toml_text import document_text

VERSION = 1
LARGEST_FILE = 64 << 20
KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Category, Ordinal, Integer, Real, Boolean, Datetime, Id, Ignore)
}
ENTRIES = ("version", "columns", "constraints", "prices")
HEADER = """\
# Public facts about the columns of one table. Nothing here may be read off the private rows without paying for it.
# source: public (anyone knows it), assumed (the custodian vouches for it), measured (paid from the privacy budget),
#         pay (measure it, and pay for it, before the fit), from-rows (a fit refuses it until confirmed or paid for).
#         One word for all facts of a column, or one a fact: { kind = "assumed", lower = "pay", upper = "pay" }. Bounds
#         and values can be paid for; kind, format, resolution, other, missing_value, integer_labels only confirmed.
# prices: what measured facts cost. A fit adds them to what it claims, and says so where a price is missing.

"""


def read_schema(path: str | PathLike[str]) -> Schema:
    """Read a schema file; every fault is reported at once."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        text = content.decode("utf-8-sig")
    except TypeError:
        raise UsageError("a schema is a Schema or the path of a schema file") from None
    except OSError as error:
        raise UsageError(f"cannot read the schema {os.fspath(path)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SchemaError([f"{os.fspath(path)} is not UTF-8 text"]) from None
    except ValueError:
        raise UsageError("the path of the schema is not a usable path") from None
    if len(content) > LARGEST_FILE:  # a device may never end
        raise UsageError(f"{os.fspath(path)} is larger than {LARGEST_FILE >> 20} MB; it is no schema")
    return schema_from_toml(text)


def schema_from_toml(text: str) -> Schema:
    """Parse a schema from TOML text."""
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise SchemaError(["it is not valid TOML: it is nested too deeply"]) from None
    except ValueError as error:  # of tomllib, and of integers with thousands of digits
        raise SchemaError([f"it is not valid TOML: {error}"]) from None
    return schema_from_dict(document)


def schema_from_dict(document: Mapping[str, Any]) -> Schema:
    """Build a schema from the parsed document."""
    faults = [f"unknown entry '{key}'" for key in document if key not in ENTRIES]
    version = document.get("version", VERSION)
    if type(version) is not int or version != VERSION:
        faults.append(f"version must be {VERSION}")
    listed, rules = document.get("columns"), document.get("constraints", [])
    if not isinstance(listed, Mapping):
        raise SchemaError([*faults, "it needs a table [columns] with one entry a column"])
    columns = {name: _column(name, entry, faults) for name, entry in listed.items()}
    if not isinstance(rules, list):
        raise SchemaError([*faults, "constraints must be a list of tables [[constraints]]"])
    constraints = [_constraint(i, entry, faults) for i, entry in enumerate(rules, 1)]
    prices = _prices(document.get("prices", []), faults)
    try:
        schema = Schema({n: c for n, c in columns.items() if c}, [c for c in constraints if c], prices)
    except SchemaError as error:
        raise SchemaError([*faults, *_first_hand(error.faults, broken=None in columns.values())]) from None
    if faults:
        raise SchemaError(faults)
    return schema


def _first_hand(faults: Sequence[str], broken: bool) -> list[str]:
    """Without the faults that only say that a column is absent, if some column could not be built at all."""
    second_hand = ("is not a modelled column", "it has no columns", "it has no column to model")
    return [f for f in faults if not (broken and any(text in f for text in second_hand))]


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """The schema as plain dicts, lists, numbers and strings; defaults are left out."""
    document: dict[str, Any] = {"version": VERSION, "columns": {n: _column_entry(c) for n, c in schema.items()}}
    if schema.constraints:
        document["constraints"] = [_constraint_entry(c) for c in schema.constraints]
    if schema.prices:
        document["prices"] = [asdict(price) | {"facts": list(price.facts)} for price in schema.prices]
    return document


def schema_to_toml(schema: Schema, notes: Mapping[str, Sequence[str]] | None = None) -> str:
    """The schema as TOML text; notes on columns become comments above them."""
    return HEADER + document_text(schema_to_dict(schema), notes or {})


def write_schema(
    schema: Schema,
    path: str | PathLike[str],
    notes: Mapping[str, Sequence[str]] | None = None,
    *,
    private: bool = False,
) -> None:
    """Write the schema by atomic rename; a private one for its owner only."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        Path(temporary).touch(mode=0o600 if private else 0o666, exist_ok=False)
        Path(temporary).write_text(schema_to_toml(schema, notes), encoding="utf-8", newline="\n")
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise OutputError(f"cannot write the schema to {os.fspath(path)}: {error.strerror}") from None


def _column(name: str, entry: object, faults: list[str]) -> Column | None:
    if not isinstance(entry, Mapping):
        faults.append(f"column '{name}' must be a table with a kind")
        return None
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        faults.append(f"column '{name}': kind must be one of {', '.join(KINDS)}")
        return None
    allowed = {f.name for f in fields(KINDS[kind])}
    unknown = [key for key in entry if key != "kind" and key not in allowed]
    faults += [f"column '{name}': a {kind} column has no '{key}'" for key in unknown]
    arguments = {key: entry[key] for key in entry if key in allowed}
    wrong = [key for key, value in arguments.items() if not _plausible(key, value)]
    faults += [f"column '{name}': '{key}' has the wrong type" for key in wrong]
    needed = [f for f in ("values", "lower", "upper") if f in allowed and f not in entry]
    faults += [f"column '{name}': '{key}' is missing" for key in needed]
    if unknown or wrong or needed:
        return None
    if isinstance(arguments.get("source"), str):  # in a file one word is for every fact, or "pay" would confirm a kind
        arguments["source"] = dict.fromkeys(KINDS[kind].facts, arguments["source"])
    return KINDS[kind](**arguments)


_TYPES: dict[str, tuple[type, ...]] = {
    "values": (list,),
    "edges": (list,),
    "atoms": (list,),
    "nullable": (bool,),
    "bins": (int,),
    "decimals": (int,),
    "resolution": (str,),
    "format": (str,),
    "prefix": (str,),
    "source": (str, dict),
    "other": (str, int),
}


def _plausible(key: str, value: object) -> bool:
    if key in ("edges", "atoms"):
        return isinstance(value, list) and all(type(x) in (int, float) for x in value)
    if key == "values":
        return isinstance(value, list) and all(type(x) in (int, float, str) for x in value)
    if key == "source" and isinstance(value, Mapping):
        return all(isinstance(word, str) for word in value.values())
    if key in ("bins", "decimals") and isinstance(value, bool):
        return False
    return isinstance(value, _TYPES[key]) if key in _TYPES else not isinstance(value, list | dict)


def _constraint(index: int, entry: object, faults: list[str]) -> Constraint | None:
    kind = entry.get("kind") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(kind, str) or kind not in CONSTRAINTS:
        faults.append(f"constraint {index}: kind must be one of {', '.join(CONSTRAINTS)}")
        return None
    needed = {f.name: (Mapping if f.name in ("values", "table") else str) for f in fields(CONSTRAINTS[kind])}
    arguments = {key: value for key, value in entry.items() if key != "kind"}
    if set(arguments) != set(needed) or not all(isinstance(arguments[key], t) for key, t in needed.items()):
        faults.append(f"constraint {index}: a rule '{kind}' needs exactly {', '.join(needed)}")
        return None
    return CONSTRAINTS[kind](**arguments)


def _prices(entries: object, faults: list[str]) -> list[Price]:
    needed = {field.name for field in fields(Price)}
    if not isinstance(entries, list):
        faults.append("prices must be a list of tables [[prices]]")
        return []
    listed = cast("list[Any]", entries)
    for i, entry in enumerate(listed, 1):
        if not isinstance(entry, dict) or set(cast("dict[str, Any]", entry)) != needed:
            faults.append(f"price {i}: it needs exactly {', '.join(sorted(needed))}")
        elif not isinstance(entry["facts"], list):
            faults.append(f"price {i}: facts must be a list")
    return [] if any(fault.startswith("price") for fault in faults) else [Price(**entry) for entry in listed]


def _column_entry(column: Column) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": column.kind}
    for field in fields(column):
        value = getattr(column, field.name)
        if field.name == "source" or value is None or value == field.default:
            continue
        entry[field.name] = list(value) if isinstance(value, tuple) else value
    if column.sources:
        words = {word for _, word in column.sources}
        whole = len(words) == 1 and len(column.sources) == len(column.facts)
        entry["source"] = words.pop() if whole else dict(column.sources)
    return entry


def _constraint_entry(constraint: Constraint) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": constraint.kind}
    for field in fields(constraint):
        value = getattr(constraint, field.name)
        entry[field.name] = dict(value) if isinstance(value, tuple) else value
    return entry
