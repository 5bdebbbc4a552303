"""The TOML text of a schema, made to be read and edited by people. The round trip is exact."""

from __future__ import annotations

import json
import os
import re
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

from sklar.errors import OutputError, SchemaError, UsageError
from sklar.schema.columns import Boolean, Category, Column, Id, Ignore, Ordinal, Unknown
from sklar.schema.confirming import Confirmation
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.prices import Price
from sklar.schema.rules import RULES, Rule

VERSION = 1
MAX_FILE_BYTES = 64 << 20
KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Category, Ordinal, Integer, Real, Boolean, Datetime, Id, Ignore, Unknown)
}
ENTRIES = ("version", "null_values", "person", "columns", "rules", "steps", "prices", "confirmed")
HEADER = """\
# Public facts about the columns of one table. Nothing here may be read off the private rows without paying for it.
# source: public (anyone knows it), assumed (the custodian vouches for it), measured (paid from the privacy budget),
#         pay (measure it, and pay for it, before the fit), from-rows (a fit refuses it until confirmed or paid for).
#         One word for all facts of a column, or one a fact: { kind = "assumed", lower = "pay", upper = "pay" }. Bounds
#         and values can be paid for; what says how cells are read, hierarchies, calendars and prefixes only confirmed.
# prices: what measured facts cost. A fit adds them to what it claims, and says so where a price is missing.
# confirmed: who vouches for which facts.

"""


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a schema file."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        text = content.decode("utf-8-sig")
    except TypeError:
        raise UsageError("a schema must be a Schema or the path of a schema file") from None
    except OSError as error:
        raise UsageError(f"cannot read the schema {os.fspath(path)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SchemaError([f"{os.fspath(path)} is not UTF-8 text"]) from None
    except ValueError:
        raise UsageError("the path of the schema is not a usable path") from None
    if len(content) > MAX_FILE_BYTES:  # a device may never end
        raise UsageError(f"{os.fspath(path)} is larger than {MAX_FILE_BYTES >> 20} MB, so it cannot be a schema")
    return text


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML text to plain dicts and lists."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SchemaError(["it is not valid TOML: it is nested too deeply"]) from None
    except ValueError as error:  # of tomllib, and of integers with thousands of digits
        raise SchemaError([f"it is not valid TOML: {error}"]) from None


Parts = tuple[dict[str, Column | None], list[Rule], list[Price], list[Confirmation]]
"""Columns (None where one could not be built), rules, prices and confirmations."""


def parse_parts(document: Mapping[str, Any], faults: list[str]) -> Parts:
    """Return the parts of a schema from the parsed document; what is wrong with it is added to the faults."""
    faults += [f"unknown entry '{key}'" for key in document if key not in ENTRIES]
    version = document.get("version", VERSION)
    if type(version) is not int or version != VERSION:
        faults.append(f"version must be {VERSION}")
    listed = document.get("columns")
    if not isinstance(listed, Mapping):
        raise SchemaError([*faults, "it needs a table [columns] with one entry a column"])
    columns = {name: _parse_column(name, entry, faults) for name, entry in listed.items()}
    rules = parse_rules(document, "rules", faults)
    prices = _parse_records(Price, "price", document.get("prices", []), faults)
    confirmed = _parse_records(Confirmation, "confirmed", document.get("confirmed", []), faults)
    return columns, rules, prices, confirmed


def parse_null_values(document: Mapping[str, Any], faults: list[str]) -> tuple[str, ...]:
    """Return the texts that stand for a missing value."""
    listed = document.get("null_values", [])
    if isinstance(listed, list) and all(isinstance(text, str) for text in cast("list[object]", listed)):
        return tuple(cast("list[str]", listed))
    faults.append('null_values must be a list of texts, as ["NA", "-"]')
    return ()


def parse_rules(document: Mapping[str, Any], key: str, faults: list[str]) -> list[Rule]:
    """Return the rules that stand under a key of the document."""
    listed = document.get(key, [])
    if not isinstance(listed, list):
        raise SchemaError([*faults, f"{key} must be a list of tables [[{key}]]"])
    own: list[str] = []
    made = [_parse_rule(i, entry, own) for i, entry in enumerate(listed, 1)]
    faults += own if key == "rules" else [f"{key}: {fault}" for fault in own]
    return [rule for rule in made if rule]


def drop_follow_up_faults(faults: Sequence[str], broken: bool) -> list[str]:
    """Drop the faults about absent columns if some column could not be built, since they only follow from that."""
    second_hand = ("is not a modelled column", "it has no columns", "it has no column to model")
    return [f for f in faults if not (broken and any(text in f for text in second_hand))]


def make_document(
    columns: Mapping[str, Column], rules: Sequence[Rule], prices: Sequence[Price], confirmed: Sequence[Confirmation]
) -> dict[str, Any]:
    """Return a schema as plain dicts, lists, numbers and strings; defaults are left out."""
    document: dict[str, Any] = {"version": VERSION, "columns": {n: _make_column_entry(c) for n, c in columns.items()}}
    if rules:
        document["rules"] = list_rule_entries(rules)
    for name, records in (("prices", prices), ("confirmed", confirmed)):
        if records:
            document[name] = [_record_entry(record) for record in records]
    return document


def write_text(text: str, path: str | PathLike[str], *, private: bool) -> None:
    """Write a schema's text by atomic rename; a private one for its owner only."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        Path(temporary).touch(mode=0o600 if private else 0o666, exist_ok=False)
        Path(temporary).write_text(text, encoding="utf-8", newline="\n")
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise OutputError(f"cannot write the schema to {os.fspath(path)}: {error.strerror}") from None


def _parse_column(name: str, entry: object, faults: list[str]) -> Column | None:
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
    wrong = [key for key, value in arguments.items() if not _has_column_type(key, value)]
    faults += [f"column '{name}': '{key}' has the wrong type" for key in wrong]
    needed = [f for f in ("values", "lower", "upper") if f in allowed and f not in entry and not _unlisted(f, entry)]
    faults += [f"column '{name}': '{key}' is missing" for key in needed]
    if unknown or wrong or needed:
        return None
    if isinstance(arguments.get("source"), str):  # in a file one word is for every fact, or "pay" would confirm a kind
        arguments["source"] = dict.fromkeys(KINDS[kind].facts, arguments["source"])
    return KINDS[kind](**arguments)


def _unlisted(fact: str, entry: Mapping[str, Any]) -> bool:
    """Return whether these are values of a category that are to be paid for, so that none need be listed."""
    source = entry.get("source")
    paid = isinstance(source, Mapping) and cast("Mapping[str, Any]", source).get(fact) == "pay"
    return fact == "values" and entry["kind"] == "category" and paid


_TYPES: dict[str, type | tuple[type, ...]] = {
    "nullable": bool,
    "source": (str, dict),
    "other": (str, int),
    **dict.fromkeys(("bins", "decimals"), int),
    **dict.fromkeys(("resolution", "format", "zone", "prefix"), str),
}


def _has_column_type(key: str, value: object) -> bool:
    if key == "spelling":
        return isinstance(value, list) and all(type(x) in (int, str) for x in value)
    if key in ("edges", "atoms"):
        return isinstance(value, list) and all(type(x) in (int, float) for x in value)
    if key == "levels":
        return isinstance(value, list) and all(type(x) is int for x in value)
    if key == "parents":
        return isinstance(value, Mapping) and all(isinstance(x, str) for x in value.values())
    if key == "calendar":
        return isinstance(value, list) and all(isinstance(x, str) for x in value)
    if key == "values":
        return isinstance(value, list) and all(type(x) in (int, float, str) for x in value)
    if key == "source" and isinstance(value, Mapping):
        return all(isinstance(word, str) for word in value.values())
    if key in ("bins", "decimals") and isinstance(value, bool):
        return False
    return isinstance(value, _TYPES[key]) if key in _TYPES else not isinstance(value, list | dict)


def _parse_rule(index: int, entry: object, faults: list[str]) -> Rule | None:
    kind = entry.get("kind") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(kind, str) or kind not in RULES:
        faults.append(f"rule {index}: kind must be one of {', '.join(RULES)}")
        return None
    parts = fields(RULES[kind])
    needed, known = {f.name for f in parts if f.default is MISSING}, {f.name for f in parts}
    arguments = {key: value for key, value in entry.items() if key != "kind"}
    if not needed <= set(arguments) <= known or not all(_has_rule_type(key, value) for key, value in arguments.items()):
        also = [f.name for f in parts if f.name not in needed]
        faults.append(
            f"rule {index}: a rule '{kind}' needs exactly {', '.join(f.name for f in parts if f.name in needed)}"
            + (f", and may have {', '.join(also)}" if also else "")
        )
        return None
    return RULES[kind](**arguments)


_RULE_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("values", "table", "only_if", "counts"), Mapping),
    "columns": list,
    "parts": (list, Mapping),
    "at_most_one": bool,
    **dict.fromkeys(("at_least", "at_most", "lower", "upper", "offset"), (int, float)),
}
"""Types of the entries of a rule that are not text."""


def _has_rule_type(key: str, value: object) -> bool:
    if isinstance(value, list):
        return key in ("columns", "parts") and all(isinstance(name, str) for name in cast("list[object]", value))
    return isinstance(value, _RULE_TYPES.get(key, str))


R = TypeVar("R", Price, Confirmation)


def _parse_records(kind: type[R], word: str, entries: object, faults: list[str]) -> list[R]:
    """Parse prices or confirmations: tables that need all their keys, among them a list of facts."""
    known = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    plural = "prices" if word == "price" else word
    if not isinstance(entries, list):
        faults.append(f"{plural} must be a list of tables [[{plural}]]")
        return []
    listed, wrong = cast("list[Any]", entries), len(faults)
    for i, entry in enumerate(listed, 1):
        if not isinstance(entry, dict) or not needed <= set(cast("dict[str, Any]", entry)) <= known:
            faults.append(f"{word} {i}: it needs exactly {', '.join(sorted(needed))}")
        elif not isinstance(entry["facts"], list):
            faults.append(f"{word} {i}: facts must be a list")
        elif not isinstance(kept := entry.get("kept", {}), dict) or not _are_lists(
            list(cast("dict[str, Any]", kept).values())
        ):
            faults.append(f"{word} {i}: kept must be a table with a list of values for each fact")
        elif not _are_lists(entry.get("reading", [])):
            faults.append(f"{word} {i}: reading must be a list of pairs of texts")
    return [] if len(faults) > wrong else [kind(**entry) for entry in listed]


def _are_lists(items: object) -> bool:
    return isinstance(items, list) and all(isinstance(item, list) for item in cast("list[object]", items))


def _record_entry(record: Price | Confirmation) -> dict[str, Any]:
    stated = {f.name: getattr(record, f.name) for f in fields(record) if getattr(record, f.name) != f.default}
    entry = {name: value if name == "reading" else _plain_entry(value) for name, value in stated.items()}
    pairs = {"reading": [list(pair) for pair in entry["reading"]]} if "reading" in entry else {}
    return entry | pairs | {"facts": list(record.facts)}


def _make_column_entry(column: Column) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": column.kind}
    for field in fields(column):
        value = getattr(column, field.name)
        if field.name == "source" or value is None or value == field.default:
            continue
        entry[field.name] = _plain_entry(value)
    if column.sources:
        words = {word for _, word in column.sources}
        whole = len(words) == 1 and len(column.sources) == len(column.facts)
        entry["source"] = words.pop() if whole else dict(column.sources)
    return entry


def list_rule_entries(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Return rules as tables of a schema file."""
    return [_make_rule_entry(rule) for rule in rules]


def _make_rule_entry(rule: Rule) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": rule.kind}
    for field in fields(rule):
        value = getattr(rule, field.name)
        if value != field.default:
            entry[field.name] = _plain_entry(value)
    return entry


def _plain_entry(value: Any) -> Any:
    """Convert pairs to a table, and other tuples to a list."""
    if not isinstance(value, tuple):
        return value
    items = cast("tuple[Any, ...]", value)
    return dict(items) if items and all(isinstance(item, tuple) for item in items) else list(items)


LINE_WIDTH = 110
"""Longest line, in characters."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def format_document(document: Mapping[str, Any], notes: Mapping[str, Sequence[str]]) -> str:
    """Return the document of `schema_to_dict` as TOML; notes are comments above their columns, those of "" first."""
    head = format_notes(notes.get("", ()))
    parts = [*([head] if head else []), f"version = {format_value(document['version'])}\n"]
    if "null_values" in document:
        parts[-1] += _format_entry("null_values", document["null_values"])
    parts += ["[person]\n" + _format_entries(document["person"])] if "person" in document else []
    for name, entry in document["columns"].items():
        parts.append(format_notes(notes.get(name, ())) + f"[columns.{format_key(name)}]\n" + _format_entries(entry))
    for key in ("rules", "steps", "prices", "confirmed"):
        parts += [f"[[{key}]]\n" + _format_entries(entry) for entry in document.get(key, ())]
    return "\n".join(parts)


def format_notes(notes: Sequence[str]) -> str:
    """Return notes as comment lines; control characters, which TOML forbids, become question marks."""
    lines: list[str] = []
    for note in notes:
        plain = _UNSAFE.sub("?", note)
        lines += textwrap.wrap(
            plain, LINE_WIDTH, initial_indent="# - ", subsequent_indent="#   ", break_long_words=False
        )
    return "".join(f"{line}\n" for line in lines)


def parse_notes(text: str) -> dict[str, tuple[str, ...]]:
    """Return the comments right above each column of a schema file, and under "" those above its version.

    "# - " begins a note, and indented lines continue it. A comment of any other form is a note of its own.
    """
    notes: dict[str, tuple[str, ...]] = {}
    block: list[str] = []
    headed = text.partition("\n\n")[2] if text.startswith(HEADER.splitlines()[0]) else text
    for line in headed.splitlines():
        if line.startswith("#"):
            _add_comment(block, line[1:])
        elif line.strip():
            name = _find_header(line)
            if name is not None and block:
                notes[name] = tuple(block)
            block = []
    return notes


def _add_comment(block: list[str], comment: str) -> None:
    if block and comment.startswith("   "):
        block[-1] += " " + comment.strip()
    elif comment.strip():
        block.append(comment.strip().removeprefix("- "))


def _find_header(line: str) -> str | None:
    """Return the column that a line begins, "" for the version of the file, None for any other line."""
    if line.startswith("version"):
        return ""
    if not line.startswith("[columns."):
        return None
    try:
        return next(iter(tomllib.loads(line)["columns"]), None)
    except ValueError:  # not one line: TOML allows more than we write
        return None


def format_value(value: Any) -> str:
    """Return one value: text, number, true or false, list or inline table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _format_string(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{format_key(key)} = {format_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return _format_list(value)
    return repr(value)  # of a float: the shortest text that reads back to the same number


def format_key(key: str) -> str:
    """Return a key, quoted unless it is plain letters, digits, _ and -."""
    return key if _BARE.fullmatch(key) else _format_string(key)


def _format_entries(entry: Mapping[str, Any]) -> str:
    return "".join(_format_entry(format_key(key), value) for key, value in entry.items())


def _format_entry(key: str, value: Any) -> str:
    """Return an entry on one line, or one line per key for a table that is too long."""
    text = f"{key} = {format_value(value)}\n"
    if not isinstance(value, Mapping) or len(text) <= LINE_WIDTH + 1:
        return text
    return "".join(f"{key}.{format_key(inner)} = {format_value(item)}\n" for inner, item in value.items())


def _format_string(text: str) -> str:
    # JSON escapes are TOML escapes; JSON leaves the delete character as it is, which TOML forbids.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_list(values: Sequence[Any]) -> str:
    items = [format_value(value) for value in values]
    if sum(len(item) + 2 for item in items) <= LINE_WIDTH - 12:
        return f"[{', '.join(items)}]"
    lines, line = [""], 0
    for item in items:
        if lines[line] and len(lines[line]) + len(item) > LINE_WIDTH:
            lines.append("")
            line += 1
        lines[line] += f" {item},"
    return "[\n" + "".join(f"   {text}\n" for text in lines) + "]"
