"""The parts of a bundle that depend on the model alone: claim, dictionary, metadata for catalogues and registries.

The registry record contains what practitioners ask for (Nanayakkara, Ghazi, Vadhan 2025): what was released and for
what purpose, who is protected, and the parameters, mechanisms, accounting and software.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklar.accounting.claim import Claim, format_bound
from sklar.pipeline.bundle.archive import Checksum
from sklar.pipeline.inspection import inspect_model
from sklar.pipeline.model_file import Stored, model_digest
from sklar.report.page import render
from sklar.schema.columns import Column, Labels
from sklar.schema.confirming import describe_column
from sklar.schema.persons.tables import table_schemas
from sklar.schema.table import Schema, schema_to_toml

README = """\
What is in this release
=======================
synthetic.csv, synthetic.parquet   rows sampled from a model of a real table; a row may equal a real one
claim.html, claim.json             the privacy guarantee for the people in the real table; the page can be signed
report.html                        quality of the release, if the custodian included it
model.sklar                        the model the rows were drawn from; draws more rows, at no further cost
dictionary.csv, schema.toml        the columns and the public facts about them
croissant.json, registry.json      metadata for catalogues of data sets and registries of differential privacy
ledger.jsonl                       privacy budget spent on the real table up to this release, if there is a ledger
versions.json, manifest.json       software versions, and the SHA-256 of every file
signature.json                     the custodian's signature of the manifest, if it is signed

Check it:  sklar verify THIS.zip --key custodian.pub
"""
SYNTHETIC_NOTE = (
    "The rows are synthetic: they were sampled from a model of a real table. A sampled row may equal a row of that "
    "table, by chance or because many people share its values."
)
"""Description of sampled rows in metadata."""


def make_documents(stored: Stored) -> dict[str, bytes]:
    """Return the members that are computed from the model alone."""
    return {
        "README.txt": README.encode(),
        "claim.html": claim_page(stored).encode(),
        "claim.json": as_json({"claim": str(stored.claim), **stored.claim.to_dict()}),
        "dictionary.csv": make_dictionary(stored.schema).encode(),
        "schema.toml": schema_to_toml(stored.schema).encode(),
        "versions.json": as_json(stored.fit.get("versions", {})),
    }


def claim_page(stored: Stored) -> str:
    """Return the claim on one page, with room for a signature."""
    claim = stored.claim
    return render("claim.html", claim=claim, facts=_list_facts(claim), digest=model_digest(stored)[:16]) + "\n"


def _list_facts(claim: Claim) -> list[tuple[str, str]]:
    if not claim.guarantee:
        return [("Method", claim.method), *claim.basis]
    return [
        ("Epsilon", format_bound(claim.epsilon)),
        ("Delta", format_bound(claim.delta, 3)),
        *([("Given", f"a prior taken as public: '{claim.prior.name}'")] if claim.prior is not None else []),
        ("Protected", claim.protected),
        ("Method", claim.method),
        (
            "Ledger",
            "none" if claim.ledger is None else f"'{claim.ledger.name}', {_describe_fit_count(claim.ledger.fits)}",
        ),
        *claim.basis,
    ]


def _describe_fit_count(count: int) -> str:
    return "its only fit" if count == 1 else f"one of {count} fits"


def make_dictionary(schema: Schema) -> str:
    """Return a CSV with one line per column: kind, facts, values."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["column", "kind", "what it is", "values", "may be missing"])
    for name, column in schema.items():
        values = " | ".join(str(value) for value in column.values) if isinstance(column, Labels) else ""
        missing = "yes" if getattr(column, "nullable", False) else "no"
        lines.writerow([name, column.kind, describe_column(column), values, missing if column.modelled else ""])
    return text.getvalue()


def as_json(value: Any) -> bytes:
    """Return data as JSON in a canonical form."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False).encode() + b"\n"


CROISSANT = "http://mlcommons.org/croissant/1.0"
TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)
"""Terms of Croissant that the context maps to themselves."""
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    **{term: f"cr:{term}" for term in TERMS.split()},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
TYPES = {"integer": "sc:Integer", "real": "sc:Float", "boolean": "sc:Boolean"}
FORMATS = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}
"""Endings and media types of the files of each synthetic table."""


@dataclass(frozen=True, kw_only=True)
class SyntheticTable:
    """A table of synthetic rows: its name, its columns, and its files by ending."""

    name: str
    schema: Schema
    files: Mapping[str, str]


def synthetic_tables(schema: Schema) -> tuple[SyntheticTable, ...]:
    """Return the single table, or the parents and then their rows."""
    two = schema.person is not None and schema.person.parents is not None
    named = [(name, f"synthetic.{name}", one) for name, one in table_schemas(schema).items()] if two else []
    return tuple(
        SyntheticTable(name=name, schema=one, files={ending: stem + ending for ending in FORMATS})
        for name, stem, one in named or [("rows", "synthetic", schema)]
    )


def make_croissant(stored: Stored, name: str, tables: Mapping[str, Checksum]) -> dict[str, Any]:
    """Return Croissant metadata of the synthetic rows, which refers to the files of the bundle by name and hash."""
    described = synthetic_tables(stored.schema)
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT,
        "name": name,
        "description": f"{SYNTHETIC_NOTE} {stored.claim}",
        "isLiveDataset": False,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "encodingFormat": FORMATS[ending],
                "contentSize": f"{tables[file].size} B",
                "sha256": tables[file].sha256,
            }
            for table in described
            for ending, file in table.files.items()
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table.name,
                "name": table.name,
                "field": [
                    _describe_field(table, column, facts)
                    for column, facts in table.schema.items()
                    if facts.kind != "ignore"
                ],
            }
            for table in described
        ],
    }


def _describe_field(table: SyntheticTable, name: str, column: Column) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table.name}/{name}",
        "name": name,
        "description": describe_column(column),
        "dataType": TYPES.get(column.kind, "sc:Text"),
        "source": {"fileObject": {"@id": table.files[".csv"]}, "extract": {"column": name}},
    }


def registry_record(stored: Stored, name: str, rows: int) -> dict[str, Any]:
    """Return the entry for a registry of differential privacy deployments."""
    claim = stored.claim
    mechanisms = [
        {"step": step["label"], "tables": step["releases"], "noise": step["noise"], "share_of_budget": step["share"]}
        for step in inspect_model(stored)["steps"]
    ]
    return {
        "deployment": {"name": name, "status": "released", "model": model_digest(stored)},
        "data_product": {
            "type": "synthetic table",
            "rows": rows,
            "columns": [column for column, facts in stored.schema.items() if facts.kind != "ignore"],
        },
        "guarantee": {
            "differentially_private": claim.guarantee,
            "flavour": None if not claim.guarantee else "pure" if not claim.delta else "approximate",
            "epsilon": claim.epsilon,
            "delta": claim.delta,
            "rho": claim.rho,
            "given": None if claim.prior is None else "a prior taken as public",
            "setting": "central, one release of a static table",
        },
        "privacy_unit": {
            "protects": "a person",
            "rows_per_person": claim.rows_per_person if claim.person is None else "any number",
            "neighbours": claim.neighbours,
            f"number_of_{'rows' if claim.person is None else 'persons'}": (
                "public" if claim.neighbours == "replace" else "protected"
            ),
            "person": claim.to_dict().get("person"),
        },
        "accounting": {
            "composition": claim.accounting,
            "post_processing": "the model and all rows are made from the noisy releases alone",
            "ledger": None if claim.ledger is None else claim.to_dict()["ledger"],
        },
        "mechanisms": mechanisms,
        "assumptions": {
            "assumed": claim.assumed,
            "public": claim.public,
            "measured": claim.measured,
            "rules": claim.rules,
            "reading": claim.reading,
            "confirmed": claim.confirmed,
            "prior": claim.to_dict().get("prior"),
            "not_covered": claim.not_covered,
        },
        "implementation": {
            "software": "Sklar",
            "version": claim.version,
            "method": claim.method,
            "noise": claim.numerics,
            "verify": "sklar verify",
        },
    }
