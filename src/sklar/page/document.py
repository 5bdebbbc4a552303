"""Put a page together: program, style and data in one document, with the hashes of all of them in its manifest.

The policy of the document (CSP) names the hashes of its one script and its one style sheet, and forbids everything
else: no network, no other code. Its manifest has the hashes of all parts, and of the document around them, so that a
changed byte is found; a signature is one of the manifest.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Callable, Mapping
from typing import Any

from sklar.page.embedded import BLOCKS, compress_facts, encode_block
from sklar.page.program import join_program, read_static

FORMAT = "sklar-page"
VERSION = 1
Sign = Callable[[bytes], bytes]
"""Signs a manifest."""


def build_page(
    title: str, facts: Mapping[str, Any], model: bytes, *, ledger: bytes | None = None, sign: Sign | None = None
) -> bytes:
    """Return the page.

    Args:
        title: Its name.
        facts: What it shows, as plain data.
        model: The model file.
        ledger: An extract of the ledger of the fit.
        sign: Signs the manifest.
    """
    return assemble_page(title, compress_facts(facts), model, ledger=ledger, sign=sign)


def assemble_page(
    title: str, facts: bytes, model: bytes, *, ledger: bytes | None = None, sign: Sign | None = None
) -> bytes:
    """Return the page of facts that are compressed already."""
    program, style = join_program(), read_static("page.css")
    blocks = {"facts": encode_block(facts), "model": encode_block(model)}
    blocks |= {} if ledger is None else {"ledger": encode_block(ledger)}
    shell = _render(
        title, program, style, dict.fromkeys([*blocks, "manifest", *(["signature"] if sign else [])], ""), ""
    )
    members = {
        "program": _hash_content(program.encode()),
        "style": _hash_content(style.encode()),
        "facts": _hash_content(blocks["facts"].encode()),
        "model": _hash_content(model),
        **({} if ledger is None else {"ledger": _hash_content(ledger)}),
        "document": _hash_content(shell.encode()),
    }
    manifest = json.dumps({"format": FORMAT, "version": VERSION, "title": title, "members": members}, sort_keys=True)
    blocks["manifest"] = encode_block(manifest.encode())
    if sign is not None:
        blocks["signature"] = encode_block(sign(manifest.encode()))
    return _render(title, program, style, blocks, program).encode()


def _render(title: str, program: str, style: str, blocks: Mapping[str, str], shown: str) -> str:
    """Return the document, in the form in which browsers write it; without `shown`, with all its parts empty."""
    policy = "; ".join(
        (
            "default-src 'none'", f"script-src {_hash_source(program)}", f"style-src {_hash_source(style)}",
            "worker-src blob:", "img-src data:", "base-uri 'none'", "form-action 'none'",
        )
    )  # fmt: skip
    data = "".join(
        f'<script type="application/octet-stream" id="{name}">{blocks[name]}</script>\n'
        for name in BLOCKS
        if name in blocks
    )
    return (
        '<!doctype html>\n<html lang="en"><head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy, quote=False)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title, quote=False)}</title>\n<style>{style if shown else ''}</style>\n</head><body>\n"
        f'<div id="app"><h1>{html.escape(title, quote=False)}</h1><p>{FALLBACK}</p></div>\n'
        f'{data}<script type="module" id="program">{shown}</script></body></html>'
    )


FALLBACK = (
    "This page did not start. Scripts are switched off, this browser is older than 2023, or the page was changed: then "
    "do not trust it."
)


def _hash_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
