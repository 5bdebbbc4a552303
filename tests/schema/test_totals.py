"""Public totals: what is refused before anything is spent."""

from __future__ import annotations

import pytest

import sklar
from sklar.errors import SchemaError
from sklar.schema.rules import Totals
from sklar.schema.table import schema_from_toml, schema_to_toml

COLUMNS = {
    "region": sklar.Category(["N", "S"]),
    "sex": sklar.Boolean(),
    "kids": sklar.Integer(0, 5),
    "x": sklar.Real(0, 1),
}


def test_the_file_says_the_same() -> None:
    rules = [
        Totals(column="region", counts={"N": 3, "S": 4}),
        Totals(column="sex", counts={True: 5, False: 2}),  # type: ignore[dict-item]
        Totals(column="kids", counts={0: 7}),  # type: ignore[dict-item]
    ]
    schema = sklar.Schema(COLUMNS, rules=rules)
    assert schema_from_toml(schema_to_toml(schema)) == schema
    assert schema.rules[1].pairs == (("true", 5), ("false", 2))


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ([Totals(column="region", counts={"W": 3})], "'W' is not a value of 'region'"),
        ([Totals(column="kids", counts={"9": 3})], "'9' is not a value of 'kids'"),
        ([Totals(column="nobody", counts={"N": 3})], "'nobody' is not a modelled column"),
        ([Totals(column="x", counts={"0.5": 3})], "only labels, booleans and integers"),
        ([Totals(column="region", counts={"N": -1, "S": 2})], "whole numbers, not below 0"),
        ([Totals(column="region", counts={"N": 1.5})], "whole numbers, not below 0"),  # type: ignore[dict-item]
        ([Totals(column="region", counts={"N": 0})], "all 0"),
        ([Totals(column="region", counts={})], "all 0"),
        (
            [Totals(column="region", counts={"N": 3}), Totals(column="region", counts={"S": 3})],
            "'region' has two totals",
        ),
        ([Totals(column="region", counts={"N": 3}), Totals(column="sex", counts={"true": 4})], "'region': 3, 'sex': 4"),
    ],
)
def test_what_cannot_be_is_refused(rules: list[Totals], fault: str) -> None:
    with pytest.raises(SchemaError, match=fault):
        sklar.Schema(COLUMNS, rules=rules)
