"""Blocks of data in a page: base64 in script elements that browsers do not run."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

BLOCKS = ("facts", "model", "ledger", "manifest", "signature")
"""Names of the blocks, in order."""


def encode_block(content: bytes) -> str:
    """Return the text of a block."""
    return base64.b64encode(content).decode()


def compress_facts(facts: Mapping[str, Any]) -> bytes:
    """Return facts as compressed JSON; the same facts give the same bytes."""
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return gzip.compress(text.encode(), 9, mtime=0)


def read_block(page: bytes, name: str) -> bytes:
    """Return the content of a block of a page."""
    text = page.decode()
    start = text.index(f'id="{name}">') + len(f'id="{name}">')
    return base64.b64decode(text[start : text.index("</script>", start)])


def has_block(page: bytes, name: str) -> bool:
    """Return whether a page has a block."""
    return f'<script type="application/octet-stream" id="{name}">'.encode() in page


def read_facts(page: bytes) -> dict[str, Any]:
    """Return the facts of a page."""
    return json.loads(gzip.decompress(read_block(page, "facts")))
