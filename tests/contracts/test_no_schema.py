"""A fit without a schema keeps its promise: record and replay with odd cells as neighbours, and mutants that are
caught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import sklar
import sklar.rows.encode as encode_module
from sklar.accounting.budget import Budget
from sklar.accounting.composition.adaptive import adaptive_allowance
from sklar.accounting.composition.zcdp import rho_to_epsilon
from sklar.accounting.events import DiscoveryEvent
from sklar.errors import BudgetError
from sklar.rows.encode.classes import class_encoder
from tests.contracts.record_replay import compare, record
from tests.tiers import BOTH_RELATIONS, slow_unless

ROWS = 900


def people(rows: int = ROWS) -> pd.DataFrame:
    """Text cells as a file of a European export has them."""
    rng = np.random.default_rng(4)
    when = pd.Timestamp("2005-01-01") + pd.to_timedelta(rng.integers(0, 4000, rows), unit="D")
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows).astype(str),
            "income": [f"{x:.2f}".replace(".", ",") for x in rng.lognormal(8, 1, rows)],
            "since": when.strftime("%d.%m.%Y"),
            "city": rng.choice(["rome", "oslo", "bern"], rows, p=[0.6, 0.3, 0.1]),
            "smoker": rng.choice(["yes", "no"], rows),
        }
    )


ODD = pd.DataFrame(
    {
        "age": ["1e300", "not a number", "", "-99999999999"],
        "income": ["1,2,3", "12.5.6", "€ 1.000.000.000,5", "٣"],
        "since": ["31.12.9999", "00.00.0000", "1700-01-01T10:00:00Z", "x" * 1000],
        "city": ["a lone label", "\ufffd", "0", "NA"],
        "smoker": ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "2020-01-01", "12 kg", "\u202f"],
    }
)


def settings(relation: str, **options: Any) -> dict[str, Any]:
    given = {"schema": None, "method": "independent", "repair": "clip", "epsilon": 6.0, "neighbours": relation}
    return {**given, **options}


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for small tables, and quicker."""
    monkeypatch.setattr("sklar.rows.codes.label_counts.BUCKET_BYTES", 1 << 18)


@pytest.mark.parametrize("relation", BOTH_RELATIONS)
@pytest.mark.parametrize("shifts", slow_unless((False).__eq__, [False, True]))
def test_record_and_replay(monkeypatch: pytest.MonkeyPatch, relation: str, shifts: bool) -> None:
    base = people(5_000 if shifts else ROWS)
    kept = base if relation == "add-remove" else base.iloc[1:]
    options = {"epsilon": 0.8} if shifts else {}
    first = record(monkeypatch, data=base, **settings(relation, **options))
    assert first.model is not None and (first.model.claim.accounting == "gaussian") == shifts
    found = {name: column.kind for name, column in first.model.schema.items()}
    assert found == {"age": "integer", "income": "real", "since": "datetime", "city": "category", "smoker": "boolean"}
    assert any(isinstance(event, DiscoveryEvent) for _, events in first.charges for event in events)
    for at in range(len(ODD)):
        other = pd.concat([kept, ODD.iloc[[at]]], ignore_index=True)
        assert compare(first, record(monkeypatch, first, data=other, **settings(relation, **options))) == []


def test_the_charges_add_up_to_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = record(monkeypatch, data=people(), **settings("add-remove"))
    assert seen.model is not None
    claim, events = seen.model.claim, [event for _, batch in seen.charges for event in batch]
    rho = sum(event.rho for event in events)
    assert rho <= (claim.rho or 0) * (1 + 1e-9) and claim.epsilon == 6.0
    found = sum(event.delta for event in events if isinstance(event, DiscoveryEvent))
    assert 0 < found <= 0.25 * 1e-9
    # Recomposed by hand: zCDP at what is left of delta.
    delta = 1e-9 - 0.25e-9
    alphas = 1 + np.geomspace(1e-3, 1e4, 20_001)
    epsilon = np.min(
        alphas * rho + (np.log(1 / delta) + (alphas - 1) * np.log(1 - 1 / alphas) - np.log(alphas)) / (alphas - 1)
    )
    assert epsilon <= 6.0 * (1 + 1e-6)


def test_squared_shifts_and_deltas_add_up_to_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recomposed by hand: one Gaussian at what discoveries leave of delta."""
    seen = record(monkeypatch, data=people(5_000), **settings("replace", epsilon=0.8))
    assert seen.model is not None and seen.model.claim.accounting == "gaussian"
    events = [event for _, batch in seen.charges for event in batch]
    found = sum(event.delta for event in events if isinstance(event, DiscoveryEvent))
    assert 0 < found <= 0.25e-9
    # Two cells move by 1: a squared length of 2. Sums of squares of Gaussian noise less the dither of variance 4.
    squared = sum(2 * getattr(event, "tables", 1) / (event.noise.scale**2 - 4) for event in events)
    shift, epsilon = np.sqrt(squared), 0.8
    delta = norm.cdf(shift / 2 - epsilon / shift) - np.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)
    assert 0.5e-9 < delta <= 0.75e-9
    # By zCDP the same releases would cost more than was claimed.
    rho = sum(event.rho for event in events)
    assert rho_to_epsilon(rho, 0.75e-9) > 0.8


def test_everything_that_was_found_is_in_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = record(monkeypatch, data=people(), **settings("add-remove"))
    assert seen.model is not None
    claim, schema = seen.model.claim, seen.model.schema
    assert claim.assumed == ("rows_per_person",) and not claim.unpriced
    stated = {f"{name}.{fact}" for name, column in schema.items() for fact in column.facts if column.states(fact)}
    silent = {fact for fact in stated if fact.endswith((".calendar", ".missing_value"))}
    listed = {*claim.measured, *claim.public}
    assert stated - silent - {f"{n}.integer_labels" for n in schema} <= listed
    assert "the names, the order and the number of columns" in str(claim)


def test_a_class_that_looks_at_the_whole_column_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The classes of all cells change if any is a text: a type guessed from the column."""

    def guessing(column: Any, null_values: tuple[str, ...]) -> Any:
        honest = class_encoder(column, null_values)

        def encode(array: Any) -> Any:
            codes = honest(array)
            return (
                np.full_like(codes, codes.max()) if len(codes) and codes.max() >= len(encode_module.ENCODERS) else codes
            )

        return encode

    monkeypatch.setitem(encode_module.ENCODERS, "unknown", guessing)
    base = people()
    base["city"] = base["age"]  # numbers alone
    more = pd.concat([base, ODD.iloc[[0]]], ignore_index=True)
    first = record(monkeypatch, data=base, **settings("add-remove"))
    faults: list[str] = []
    try:
        faults = compare(first, record(monkeypatch, first, data=more, **settings("add-remove")))
    except Exception as diverged:
        faults = [str(diverged)]
    assert any("moved" in fault for fault in faults)


def test_too_few_rows_stop_with_nearly_all_of_the_budget_left(tmp_path: Any) -> None:
    people(300).to_csv(tmp_path / "few.csv", index=False)
    for _ in range(2):  # the second time the same answer is used again, at no cost
        with pytest.raises(BudgetError, match="too few to find out"):
            sklar.fit(tmp_path / "few.csv", epsilon=0.5)
    (fit,) = sklar.read_ledger(tmp_path / "few.csv.ledger").fits
    whole = adaptive_allowance(Budget(epsilon=0.5, delta=1e-9), 0.25e-9)
    assert whole is not None and fit.whole == whole and fit.method == "kinds"
    assert fit.allowance.amount == pytest.approx(0.04 * whole.amount) and fit.allowance.delta == 0


@pytest.mark.parametrize("bad", [{"delta": 0.0}, {"pay_share": 0.97}, {"method": "nothing"}, {"target": "absent"}])
def test_what_is_refused_is_refused_before_any_charge(tmp_path: Any, bad: dict[str, Any]) -> None:
    people(50).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(sklar.errors.SklarError):
        sklar.fit(tmp_path / "p.csv", **{"epsilon": 1.0, **bad})
    path = tmp_path / "p.csv.ledger"
    assert not path.exists() or not sklar.read_ledger(path).fits
