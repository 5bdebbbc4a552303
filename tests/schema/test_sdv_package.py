"""Metadata of the SDV package itself, both versions, in environments of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sklar
from sklar.schema.sdv import kinds_from_sdv, schema_from_sdv, to_sdv
from tests.environments import python_with, run_there

pytestmark = pytest.mark.slow

NEEDS = ("pandas<3", "copulas", "graphviz", "cloudpickle", "platformdirs", "pyyaml", "tqdm", "boto3")
"""What SDV needs but for ctgan and deepecho, which bring torch."""
VERSIONS = {
    "V2": (("sdv>=2,<3",), (*NEEDS, "rdt>=2", "sdmetrics>=0.32")),
    "V1": (("sdv>=1.30,<2",), (*NEEDS, "rdt>=1.18,<2", "sdmetrics")),
}
TABLE = """
import json, sys, warnings
import numpy as np, pandas as pd
from sdv.metadata import Metadata
rng, n = np.random.default_rng(0), 2000
frame = pd.DataFrame({
    "key": np.arange(n), "age": rng.integers(18, 90, n), "income": rng.normal(3e4, 1e4, n).round(2),
    "sex": rng.choice(["F", "M"], n), "ok": rng.random(n) < 0.5, "rate": rng.integers(1, 6, n),
    "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), unit="D"),
    "maybe": np.where(rng.random(n) < 0.2, None, rng.choice(["x", "y"], n)),
    "ratio": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
})
"""
DETECT = """
detect = getattr(Metadata, "detect_from_dataframes")
print(json.dumps(detect({"t": frame}).to_dict(), default=str))
"""
CHECK = """
metadata = Metadata.load_from_dict(json.loads(sys.argv[1]))
metadata.validate()
metadata.validate_data({"t": frame})
print(json.dumps(metadata.to_dict(), default=str))
"""
KINDS = {
    "key": "id", "age": "integer", "income": "real", "sex": "category", "rate": "ordinal", "day": "datetime",
    "maybe": "category", "ratio": "real", "ok": "boolean",
}  # fmt: skip


def there(version: str, code: str, *words: str) -> Any:
    """What SDV of a metadata version says."""
    alone, packages = VERSIONS[version]
    return json.loads(run_there(python_with(*packages, alone=alone), TABLE + code, *words).splitlines()[-1])


def test_what_sdv_2_detects_is_read_and_counts_as_read_off_the_rows() -> None:
    found = there("V2", DETECT)
    assert found["METADATA_SPEC_VERSION"] == "V2"
    schema = schema_from_sdv(found)
    assert {name: column.kind for name, column in schema.items()} == KINDS
    assert all(
        column.provenance(fact) == "from-rows"
        for column in schema.values()
        for fact in ("lower", "upper", "values", "nullable")
        if column.modelled and fact in column.facts
    )
    assert schema["maybe"].null_code is not None and schema["age"].null_code is None
    with pytest.raises(sklar.errors.SklarError, match="from-rows"):
        sklar.fit({name: [] for name in schema}, schema, epsilon=1.0)


def test_sdv_1_detects_kinds_only() -> None:
    found = there("V1", DETECT)
    assert found["METADATA_SPEC_VERSION"] == "V1"
    kinds = kinds_from_sdv(found)
    assert {name for name, kind in kinds.items() if kind.kind == "ignore"} <= {"maybe"}
    assert all(kind.domain is None for kind in kinds.values())


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_sdv_takes_what_is_written(version: Any) -> None:
    """Its own check of metadata passes, and that of rows against these."""
    schema = sklar.Schema({
        "key": sklar.Id(), "age": sklar.Integer(0, 120), "income": sklar.Real(-1e5, 1e6, decimals=2),
        "sex": sklar.Category(["F", "M"]), "ok": sklar.Boolean(), "rate": sklar.Ordinal([1, 2, 3, 4, 5]),
        "day": sklar.Datetime("2000-01-01", "2030-12-31"), "maybe": sklar.Category(["x", "y"], nullable=True),
        "ratio": sklar.Real(0, 1, nullable=True),
    })  # fmt: skip
    written = to_sdv(schema, "t", version)
    again = there(version, CHECK, json.dumps(written))
    assert again["tables"]["t"]["columns"] == written["tables"]["t"]["columns"]
    kinds = {name: kind.kind for name, kind in kinds_from_sdv(again).items()}
    assert kinds == {name: column.kind for name, column in schema.items()}


def test_sdv_2_upgrades_what_was_written_for_sdv_1(tmp_path: Path) -> None:
    schema = sklar.Schema({"rate": sklar.Ordinal([1, 2, 3, 4, 5]), "age": sklar.Integer(0, 120)})
    code = "print(json.dumps(Metadata.load_from_dict(json.loads(sys.argv[1])).to_dict()))"
    upgraded = there("V2", code, json.dumps(to_sdv(schema, "t", "V1")))
    assert kinds_from_sdv(upgraded)["rate"].values == (1, 2, 3, 4, 5)
