"""Which accounting a method's fit rests on: told by schema, options and budget alone."""

import pytest

from sklar.accounting.budget import Budget
from sklar.accounting.unit import Unit
from sklar.methods.registry import METHODS
from sklar.methods.vine.options import VineOptions
from sklar.schema.numbers import Integer
from sklar.schema.table import Schema

UNIT = Unit(neighbours="add-remove", rows_per_person=1)


def wide(columns):
    return Schema({f"x{j}": Integer(0, 20) for j in range(columns)})


def settled(columns, **budget):
    return METHODS["vine"].allowance(wide(columns), VineOptions(), Budget(**budget), UNIT)


@pytest.mark.parametrize("columns", [1, 2, 13, 40])
def test_the_vine_rests_on_squared_shifts_where_it_measures_all_pairs(columns):
    allowance, plan = settled(columns, epsilon=0.5, delta=1e-9)
    assert allowance.dither > 0 and not plan


def test_choices_little_noise_and_other_budgets_are_left_to_other_filters():
    for columns, budget in (
        (41, {"epsilon": 0.5, "delta": 1e-9}),
        (13, {"epsilon": 100.0, "delta": 1e-9}),
        (13, {"epsilon": 0.5, "delta": 0.0}),
        (13, {"rho": 0.01, "delta": 1e-9}),
    ):
        assert settled(columns, **budget)[0].dither == 0


def test_a_plan_comes_first():
    allowance, plan = METHODS["independent"].allowance(
        wide(5), METHODS["independent"].options(), Budget(epsilon=1.0, delta=1e-9), UNIT
    )
    assert plan and allowance.dither == 0
