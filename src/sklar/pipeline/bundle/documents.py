"""The parts of a bundle that follow from the model alone: the claim as a page and as data, and the dictionary."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from sklar.accounting.claim import Claim
from sklar.pipeline.model_file import Stored, model_digest
from sklar.report.page import render
from sklar.schema.columns import Labels
from sklar.schema.confirming import describe_column
from sklar.schema.table import Schema, schema_to_toml

README = """\
What is in this release
=======================
synthetic.csv, synthetic.parquet   synthetic rows: nobody in them exists (of two tables, each by its name)
claim.html, claim.json             what is promised about the people in the real table; the page can be signed
report.html                        what the release is worth, if the custodian put it in
model.sklar                        the model the rows were drawn from; draws more rows, at no further cost
dictionary.csv, schema.toml        what the columns are, as it was taken as known
croissant.json, registry.json      metadata for catalogues of data sets and registries of differential privacy
ledger.jsonl                       what was spent on the real table up to this release, if the custodian kept a ledger
versions.json, manifest.json       what made it, and the SHA-256 of every file
signature.json                     the custodian's signature of the manifest, if it is signed

Check it:  sklar verify THIS.zip --key custodian.pub
"""


def documents(stored: Stored) -> dict[str, bytes]:
    """Members that anyone can make again from the model."""
    return {
        "README.txt": README.encode(),
        "claim.html": claim_page(stored).encode(),
        "claim.json": as_json({"claim": str(stored.claim), **stored.claim.to_dict()}),
        "dictionary.csv": dictionary(stored.schema).encode(),
        "schema.toml": schema_to_toml(stored.schema).encode(),
        "versions.json": as_json(stored.fit.get("versions", {})),
    }


def claim_page(stored: Stored) -> str:
    """The claim on one page, with room for a signature."""
    claim = stored.claim
    return render("claim.html", claim=claim, facts=_facts(claim), digest=model_digest(stored)[:16]) + "\n"


def _facts(claim: Claim) -> list[tuple[str, str]]:
    if not claim.guarantee:
        return [("Method", claim.method)]
    return [
        ("Epsilon", f"{claim.epsilon:.6g}"),
        ("Delta", f"{claim.delta:.3g}"),
        ("Protected", claim.protected),
        ("Method", claim.method),
        ("Ledger", "none" if claim.ledger is None else f"'{claim.ledger.name}', {_fits(claim.ledger.fits)}"),
    ]


def _fits(count: int) -> str:
    return "its only fit" if count == 1 else f"one of {count} fits"


def dictionary(schema: Schema) -> str:
    """What the columns are: one line each."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["column", "kind", "what it is", "values", "may be missing"])
    for name, column in schema.items():
        values = " | ".join(str(value) for value in column.values) if isinstance(column, Labels) else ""
        missing = "yes" if getattr(column, "nullable", False) else "no"
        lines.writerow([name, column.kind, describe_column(column), values, missing if column.modelled else ""])
    return text.getvalue()


def as_json(value: Any) -> bytes:
    """Data as bytes that are the same each time."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False).encode() + b"\n"
