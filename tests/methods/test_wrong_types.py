"""Options of the wrong type are refused in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sklar
from sklar.errors import UsageError


@pytest.mark.parametrize(
    ("method", "option"),
    [("dpcopula-hybrid", {"published": "yes"}), ("dpcopula-kendall", {"published": 2}),
     ("independent", {"noise": np.array([1, 2])})],
)  # fmt: skip
def test_an_option_of_the_wrong_type_is_refused_in_plain_words(method: str, option: dict[str, Any]) -> None:
    schema = sklar.Schema({"a": sklar.Integer(0, 9), "b": sklar.Boolean()})
    with pytest.raises(UsageError, match="must be one of"):
        sklar.fit({"a": [1, 2], "b": [True, False]}, schema, method=method, epsilon=1.0, **option)
