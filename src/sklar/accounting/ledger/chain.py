"""Lines of the ledger: canonical JSON, each with its own hash and the hash of the line before.

A line is the JSON of one entry, keys sorted, without spaces, in ASCII, ended by a newline. Its field `prev` is the hash
of the line before (64 zeros for the first) and `sha256` the hash of the entry without that field. So an edited,
reordered, inserted or removed line breaks the chain. What a chain cannot show from the file alone is that whole lines
were cut off its end, or that all of it was written anew: keep the head hash of a published ledger elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sklar.errors import LedgerError

GENESIS = "0" * 64
LONGEST_LINE = 16 * 1024 * 1024
"""Longer lines are not entries; they point to a file that is no ledger."""


def seal(content: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    """The line of an entry that follows the line with hash `previous`, and its own hash."""
    entry = {**content, "prev": previous}
    digest = _digest(entry)
    return (_canonical({**entry, "sha256": digest}) + "\n").encode("ascii"), digest


def unseal(line: bytes, previous: str, number: int) -> tuple[dict[str, Any], str]:
    """The entry of a line (without its newline) and its hash; any damage is a LedgerError that names the line."""
    entry = parse(line)
    if entry is None:
        raise damage(number, "it is not an entry of a ledger")
    digest = entry.pop("sha256", None)
    if digest != _digest(entry) or _canonical({**entry, "sha256": digest}).encode() != line:
        raise damage(number, "it was changed after it was written")
    if entry.pop("prev", None) != previous:
        raise damage(number, "it does not follow the line before; a line was removed, inserted or moved")
    return entry, digest


def parse(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line, or None if it is none."""
    if len(line) > LONGEST_LINE or not line.startswith(b"{"):
        return None
    try:
        return json.loads(line.decode("ascii"))  # it starts with a brace, so it is an object
    except (ValueError, RecursionError):
        return None


def is_torn(tail: bytes) -> bool:
    """Whether bytes after the last newline look like a write that was cut short: a beginning of a line, or zeros."""
    return parse(tail) is None and (tail.startswith(b"{") or not tail.strip(b"\0"))


def _canonical(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _digest(entry: Mapping[str, Any]) -> str:
    try:
        return hashlib.sha256(_canonical(entry).encode("ascii")).hexdigest()
    except ValueError:  # NaN or infinity, which no entry holds
        return ""


def damage(number: int, what: str) -> LedgerError:
    """The error for a line that is not as it was written. It never quotes the line, which may be of some other file."""
    return LedgerError(f"the ledger is damaged at line {number}: {what}. Restore it from a copy; nothing was charged.")
