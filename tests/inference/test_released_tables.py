"""What released tables count is found again by asking the method, and rows of a model are counted alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sklar
from sklar.errors import DoorError
from sklar.inference.released_tables import design_of, mass_of_groups, released_tables, tables_of_rows
from sklar.pipeline.bundle.bundle import stored_of
from sklar.sample.rng import generator
from tests.contracts.tables import people, schema
from tests.tiers import slow_unless


@pytest.mark.parametrize(
    "method",
    slow_unless(("vine", "independent").__contains__, ["vine", "independent", "dpc-gauss", "dpcopula-kendall"]),
)
def test_rows_and_margins_tell_the_same_tables_of_single_columns(method: str) -> None:
    few = sklar.Schema({name: schema()[name] for name in ("age", "income", "region")})
    fitted = stored_of(sklar.fit(people(300), few, method=method, epsilon=50.0)).fitted
    tables = released_tables(fitted.schema, design_of(fitted), fitted.recorded)
    codes = fitted.model.simulate_rounded(20_000, generator(1))
    for table, share in zip(tables, tables_of_rows(tables, codes), strict=True):
        assert share.shape == table.observed.shape and share.sum() == pytest.approx(1.0)
        for axis, (column, lookup) in enumerate(zip(table.columns, table.lookups, strict=True)):
            own = share.sum(axis=tuple(other for other in range(share.ndim) if other != axis))
            drawn = np.bincount(lookup[codes[:, column]], minlength=len(own)) / len(codes)
            assert np.allclose(own, drawn)
            assert mass_of_groups(lookup, fitted.model.margins[column].dense(), len(own)).sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_releases_of_another_fit_are_refused() -> None:
    one, two = (stored_of(sklar.fit(people(300), schema(), epsilon=e, method="independent")).fitted for e in (1.0, 2.0))
    with pytest.raises(DoorError):
        design_of(replace(one, recorded=two.recorded))
