"""Paying for facts, alone and as part of a fit: useful, within budget, resumable, and refused before spending."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sklar
import sklar.pipeline.fit.run as fit_module
from sklar.accounting.ledger import create_ledger, open_ledger, read_ledger
from sklar.errors import BudgetError, OverspendError, SchemaError, SourceError, UnconfirmedFactError, UsageError
from sklar.pipeline.fit.pay import pay

BOTH = {"lower": "pay", "upper": "pay"}
SCHEMA = sklar.Schema(
    {
        "id": sklar.Id(),
        "age": sklar.Integer(0, 1, source=BOTH),
        "weight": sklar.Real(0, 1, source=BOTH),
        "balance": sklar.Real(0, 1, source=BOTH),
        "since": sklar.Datetime("2000-01-01", "2000-01-02", source=BOTH),
        "city": sklar.Category(["?"], source="pay"),
        "sex": sklar.Category(["F", "M"]),
    }
)


def people(rows: int = 10_000) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "age": rng.integers(18, 91, rows),
            "weight": rng.uniform(45.5, 119.5, rows).round(1),
            "balance": rng.choice([-1.0, 1.0], rows) * rng.uniform(0, 950, rows),
            "since": pd.Timestamp("1990-03-01") + pd.to_timedelta(rng.integers(0, 9000, rows), unit="D"),
            "city": rng.choice(["rome", "oslo", "bern", "one-off"], rows, p=[0.5, 0.3, 0.1999, 0.0001]),
            "sex": rng.choice(["F", "M"], rows),
        }
    )


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for small tables, and quicker."""
    monkeypatch.setattr("sklar.rows.codes.label_counts.BUCKET_BYTES", 1 << 18)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    return path


RANGES = {"age": (18, 90), "weight": (45.5, 119.5), "balance": (-950, 950)}


def holds_all_values(facts: Any) -> bool:
    """No value is cut, and ranges are at most three times as long as they need be."""
    numbers = all(
        facts[name].lower <= low
        and high <= facts[name].upper <= 3 * high - 2 * low
        and facts[name].lower >= 3 * low - 2 * high
        for name, (low, high) in RANGES.items()
    )
    return numbers and "1970" < facts["since"].lower[:4] <= "1990" and "2014" <= facts["since"].upper[:4] < "2040"


def test_heavy_labels_are_found_and_bounds_hold_all_values(file: Path) -> None:
    """At epsilon 0.5 and 10,000 rows. One payment in fifty takes an empty cell beside for occupied; five never do."""
    facts: Any = None
    for _ in range(5):
        facts = pay(file, SCHEMA, epsilon=0.5).schema
        assert facts["city"].values == ("bern", "oslo", "rome") and facts["city"].nullable
        if holds_all_values(facts):
            break
    assert holds_all_values(facts)
    assert facts["sex"] == SCHEMA["sex"] and facts.names == SCHEMA.names
    ends = {f"{name}.{end}" for name in ("age", "weight", "balance", "since") for end in ("lower", "upper")}
    assert {f"{n}.{f}" for n, f in facts.facts_by_provenance("measured")} == {*ends, "city.values"}
    facts.require_confirmed()


def test_the_price_is_what_the_ledger_shows(file: Path) -> None:
    paid = pay(file, SCHEMA, epsilon=0.5, delta=1e-8)
    assert paid.epsilon == pytest.approx(0.5) and paid.delta == pytest.approx(1e-8)
    view = read_ledger(file.with_name("people.csv.ledger"))
    (fit,) = view.fits
    assert (
        fit.method == "facts"
        and fit.closed
        and [step.label for step in fit.steps] == ["bounds", "number of values", "labels"]
    )
    assert fit.spent == pytest.approx(fit.allowance.amount) and 0 < fit.spent_delta <= fit.allowance.delta
    assert (view.totals().epsilon, view.totals().delta) == (pytest.approx(0.5), pytest.approx(1e-8))


def test_a_measured_schema_is_fitted_without_paying_again(file: Path, tmp_path: Path) -> None:
    pay(file, SCHEMA, epsilon=0.5).schema.write(tmp_path / "paid.toml")
    model = sklar.fit(file, tmp_path / "paid.toml", method="independent", repair="clip", epsilon=1.0)
    assert "city.values" in model.claim.measured and model.claim.epsilon == pytest.approx(1.5)
    assert [fit.method for fit in read_ledger(f"{file}.ledger").fits] == ["facts", "independent"]


def test_a_fit_pays_first_and_claims_the_sum(file: Path, tmp_path: Path) -> None:
    model = sklar.fit(file, SCHEMA, method="independent", repair="clip", epsilon=2.0, delta=1e-8)
    view = read_ledger(f"{file}.ledger")
    assert [fit.method for fit in view.fits] == ["facts", "independent"] and all(fit.closed for fit in view.fits)
    assert view.fits[0].allowance.amount == pytest.approx(0.1 * (model.claim.rho or 0))
    assert (model.claim.epsilon, model.claim.delta) == (2.0, 1e-8)
    total = view.totals()
    assert total.epsilon == pytest.approx(2.0) and total.delta == pytest.approx(1e-8)
    assert "age (lower, upper)" in str(model.claim).split("Measured and paid for")[1]
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert again.schema == model.schema and len(again.inspect()["fit"]["paid"]["releases"]) == 3
    assert set(again.sample(200, seed=1)["city"].to_pylist()) <= {"rome", "oslo", "bern", "other", None}


def test_a_cap_of_exactly_the_budget_is_enough(file: Path, tmp_path: Path) -> None:
    book = tmp_path / "capped.ledger"
    create_ledger(book, "people", 1.0, 1e-9)
    sklar.fit(file, SCHEMA, method="independent", repair="clip", epsilon=1.0, ledger=book)
    with pytest.raises(OverspendError):
        pay(file, SCHEMA, epsilon=0.01, ledger=book)
    assert len(read_ledger(book).fits) == 2


def test_a_fit_cut_short_finds_the_same_facts_and_pays_nothing_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> sklar.Model:
        return sklar.fit(file, SCHEMA, method="independent", repair="clip", epsilon=1.0)

    seen: list[Any] = []

    def dying(**_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(fit_module, "Setting", dying)  # made once the facts are paid for and the fit is reserved
        run()
    before = open_ledger(f"{file}.ledger").fits
    assert [fit.closed for fit in before] == [False, False]
    model = run()
    seen = list(open_ledger(f"{file}.ledger").fits)
    assert [fit.id for fit in seen] == [fit.id for fit in before] and all(fit.closed for fit in seen)
    assert seen[0].steps == before[0].steps and not any(fit.repeated for fit in seen)
    assert model.claim.epsilon == 1.0


def test_pure_budgets_pay_for_bounds_only() -> None:
    frame = people()[["age", "sex"]]
    schema = sklar.Schema({"age": SCHEMA["age"], "sex": SCHEMA["sex"]})
    model = sklar.fit(frame, schema, method="independent", repair="clip", epsilon=1.0, delta=0.0)
    assert (model.claim.epsilon, model.claim.delta, model.claim.rho) == (1.0, 0.0, None)
    assert model.schema["age"].lower <= 19 and model.schema["age"].upper >= 85  # type: ignore[attr-defined]
    with pytest.raises(BudgetError, match="delta above 0"):
        sklar.fit(people(), SCHEMA, method="independent", epsilon=1.0, delta=0.0)


def test_refusals_come_before_spending(file: Path) -> None:
    ledger = file.with_name("people.csv.ledger")
    with pytest.raises(UsageError, match="no fact"):
        pay(file, sklar.Schema({"age": sklar.Integer(0, 9)}), epsilon=1.0)
    with pytest.raises(BudgetError, match="no default"):
        pay(file, SCHEMA)
    with pytest.raises(BudgetError, match="delta above 0"):
        pay(file, SCHEMA, epsilon=1.0, delta=0.0)
    with pytest.raises(SchemaError, match="order"):
        pay(file, sklar.Schema({"city": sklar.Ordinal(["a", "b"], source="pay")}), epsilon=1.0)
    assert not ledger.exists()
    for share in (0.0, 1.0, -1, float("nan"), "half", True):
        with pytest.raises(UsageError, match="pay_share"):
            sklar.fit(file, SCHEMA, epsilon=1.0, pay_share=share)  # type: ignore[arg-type]
    with pytest.raises(UnconfirmedFactError):
        sklar.fit(file, sklar.Schema({"age": sklar.Integer(0, 9, source="from-rows")}), epsilon=1.0)
    assert not ledger.exists()


def test_a_stream_that_can_be_read_once_is_refused_unspent() -> None:
    reader = pa.Table.from_pandas(people(100), preserve_index=False).to_reader()
    with pytest.raises(SourceError, match="only once"):
        sklar.fit(reader, SCHEMA, method="independent", epsilon=1.0)


def test_listed_facts_stay_only_if_somebody_vouches_for_them() -> None:
    frame = people()[["city", "age"]]
    schema = sklar.Schema(
        {"city": sklar.Category(["atlantis"], source="pay"), "age": sklar.Integer(30, 1000, source=BOTH)}
    )
    fresh: Any = pay(frame, schema, epsilon=1.0).schema
    kept: Any = pay(frame, schema, epsilon=1.0, keep_listed=True).schema
    assert fresh["city"].values == ("bern", "oslo", "rome") and fresh["age"].lower < 30
    assert kept["city"].values == ("atlantis", "bern", "oslo", "rome") and kept["age"].lower == 30


def test_listed_facts_that_are_kept_are_assumed_and_listed(file: Path, tmp_path: Path) -> None:
    """A label that one row has stays because it was stated: no claim may say that it was measured."""
    schema = SCHEMA.with_columns(
        {
            "city": sklar.Category(["one-off"], source={"values": "pay"}),
            "age": sklar.Integer(18, 10**6, source={"upper": "pay"}),
        }
    )
    paid = pay(file, schema, epsilon=0.5, keep_listed=True).schema
    stated = {"city.values": ("one-off",), "age.upper": (10**6,), "since.lower": ("2000-01-01",)}
    assert "one-off" in paid["city"].values and paid["city"].provenance("values") == "assumed"  # type: ignore[attr-defined]
    assert not paid.facts_by_provenance("measured") and stated.items() <= dict(paid.prices[0].kept).items()
    paid.write(tmp_path / "paid.toml")
    assert sklar.Schema.read(tmp_path / "paid.toml") == paid
    model = sklar.fit(file, paid, method="independent", repair="clip", epsilon=1.0)
    assert {"city.values", "age.upper"} <= set(model.claim.assumed) and not {
        fact for fact in model.claim.measured if not fact.endswith(".decimals")
    }
    assert "city.values (one-off)" in str(model.claim) and "age.upper (1000000)" in str(model.claim)
    model.save(tmp_path / "m.sklar")
    assert sklar.load(tmp_path / "m.sklar").claim == model.claim
    assert sklar.verify(tmp_path / "m.sklar", ledger=f"{file}.ledger").ok

    # Whoever calls them measured, or takes the list out of the price, is found out.
    called = paid.with_columns({"city": replace(paid["city"], source={"values": "measured"})})  # type: ignore[call-arg]
    assert called.unpriced == (("city", "values"),)
    silent = paid.with_prices([replace(paid.prices[0], kept=())])
    with pytest.raises(SchemaError, match="other kept facts"):
        sklar.fit(file, silent, method="independent", epsilon=1.0)


def test_a_payment_that_keeps_listed_facts_is_not_resumed_by_one_that_does_not(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = sklar.Schema({"city": sklar.Category(["atlantis"], source={"values": "pay"})})

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("cut short")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr("sklar.pipeline.fit.paid.add_price", fail)
        pay(file, schema, epsilon=0.5, keep_listed=True)
    fresh = pay(file, schema, epsilon=0.5)
    assert len(read_ledger(f"{file}.ledger").fits) == 2 and fresh.schema.prices[0].kept == ()


def test_labels_that_nobody_stated_are_not_kept() -> None:
    schema = sklar.Schema({"city": sklar.Category(source="pay")})
    paid: Any = pay(people()[["city"]], schema, epsilon=1.0, keep_listed=True).schema
    assert paid["city"].values == ("bern", "oslo", "rome") and paid["city"].provenance("values") == "measured"


def test_columns_of_noise_are_left_out_and_that_is_said() -> None:
    """A false alarm in this column has probability 3e-5; four in a row have none."""
    tries = [pay(people(20), SCHEMA, epsilon=0.01) for _ in range(4)]
    quiet = [paid for paid in tries if paid.schema["age"].kind == "ignore"]
    assert quiet and any(note.startswith("age: no number was above") for note in quiet[0].notes)
    assert all(paid.schema["city"].values == ("(nothing found)",) for paid in tries)  # type: ignore[attr-defined]


def test_a_column_that_a_rule_needs_keeps_the_public_range() -> None:
    ruled = SCHEMA.with_rules([sklar.rules.AtMost(low="age", high="weight")])
    tries = [pay(people(20), ruled, epsilon=0.01) for _ in range(4)]
    quiet = [paid for paid in tries if paid.schema["age"].provenance("upper") == "public"]
    assert quiet and quiet[0].schema["age"].upper == 10**15  # type: ignore[attr-defined]
    assert any(note.startswith("age: nothing was above") for note in quiet[0].notes)


def test_a_canary_does_not_get_out(file: Path, tmp_path: Path) -> None:
    frame = people()
    frame.loc[0, "city"] = "CANARY-5417"
    frame.loc[0, "age"] = 987_654_321
    frame.to_csv(file, index=False)
    model = sklar.fit(file, SCHEMA, method="independent", repair="clip", epsilon=3.0)
    model.save(tmp_path / "m.sklar")
    model.schema.write(tmp_path / "paid.toml")
    left = [path for path in tmp_path.iterdir() if path != file]
    assert len(left) >= 3
    for path in left:
        assert b"CANARY" not in path.read_bytes() and b"987654321" not in path.read_bytes()
    assert "CANARY" not in str(model.inspect()) and "987654321" not in str(model.inspect())


def test_what_a_draft_noted_does_not_leave_with_what_was_paid_for(tmp_path: Path) -> None:
    """Notes are read off rows without noise; a schema that still has some is for its owner only."""
    frame = pd.DataFrame({"pay": [7, 19, 55] * 200, "town": ["oslo", "rome", "bern", "bern"] * 150})
    drafted = sklar.draft_schema(frame)
    drafted.write(tmp_path / "d.toml")
    text = (tmp_path / "d.toml").read_text().split("[[rules]]")[0]
    assert "from the rows" in text and (tmp_path / "d.toml").stat().st_mode & 0o077 == 0
    marked = re.sub('^source = "from-rows"', 'source = { lower = "pay", upper = "pay" }', text, count=1, flags=re.M)
    marked = re.sub('^source = "from-rows"', 'source = { values = "pay" }', marked, count=1, flags=re.M)
    (tmp_path / "p.toml").write_text(marked)
    schema = sklar.Schema.read(tmp_path / "p.toml")
    assert schema.notes
    model = sklar.fit(frame, schema, method="independent", epsilon=20.0)
    model.schema.write(tmp_path / "out.toml")
    assert not model.schema.notes and "from the rows" not in (tmp_path / "out.toml").read_text()


@pytest.mark.slow
def test_a_target_is_named_by_the_bounds_that_were_paid_for() -> None:
    """What stands for a datetime follows from its bounds: the stated ones do not decide whether the fit runs."""
    days = pd.to_datetime("2015-03-01") + pd.to_timedelta(np.arange(4000) % 1500, unit="D")
    frame = pd.DataFrame({"when": days, "x": np.arange(4000) % 2 == 0})
    for upper in ("2015-04-01", "2016-06-01", "2021-12-31"):
        when = sklar.Datetime("2015-01-01", upper, source={"lower": "pay", "upper": "pay"})
        schema = sklar.Schema({"when": when, "x": sklar.Boolean()})
        model = sklar.fit(frame, schema, method="vine", epsilon=20.0, target="when")
        assert model.sample(5, seed=1).num_rows == 5


def test_values_that_are_to_be_paid_for_need_no_list(tmp_path: Path) -> None:
    schema = sklar.Schema({"city": sklar.Category(source="pay"), "x": sklar.Boolean()})
    schema.write(tmp_path / "s.toml")
    assert sklar.Schema.read(tmp_path / "s.toml") == schema
    assert schema["city"].provenance("values") == "pay" and schema["city"].provenance("kind") == "assumed"
    frame = pd.DataFrame({"city": ["oslo", "rome"] * 2000, "x": [True, True, False, False] * 1000})
    model = sklar.fit(frame, schema, method="independent", epsilon=20.0)
    assert set(model.sample(200, seed=1)["city"].to_pylist()) == {"oslo", "rome"}
    with pytest.raises(SchemaError, match=r'at least one label; .*source = \{ values = "pay" \}'):
        sklar.Schema({"city": sklar.Category()})
