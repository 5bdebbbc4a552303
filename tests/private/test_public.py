"""Counts of tables that are declared public."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.private.public import open_public, public_columns, same_table
from sklar.schema.reading import ReadOptions
from tests.contracts import stays

SCHEMA = sklar.Schema({"age": sklar.Integer(0, 9), "sex": sklar.Category(["F", "M"]), "id": sklar.Id()})


def test_counts_are_those_of_its_rows() -> None:
    frame = pd.DataFrame({"sex": ["F", "M", "M", "?"], "age": [1, 2, 2, 50], "more": 0})
    with open_public(frame, SCHEMA, ReadOptions()) as public:
        assert (public.rows, public.names) == (4, ("age", "sex"))
        age, both = public.count([(("age",), None), (("sex", "age"), None)])
    np.testing.assert_array_equal(age, [0, 1, 2, 0, 0, 0, 0, 0, 0, 1])  # beyond the range is clipped
    assert both[0, 1] == 1
    assert both[1, 2] == 2
    assert both[2, 9] == 1  # an unknown label is `other`


def test_only_the_columns_that_it_has_are_told() -> None:
    frame = pd.DataFrame({"age": [1, 2], "id": [1, 2]})
    assert public_columns(frame, SCHEMA, ReadOptions()) == ("age",)
    with open_public(frame, SCHEMA, ReadOptions()) as public:
        assert public.names == ("age",)
    with (
        pytest.raises(UsageError, match="no column of the schema"),
        open_public(pd.DataFrame({"x": [1]}), SCHEMA, ReadOptions()),
    ):
        pass


def test_what_rules_make_of_columns_needs_all_of_them() -> None:
    """A length of stay is no column of a table that lacks the day of leaving; the others are as ever."""
    frame, schema = stays.stays(50), stays.schema()
    with open_public(frame, schema, ReadOptions()) as public:
        whole = set(public.names)
    with open_public(frame.drop(columns="left"), schema, ReadOptions()) as public:
        fewer = set(public.names)
    assert fewer < whole
    assert "town" in fewer


def test_a_query_of_the_private_rows_is_not_put_to_a_public_table() -> None:
    frame = pd.DataFrame({"age": [1], "sex": ["F"]})
    with open_public(frame, SCHEMA, ReadOptions(sql="SELECT 1 AS age")) as public:
        assert public.names == ("age", "sex")


def test_a_query_meets_the_table_it_names_in_any_case(tmp_path: Path) -> None:
    """SQL names do not depend on case, so the check of a prior against the private query must not either."""
    base = f"sqlite://{tmp_path}/t.sqlite"
    query = ReadOptions(sql="SELECT * FROM People")
    assert same_table(f"{base}?table=PEOPLE", base, query)
    assert not same_table(f"{base}?table=visits", base, query)
    assert same_table(base, base, query)
