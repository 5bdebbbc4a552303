"""Metadata of a release for others' machines: Croissant 1.0 for catalogues, and a record for registries of DP.

A registry's record tells what practitioners were found to ask for (Nanayakkara, Ghazi, Vadhan 2025): what was released
and for what, who is protected, with which parameters, by which mechanisms, accounting and software.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklar.pipeline.inspection import inspect_model
from sklar.pipeline.model_file import Stored, model_digest
from sklar.schema.columns import Column
from sklar.schema.confirming import describe_column
from sklar.schema.persons.tables import table_schemas
from sklar.schema.table import Schema

CROISSANT = "http://mlcommons.org/croissant/1.0"
TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)
"""Words of Croissant that a context lists as they are."""
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
"""In which each table of a release is written."""


@dataclass(frozen=True, kw_only=True)
class SyntheticTable:
    """A table of synthetic rows: what it is called, its columns, and its files by how they end."""

    name: str
    schema: Schema
    files: Mapping[str, str]


def synthetic_tables(schema: Schema) -> tuple[SyntheticTable, ...]:
    """The one table, or parents and then their rows."""
    two = schema.person is not None and schema.person.parents is not None
    named = [(name, f"synthetic.{name}", one) for name, one in table_schemas(schema).items()] if two else []
    return tuple(
        SyntheticTable(name=name, schema=one, files={ending: stem + ending for ending in FORMATS})
        for name, stem, one in named or [("rows", "synthetic", schema)]
    )


def croissant(stored: Stored, name: str, tables: Mapping[str, bytes]) -> dict[str, Any]:
    """Croissant metadata of the synthetic rows, which refer to the files in the bundle by name and hash."""
    told = synthetic_tables(stored.schema)
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT,
        "name": name,
        "description": f"Synthetic rows: nobody in them exists. {stored.claim}",
        "isLiveDataset": False,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "encodingFormat": FORMATS[ending],
                "contentSize": f"{len(tables[file])} B",
                "sha256": hashlib.sha256(tables[file]).hexdigest(),
            }
            for table in told
            for ending, file in table.files.items()
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table.name,
                "name": table.name,
                "field": [
                    _field(table, column, facts) for column, facts in table.schema.items() if facts.kind != "ignore"
                ],
            }
            for table in told
        ],
    }


def _field(table: SyntheticTable, name: str, column: Column) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table.name}/{name}",
        "name": name,
        "description": describe_column(column),
        "dataType": TYPES.get(column.kind, "sc:Text"),
        "source": {"fileObject": {"@id": table.files[".csv"]}, "extract": {"column": name}},
    }


def registry_record(stored: Stored, name: str, rows: int) -> dict[str, Any]:
    """What a registry of deployments of differential privacy asks for, as far as the release tells."""
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
            "setting": "central, one release of a static table",
        },
        "privacy_unit": {
            "protects": "a person",
            "rows_per_person": claim.rows_per_person if claim.person is None else "any number",
            "neighbours": claim.neighbours,
            "number_of_rows": "public" if claim.neighbours == "replace" else "protected",
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
