"""Persons with one vote: how far one moves a table, and that accounting charges as for one row a person."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import PlannedTables, calibrate, plan_noise
from sklar.accounting.composition.exact import exact_epsilon, find_pair
from sklar.accounting.composition.gaussian import analytic_gaussian_epsilon
from sklar.accounting.events import CountEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import VOTE_BITS, Neighbours, Unit, make_unit
from sklar.errors import BudgetError
from sklar.schema import Person

RELATIONS: list[Neighbours] = ["add-remove", "replace"]


def persons(cells: int = 3, most: int = 4) -> list[np.ndarray]:
    """What any person of up to so many rows adds to a table, in votes."""
    added = [np.zeros(cells)]
    for rows in range(1, most + 1):
        for places in product(range(cells), repeat=rows):
            added.append(np.bincount(places, minlength=cells) * ((1 << VOTE_BITS) // rows) / (1 << VOTE_BITS))
    return added


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_person_moves_a_table_by_more_than_the_unit_says(neighbours: Neighbours) -> None:
    unit, all_of_them = Unit(neighbours=neighbours, votes=True), persons()
    others = all_of_them if neighbours == "replace" else all_of_them[:1]
    moves = [one - other for one in all_of_them for other in others]
    assert max(np.abs(move).sum() for move in moves) == unit.l1
    assert max(np.linalg.norm(move) for move in moves) == pytest.approx(unit.l2, abs=1e-12)
    assert max(np.abs(move).max() for move in moves) == unit.largest


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_votes_cost_what_one_row_a_person_costs(neighbours: Neighbours) -> None:
    """At five rows a person: the same noise as with one, against five times as much."""
    votes, row, five = (Unit(neighbours=neighbours, **said) for said in ({"votes": True}, {}, {"rows_per_person": 5}))
    for measure in ("rho", "epsilon"):
        allowance = Allowance(measure=measure, amount=0.3)
        assert allowance.noise(votes, 7) == allowance.noise(row, 7)
        assert allowance.noise(five, 7).scale == pytest.approx(5 * allowance.noise(row, 7).scale)
    plan = [PlannedTables(label="t", tables=30, weight=1.0)]
    budget = Budget(epsilon=1.0, delta=1e-9)
    noises = [plan_noise(calibrate(budget, unit, plan), unit, plan)[0].scale for unit in (votes, row)]
    assert noises[0] == pytest.approx(noises[1], rel=0.01)


def test_tables_of_votes_are_one_gaussian() -> None:
    """On so fine a lattice the discrete noise is the continuous one, whatever cells a person's rows are in."""
    unit = Unit(neighbours="add-remove", votes=True)
    event = CountEvent(label="t", noise=Noise(kind="gaussian", scale=4.0), tables=9, unit=unit)
    pair = find_pair([event])
    assert pair.draws == ()
    assert exact_epsilon(pair, 1e-9) == pytest.approx(analytic_gaussian_epsilon(4.0 / 3, 1e-9), rel=1e-6)
    assert event.rho == pytest.approx(9 / (2 * 16.0))


def test_a_dither_is_in_parts_of_a_vote() -> None:
    allowance = Allowance(measure="rho", amount=0.5, dither=2.0)
    noises = [allowance.noise(Unit(neighbours="add-remove", votes=votes)).scale for votes in (False, True)]
    assert noises[0] == pytest.approx(math.hypot(noises[1], 2.0))


def test_records_speak_of_votes_only_where_there_are_any() -> None:
    assert Unit(neighbours="replace").to_dict() == {"neighbours": "replace", "rows_per_person": 1}
    for unit in (Unit(neighbours="replace", votes=True), Unit(neighbours="add-remove", rows_per_person=3)):
        assert Unit(**unit.to_dict()) == unit


@pytest.mark.parametrize("said", [{"rows_per_person": 2, "votes": True}, {"votes": 1}])
def test_what_is_no_vote_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(BudgetError):
        Unit(neighbours="replace", **said)


def test_whom_a_promise_protects_by_the_schema() -> None:
    assert make_unit(None, "replace", 3) == Unit(neighbours="replace", rows_per_person=3)
    assert make_unit(Person(key="id", rows=5), "replace") == Unit(neighbours="replace", votes=True, person="id")
    assert make_unit(Person(key="id", rows="pay"), "replace") == Unit(neighbours="replace", votes=True, person="id")
    assert make_unit(Person(key="id", rows=1), "replace") == Unit(neighbours="replace", person="id")
    counted = Person(key="id", rows=5, weights="rows")
    assert make_unit(counted, "add-remove") == Unit(neighbours="add-remove", rows_per_person=5, person="id")
    with pytest.raises(BudgetError, match="more or fewer rows"):
        make_unit(counted, "replace")
