"""Categories with coarser levels: prefixes or parents, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import sklar
from sklar.errors import SchemaError
from sklar.schema.table import schema_from_toml, schema_to_toml

CODES = ["I21.4", "I21.9", "I50", "J18"]
PARENTS = {"I21.4": "I21", "I21.9": "I21", "I21": "heart", "I50": "heart", "J18": "lung"}


def test_branches_by_prefix_and_by_parent() -> None:
    assert sklar.Category(CODES, levels=[1, 3]).branches == (("I", "I21"), ("I", "I21"), ("I", "I50"), ("J", "J18"))
    assert sklar.Category(CODES, parents=PARENTS).branches == (
        ("heart", "I21"),
        ("heart", "I21"),
        ("heart",),
        ("lung",),
    )
    assert sklar.Category([101, 102, 210], levels=[1]).branches == (("1",), ("1",), ("2",))
    assert sklar.Category(CODES).branches == ()


@pytest.mark.parametrize("hierarchy", [{"levels": [1, 3]}, {"parents": PARENTS}])
def test_the_file_says_the_same(hierarchy: dict[str, Any]) -> None:
    schema = sklar.Schema({"icd": sklar.Category(CODES, **hierarchy, nullable=True)})
    assert schema_from_toml(schema_to_toml(schema)) == schema
    assert hash(schema) == hash(schema_from_toml(schema_to_toml(schema)))


@pytest.mark.parametrize(
    ("hierarchy", "fault"),
    [
        ({"levels": [3, 1]}, "whole numbers that increase"),
        ({"levels": [0]}, "whole numbers that increase"),
        ({"levels": [1.5]}, "whole numbers that increase"),
        ({"levels": [1], "parents": PARENTS}, "levels or parents, not both"),
        ({"parents": {k: v for k, v in PARENTS.items() if k != "J18"}}, "'J18' has no parent in parents"),
        ({"parents": PARENTS | {"K12": "gut"}}, "'K12', which is neither a label nor a parent"),
        ({"parents": PARENTS | {"heart": "I21"}}, "form a cycle"),
        ({"parents": PARENTS | {"J18": 3}}, "parents must be texts"),
    ],
)
def test_a_hierarchy_that_is_none_is_refused(hierarchy: dict[str, Any], fault: str) -> None:
    with pytest.raises(SchemaError, match=fault):
        sklar.Schema({"icd": sklar.Category(CODES, **hierarchy)})


def test_a_file_with_a_wrong_hierarchy_is_refused() -> None:
    text = schema_to_toml(sklar.Schema({"icd": sklar.Category(CODES, levels=[1])}))
    for wrong in ("levels = 1", 'levels = ["a"]', "parents = [1]", "parents = { I50 = 1 }"):
        with pytest.raises(SchemaError, match="has the wrong type"):
            schema_from_toml(text.replace("levels = [1]", wrong))
