"""A fit whose noise drowns the table says so, and a fit that carries signal does not."""

from __future__ import annotations

import warnings

import pytest

import sklar
from sklar.errors import NoSignalWarning
from tests.contracts.tables import people, schema


@pytest.mark.parametrize("method", ["independent", "vine"])
def test_all_noise_is_told_in_plain_words(method: str) -> None:
    with pytest.warns(NoSignalWarning, match="below the noise level.*larger epsilon"):
        model = sklar.fit(people(60), schema(), method=method, epsilon=1e-3)
    assert model.sample(50, seed=1).num_rows == 50


def test_a_clear_table_is_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sklar.fit(people(2000), schema(), method="independent", epsilon=2.0)
