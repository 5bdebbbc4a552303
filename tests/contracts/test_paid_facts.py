"""Paying for facts keeps the promise: record and replay on worst-case neighbours, and mutants that must be caught."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
import sklar.private.door as door_module
import sklar.private.session as session_module
from sklar.accounting.events import DiscoveryEvent
from sklar.errors import OverspendError
from sklar.methods.facts import fit as facts_module
from sklar.pipeline.fit.run import fit
from sklar.rows.persons import labels as person_labels
from sklar.rows.persons import rows as person_rows
from sklar.rows.persons.keys import Secret
from tests.accounting.total_loss import total_loss
from tests.contracts.record_replay import Recording, compare, record
from tests.tiers import BOTH_RELATIONS

BOTH = {"lower": "pay", "upper": "pay"}


def schema(*, labels: bool = True) -> sklar.Schema:
    return sklar.Schema(
        {
            "age": sklar.Integer(0, 1, source=BOTH, nullable=True),
            "income": sklar.Real(0, 1, source={"upper": "pay"}),
            "since": sklar.Datetime("2000-01-01", "2000-01-02", source=BOTH),
            "city": sklar.Category(["?"], source="pay" if labels else "assumed"),
            "level": sklar.Ordinal([0], source={"values": "pay"} if labels else {}),
        }
    )


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": pd.array(rng.integers(18, 90, rows), dtype="Int64"),
            "income": np.exp(rng.normal(10, 1, rows)),
            "since": pd.Timestamp("2005-01-01") + pd.to_timedelta(rng.integers(0, 4000, rows), unit="D"),
            "city": rng.choice(["rome", "oslo", "bern"], rows, p=[0.6, 0.3, 0.1]),
            "level": rng.integers(1, 4, rows),
        }
    )


def odd_rows() -> pd.DataFrame:
    """New extremes, lone labels, all null, over-long texts."""
    return pd.DataFrame(
        {
            "age": pd.array([10**12, -(10**15), None, 90], dtype="Int64"),
            "income": [1e300, -np.inf, np.nan, 0.0],
            "since": pd.to_datetime(["1700-01-01", "2199-12-31", None, "2004-12-31"]),
            "city": ["a lone label", "another", None, "x" * 1000],
            "level": [77, -5, 0, 10**15],
        }
    )


CASES = [{"rows_per_person": 1}, {"rows_per_person": 3}, {"epsilon": 40.0}, {"rho": 0.05, "epsilon": None}]


def settings(relation: str = "add-remove", **options: Any) -> dict[str, Any]:
    given = {"schema": schema(), "method": "independent", "repair": "clip", "epsilon": 5.0, "neighbours": relation}
    return {**given, **options}


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for small tables, and quicker."""
    monkeypatch.setattr("sklar.rows.codes.label_counts.BUCKET_BYTES", 1 << 18)


@pytest.mark.parametrize("relation", BOTH_RELATIONS)
@pytest.mark.parametrize("options", CASES, ids=str)
def test_record_and_replay(monkeypatch: pytest.MonkeyPatch, relation: str, options: dict[str, Any]) -> None:
    k = int(options.get("rows_per_person", 1))
    base, odd = people(), odd_rows()
    kept = base if relation == "add-remove" else base.iloc[k:]
    first = record(monkeypatch, data=base, **settings(relation, **options))
    for extra in [odd.iloc[[0]], odd.iloc[[2]], odd.iloc[[3]], *([odd.iloc[:3]] if k == 3 else [odd.iloc[[1]]])]:
        more = pd.concat([extra] * (k // len(extra)), ignore_index=True)
        other = pd.concat([kept, more], ignore_index=True)
        again = record(monkeypatch, first, data=other, **settings(relation, **options))
        assert compare(first, again) == []


def crowd() -> pd.DataFrame:
    """Persons of up to four rows each."""
    return people().assign(id=np.random.default_rng(6).integers(0, 300, 600).astype(str))


@pytest.fixture
def one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which row of a person counts depends on the secret of a fit: neighbours are compared under the same one."""
    monkeypatch.setattr(person_rows, "Secret", lambda: Secret(words=(1, 2, 3, 4, 5)))


@pytest.mark.usefixtures("one_secret")
@pytest.mark.parametrize(
    ("relation", "person"),
    [
        ("add-remove", {"rows": 3}),
        pytest.param("replace", {"rows": "pay"}, marks=pytest.mark.slow),
        pytest.param("add-remove", {"rows": 2, "weights": "rows"}, marks=pytest.mark.slow),
        pytest.param("add-remove", {"rows": 3, "order": "age", "linked": True}, marks=pytest.mark.slow),
    ],
)
def test_record_and_replay_by_whole_persons(
    monkeypatch: pytest.MonkeyPatch, relation: str, person: dict[str, Any]
) -> None:
    facts = schema().with_person(sklar.Person(key="id", **person))
    method = "vine" if person.get("linked") else "independent"
    asked = {"schema": facts, "method": method, "epsilon": 5.0, "neighbours": relation}
    base = crowd()
    kept = base if relation == "add-remove" else base[base["id"] != "5"]
    first = record(monkeypatch, data=base, **asked)
    assert any(isinstance(event, DiscoveryEvent) for _, events in first.charges for event in events)
    for key, others in (("x", kept), (None, base)):  # rows without a key belong to nobody: they replace no one
        own = pd.concat([odd_rows()] * 5, ignore_index=True).assign(id=key)
        again = record(monkeypatch, first, data=pd.concat([own[::2], others, own[1::2]], ignore_index=True), **asked)
        assert compare(first, again) == []


@pytest.mark.usefixtures("one_secret")
def test_persons_who_name_a_label_for_each_row_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = schema().with_person(sklar.Person(key="id", rows=3))
    asked = {"schema": facts, "method": "independent", "epsilon": 5.0, "neighbours": "add-remove"}
    right = person_labels.RowChoice
    monkeypatch.setattr(person_labels, "RowChoice", lambda **said: right(**{**said, "bound": 100}))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    base = crowd()
    first = record(monkeypatch, data=base, **asked)
    own = people(60).assign(id="x")
    again = record(monkeypatch, first, data=pd.concat([base, own], ignore_index=True), **asked)
    assert any("moved too far" in fault for fault in compare(first, again))


@pytest.mark.parametrize(
    "options", [*CASES, {"pay_share": 0.5}, {"delta": 0.0, "schema": schema(labels=False)}], ids=str
)
def test_the_charges_add_up_to_the_claim(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    seen = record(monkeypatch, data=people(), **settings(**options))
    assert seen.model is not None
    claim = seen.model.claim
    events = [event for _, batch in seen.charges for event in batch]
    bound = total_loss(events, claim.delta or 0.0, planned=False)
    assert claim.epsilon is not None and bound.epsilon <= claim.epsilon * (1 + 1e-9)
    assert claim.delta == options.get("delta", 1e-9)
    spent = fsum(event.epsilon if claim.delta == 0 else event.rho for event in events)
    given = claim.epsilon if claim.delta == 0 else claim.rho
    assert given is not None and 0.3 * given < spent <= given * (1 + 1e-9)
    # With a tiny budget nothing may stand out, and a bound is then public; it is never the stated one.
    assert "age.lower" in (*claim.measured, *claim.public) and "age.lower" not in claim.assumed


def test_the_claim_of_a_rho_budget_holds_at_its_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = record(monkeypatch, data=people(), **settings(rho=0.05, epsilon=None))
    assert seen.model is not None and seen.model.claim.rho == pytest.approx(0.05)


def caught(monkeypatch: pytest.MonkeyPatch, rows: int = 600) -> list[str]:
    base = people(rows)
    more = pd.concat([base, odd_rows().iloc[[0]]], ignore_index=True)
    first = record(monkeypatch, data=base, **settings())
    return compare(first, record(monkeypatch, first, data=more, **settings()))


def test_without_a_mutant_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert caught(monkeypatch) == []


def test_a_threshold_without_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold is set as if any delta would do: the charge is refused, and nothing is read."""
    monkeypatch.setattr(facts_module, "discovery_settings", lambda noise, unit, delta: (20, 2))
    monkeypatch.setattr(door_module, "exact_label_counts", lambda *_: pytest.fail("rows were read"))
    with pytest.raises(OverspendError):
        fit(people(), schema(), method="independent", epsilon=5.0)


def test_a_lower_threshold_than_was_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    real = door_module.add_noise_to_labels

    def lax(requests: Any, exact: Any, source: Any) -> Any:
        return real([replace(request, threshold=2) for request in requests], exact, source)

    monkeypatch.setattr(door_module, "add_noise_to_labels", lax)
    assert any("below the threshold" in fault for fault in caught(monkeypatch, rows=100))


def test_labels_below_the_threshold_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    real = door_module.add_noise_to_labels

    def leaky(requests: Any, exact: Any, source: Any) -> Any:
        found = real(requests, exact, source)
        listed = [exact[one.discovery.column] for one in found]
        return tuple(
            replace(one, labels=tuple(labels), counts=np.array(list(labels.values())))
            for one, labels in zip(found, listed, strict=True)
        )

    monkeypatch.setattr(door_module, "add_noise_to_labels", leaky)
    assert any("below the threshold" in fault for fault in caught(monkeypatch, rows=150))


def test_the_floor_is_forgotten_in_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare labels are dropped by a higher floor than was charged for."""
    real = door_module.exact_label_counts
    monkeypatch.setattr(
        door_module, "exact_label_counts", lambda rows, floors, known: real(rows, dict.fromkeys(floors, 50), known)
    )
    base = people(600)
    place = int((base["city"] == "bern").sum())
    assert place > 50
    base = base.drop(base.index[base["city"] == "bern"][: place - 49]).reset_index(drop=True)
    first = record(monkeypatch, data=base, **settings())
    more = pd.concat([base, base[base["city"] == "bern"].iloc[[0]]], ignore_index=True)
    again = record(monkeypatch, first, data=more, **settings())
    assert any("only one neighbour lists" in fault for fault in compare(first, again))


def test_bounds_from_the_exact_extremes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search range is taken from the smallest and largest value of the rows."""
    real = facts_module.search_cells
    extremes: list[tuple[int, int]] = []

    def tight(column: Any, **options: Any) -> Any:
        if isinstance(column, sklar.Integer) and extremes:
            column = replace(column, lower=extremes[-1][0], upper=extremes[-1][1])
            return real(column, keep_listed=True)
        return real(column, **options)

    def noted(arguments: dict[str, Any]) -> dict[str, Any]:
        ages = arguments["data"]["age"].dropna()
        extremes.append((int(ages.min()), int(ages.max())))
        return arguments

    monkeypatch.setattr(facts_module, "search_cells", tight)
    base = people()
    more = pd.concat([base, odd_rows().iloc[[0]]], ignore_index=True)
    first = record(monkeypatch, **noted({"data": base, **settings()}))
    try:
        faults = compare(first, record(monkeypatch, first, **noted({"data": more, **settings()})))
    except Exception as diverged:
        faults = [str(diverged)]
    assert any("different questions" in fault for fault in faults)


def test_common_words_without_rows_get_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word of the public list is left out where no row has it: the first person who has it is seen."""
    real = door_module.exact_label_counts
    monkeypatch.setattr(
        door_module,
        "exact_label_counts",
        lambda rows, floors, known: {
            name: {label: count for label, count in counts.items() if count}
            for name, counts in real(rows, floors, known).items()
        },
    )
    assert any("a listed label was not counted" in fault for fault in caught(monkeypatch))


def test_a_row_with_many_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is cut into words, each a label: one person moves many counts."""
    real = door_module.exact_label_counts

    def words(rows: Any, floors: dict[str, int], known: Any) -> Any:
        found = real(rows, dict.fromkeys(floors, 1), known)
        split: dict[str, int] = {}
        for label, count in found["city"].items():
            for word in label.split():
                split[word] = split.get(word, 0) + count
        return {**found, "city": split}

    monkeypatch.setattr(door_module, "exact_label_counts", words)
    base = people(200)
    more = pd.concat([base, odd_rows().iloc[[0]]], ignore_index=True)  # three words
    first = record(monkeypatch, data=base, **settings())
    faults = compare(first, record(monkeypatch, first, data=more, **settings()))
    assert any("more labels than rows" in fault for fault in faults)


def test_rows_are_opened_by_a_schema_that_holds_no_marked_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    real = session_module.open_rows
    monkeypatch.setattr(session_module, "open_rows", lambda data, s, r: (seen.append(s), real(data, s, r))[1])
    fit(people(), schema(), method="independent", repair="clip", epsilon=5.0)
    assert "?" not in str(seen[0]["city"].values) and seen[0]["age"].upper == 10**15


def test_discoveries_were_really_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that none of the tests above passes for want of a discovery."""
    seen: Recording = record(monkeypatch, data=people(), **settings())
    found = [event for _, batch in seen.charges for event in batch if isinstance(event, DiscoveryEvent)]
    assert len(found) == 2 and all(event.delta > 0 for event in found)
    assert seen.model is not None and set(seen.model.schema["level"].values) >= {1, 2, 3}  # type: ignore[attr-defined]
    assert seen.model is not None and set(seen.model.schema["city"].values) >= {"rome", "oslo"}  # type: ignore[attr-defined]
