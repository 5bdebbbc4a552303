"""Every DP method asks the same questions of neighbours, sees them differ by no more than it paid for, and adds up."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import Any

import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.methods.registry import METHODS
from tests.accounting.total_loss import total_loss
from tests.contracts.record_replay import Recording, compare, record
from tests.contracts.tables import mixed_odd_rows, mixed_people, mixed_schema, odd_rows, people, schema
from tests.tiers import BOTH_RELATIONS, first_per_method

CASES: list[tuple[str, dict[str, Any]]] = [
    ("independent", {}),
    ("independent", {"noise": "laplace"}),
    ("independent", {"delta": 0.0}),
    ("independent", {"repair": "clip", "rows_per_person": 3}),
    ("vine", {}),
    ("vine", {"epsilon": 40.0}),
    ("vine", {"epsilon": 40.0, "target": "sex"}),
    ("vine", {"epsilon": 40.0, "workload": ["sex * *"]}),
    ("vine", {"target": "smoker"}),
    ("vine", {"epsilon": 40.0, "target": "sex", "check_share": 0.1}),
    ("independent", {"check_share": 0.05}),
    ("independent", {"check_share": 0.2, "delta": 0.0}),
    ("vine", {"delta": 0.0, "epsilon": 30.0}),
    ("dpcopula-kendall", {}),
    ("independent", {"histogram": "structurefirst", "delta": 0.0}),
    ("dpcopula-kendall", {"margins": "efpa", "delta": 0.0, "rows_per_person": 2}),
    ("dpcopula-kendall", {"margins": "privelet", "noise": "laplace", "order": "random"}),
    ("dpcopula-kendall", {"published": True, "delta": 0.0}),
    ("dpcopula-kendall", {"margins": "noisefirst", "delta": 0.0, "sample": 100, "rows_per_person": 2}),
    ("dpcopula-kendall", {"margins": "structurefirst", "sample": 60}),
    ("dpcopula-mle", {"published": True, "epsilon": 900.0, "delta": 0.0, "k": 0.1, "block_rows": 20}),
    ("dpcopula-mle", {"estimate": "likelihood", "epsilon": 200.0, "k": 0.1, "block_rows": 20}),
    ("dpcopula-mle", {"epsilon": 80.0, "k": 0.1, "margins": "gaussian", "block_rows": 20}),
    ("dpcopula-mle", {"epsilon": 900.0, "delta": 0.0, "k": 0.1, "margins": "laplace", "block_rows": 20}),
    ("dpcopula-hybrid", {"bins": 8, "ranks": 3}),
    ("dpcopula-hybrid", {"published": True, "delta": 0.0, "small": 4}),  # with the paper's 10 four seconds a fit
    ("dpcopula-hybrid", {"small": 4, "ranks": 2}),
    ("dpc-gauss", {"bins": 4, "rounds": 0}),
    ("dpc-gauss", {"bins": 4, "rounds": 0, "most_values": 2}),
    ("dpc-gauss", {"bins": 4, "epsilon": 0.9, "published": True}),
    ("dpc-laplace", {"bins": 4, "published": True}),
    ("dpc-gauss", {"bins": 4, "rounds": 0, "accounting": "classic", "epsilon": 0.9}),
    ("dpc-laplace", {"bins": 4, "rounds": 0}),
    ("dpc-laplace", {"bins": 4, "rounds": 0, "delta": 0.0}),
]
REPLACE_ONLY = {"dpcopula-kendall"}
"""Methods that refuse add-remove neighbours, with the reason."""


def test_every_method_is_checked() -> None:
    assert {name for name, _ in CASES} == set(METHODS)


def neighbours(relation: str, people_rows: int = 1) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Pairs of tables that differ by the rows of one person: a random one, or one who is alone in every respect."""
    base, odd = people(250), odd_rows()
    crowd = [pd.concat([odd.iloc[[i]]] * people_rows) for i in range(len(odd))] + [people(people_rows, seed=9)]
    if relation == "add-remove":
        return [(base, pd.concat([base, extra], ignore_index=True)) for extra in crowd]
    short = base.iloc[people_rows:]
    return [(base, pd.concat([short, extra], ignore_index=True)) for extra in crowd]


def relation_of(method: str) -> str:
    """The relation under which the fast tier checks a method."""
    return "replace" if method in REPLACE_ONLY else "add-remove"


ALL = [(method, options, relation_of(method)) for method, options in CASES]
ALL += [(method, options, {"replace", "add-remove"}.difference({first}).pop()) for method, options, first in ALL]


@pytest.mark.parametrize(("method", "options", "relation"), first_per_method(ALL), ids=lambda x: str(x))
def test_record_and_replay(
    monkeypatch: pytest.MonkeyPatch, relation: str, method: str, options: dict[str, Any]
) -> None:
    settings = {"schema": schema(), "method": method, "epsilon": 1.0, "neighbours": relation, **options}
    pairs = neighbours(relation, int(options.get("rows_per_person", 1)))
    if relation == "add-remove" and method in REPLACE_ONLY:
        with pytest.raises(UsageError, match="replace"):
            record(monkeypatch, data=pairs[0][0], **settings)
        return
    first = record(monkeypatch, data=pairs[0][0], **settings)
    assert_charges_add_up(first, settings["epsilon"])
    # A vine fit takes a second; the extreme, the unlisted and the null person are the hard cases.
    for _, other in pairs if method == "independent" else pairs[:3]:
        again = record(monkeypatch, first, data=other, **settings)
        assert compare(first, again) == []


def assert_charges_add_up(seen: Recording, epsilon: float) -> None:
    """To the claim, and nothing much is left unspent: a fit that charged for less would waste the budget."""
    assert seen.model is not None
    claim = seen.model.claim
    events = [event for _, batch in seen.charges for event in batch]
    bound = total_loss(events, claim.delta or 0.0, planned=claim.accounting == "exact")
    assert claim.epsilon == epsilon
    assert bound.epsilon <= claim.epsilon * (1 + 1e-9)
    spent = fsum(event.epsilon if claim.delta == 0 else event.rho for event in events)
    given = claim.epsilon if claim.delta == 0 else claim.rho
    assert given is not None
    assert 0.3 * given < spent <= given * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [1.0, 40.0], ids=["few rows", "vine"])
def test_record_and_replay_with_a_public_prior(monkeypatch: pytest.MonkeyPatch, relation: str, epsilon: float) -> None:
    """What is asked may depend on the prior and on releases, never on the rows."""
    settings = {"schema": schema(), "method": "vine", "epsilon": epsilon, "neighbours": relation}
    (data, other), *_ = neighbours(relation)
    first = record(monkeypatch, data=data, prior=people(400, seed=5), **settings)
    again = record(monkeypatch, first, data=other, prior=people(400, seed=5), **settings)
    assert compare(first, again) == []


@pytest.mark.parametrize("relation", BOTH_RELATIONS)
@pytest.mark.parametrize("nulls", [(), ("n/a", "-9.0")], ids=str)
@pytest.mark.parametrize("method", ["independent", "vine", pytest.param("dpcopula-hybrid", marks=pytest.mark.slow)])
def test_record_and_replay_on_tables_of_mixed_types(
    monkeypatch: pytest.MonkeyPatch, relation: str, nulls: tuple[str, ...], method: str
) -> None:
    """One odd cell among Python objects leaves the cells of everybody else as they are."""
    settings: dict[str, Any] = {"schema": mixed_schema(), "method": method, "epsilon": 1.0, "neighbours": relation}
    settings |= {"read": sklar.ReadOptions(null_values=nulls), **({"ranks": 3} if method == "dpcopula-hybrid" else {})}
    base, odd = mixed_people(250), mixed_odd_rows()
    kept = base if relation == "add-remove" else base.iloc[1:]
    first = record(monkeypatch, data=base, **settings)
    for at in range(len(odd) if method == "independent" else 1):
        other = pd.concat([kept, odd.iloc[[at]]], ignore_index=True)
        assert compare(first, record(monkeypatch, first, data=other, **settings)) == []


def test_the_comparison_sees_a_table_that_moves_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    first = record(monkeypatch, data=people(200), schema=schema(), method="independent", epsilon=1.0)
    two_more = pd.concat([people(200), odd_rows().iloc[[0, 0]]], ignore_index=True)
    again = record(monkeypatch, first, data=two_more, schema=schema(), method="independent", epsilon=1.0)
    assert any("moved" in fault for fault in compare(first, again))


def test_the_comparison_sees_other_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    first = record(monkeypatch, data=people(200), schema=schema(), method="independent", epsilon=1.0)
    other = replace(first.looks[0], settings=(None,))
    assert compare(first, type(first)(looks=[other, *first.looks[1:]], requests=[], charges=first.charges)) != []
