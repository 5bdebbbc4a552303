"""TOML text of a schema, laid out for people: short lists on one line, long ones wrapped, notes as comments."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 110
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def document_text(document: Mapping[str, Any], notes: Mapping[str, Sequence[str]]) -> str:
    """The document of `schema_to_dict` as TOML; notes are comments above their columns, and those of "" come first."""
    head = comments(notes.get("", ()))
    parts = [*([head] if head else []), f"version = {value_text(document['version'])}\n"]
    for name, entry in document["columns"].items():
        parts.append(comments(notes.get(name, ())) + f"[columns.{key_text(name)}]\n" + _entries(entry))
    for key in ("constraints", "prices"):
        parts += [f"[[{key}]]\n" + _entries(entry) for entry in document.get(key, ())]
    return "\n".join(parts)


def comments(notes: Sequence[str]) -> str:
    """Notes as comment lines; control characters, which TOML forbids there, are shown as a question mark."""
    lines: list[str] = []
    for note in notes:
        plain = _UNSAFE.sub("?", note)
        lines += textwrap.wrap(plain, WIDTH, initial_indent="# - ", subsequent_indent="#   ", break_long_words=False)
    return "".join(f"{line}\n" for line in lines)


def value_text(value: Any) -> str:
    """One value: text, number, true or false, list or inline table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key_text(key)} = {value_text(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return _list(value)
    return repr(value)  # of a float: the shortest text that reads back to the same number


def key_text(key: str) -> str:
    """A key, quoted unless it is plain letters, digits, _ and -."""
    return key if _BARE.fullmatch(key) else _string(key)


def _entries(entry: Mapping[str, Any]) -> str:
    return "".join(_entry(key_text(key), value) for key, value in entry.items())


def _entry(key: str, value: Any) -> str:
    """One line, or one a key of a table that is too long for it; these need not be in one place, but are."""
    text = f"{key} = {value_text(value)}\n"
    if not isinstance(value, Mapping) or len(text) <= WIDTH + 1:
        return text
    return "".join(f"{key}.{key_text(inner)} = {value_text(item)}\n" for inner, item in value.items())


def _string(text: str) -> str:
    # JSON escapes are TOML escapes; JSON leaves the delete character as it is, which TOML forbids.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Sequence[Any]) -> str:
    items = [value_text(value) for value in values]
    if sum(len(item) + 2 for item in items) <= WIDTH - 12:
        return f"[{', '.join(items)}]"
    lines, line = [""], 0
    for item in items:
        if lines[line] and len(lines[line]) + len(item) > WIDTH:
            lines.append("")
            line += 1
        lines[line] += f" {item},"
    return "[\n" + "".join(f"   {text}\n" for text in lines) + "]"
