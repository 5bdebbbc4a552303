from __future__ import annotations

import numpy as np
import pytest

from sklar.lab.people import DIAGNOSES, people_schema, people_table, people_values
from sklar.sample.rules import rules_hold

ROWS = 20_000


@pytest.fixture(scope="module")
def people():
    return people_values(ROWS)


def test_the_values_keep_to_the_schema(people):
    schema = people_schema()
    assert list(people) == list(schema.names)
    assert rules_hold(schema, people).all()
    for name in schema.modelled:
        column, values = schema[name], people[name]
        assert values.null.any() == getattr(column, "nullable", False)
        if column.numeric:
            kept = values.data[~values.null]
            assert kept.min() >= column.grid.starts[0] and kept.max() < column.grid.stop
        elif values.labels is not None:
            assert values.labels == column.values and set(np.unique(values.data)) == set(range(len(values.labels)))


def test_every_fact_is_public():
    schema = people_schema()
    for word in ("assumed", "from-rows", "pay", "measured"):
        assert schema.facts_by_provenance(word) == ()


def test_it_is_realistic_where_it_matters(people):
    income, cost, diagnosis = people["income"].data, people["cost"].data, people["diagnosis"].data
    assert 0.03 < (income == 0).mean() < 0.2  # a spike at zero
    assert (income[income > 0] % 500 == 0).mean() > 0.3  # and at round values
    assert np.mean(cost) > 1.4 * np.median(cost) and np.quantile(cost, 0.999) > 15 * np.median(cost)  # a heavy tail
    shares = np.bincount(diagnosis, minlength=len(DIAGNOSES)) / ROWS
    assert shares.min() < 0.004 and shares.max() > 0.1  # rare and common levels


def test_columns_depend_on_each_other_and_nulls_on_columns(people):
    def ranks(name: str) -> np.ndarray:
        return np.argsort(np.argsort(people[name].data, kind="stable"), kind="stable")

    assert np.corrcoef(ranks("nights"), ranks("cost"))[0, 1] > 0.6
    assert np.corrcoef(ranks("hours"), ranks("income"))[0, 1] > 0.3
    silent, old = people["smoker"].null, people["age"].data > 70
    assert silent[old].mean() > 1.5 * silent[~old].mean()


def test_the_same_seed_gives_the_same_people():
    assert people_table(200, seed=3).equals(people_table(200, seed=3))
    assert not people_table(200, seed=3).equals(people_table(200, seed=4))
