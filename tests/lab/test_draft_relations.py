"""What a draft asks about columns that go together: planted relations are seen, and chance is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.schema.table import schema_from_toml


def planted(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    start = rng.integers(0, 2_000, rows)
    town = rng.choice(["Graz", "Linz", "Wels"], rows)
    kind = rng.integers(0, 3, rows)
    gone = rng.random(rows) < 0.1
    net, tax = rng.integers(10, 900, rows), rng.integers(1, 400, rows)
    return pd.DataFrame(
        {
            "admitted": pd.Timestamp("2015-01-01") + pd.to_timedelta(start, "D"),
            "left": pd.Timestamp("2015-01-01") + pd.to_timedelta(start + rng.geometric(0.002, rows), "D"),
            "town": town,
            "state": np.where(town == "Graz", "Styria", "Upper Austria"),
            "is_a": kind == 0,
            "is_b": kind == 1,
            "is_c": kind == 2,
            "weight": np.where(gone, np.nan, rng.normal(70, 9, rows).round(1)),
            "height": np.where(gone, np.nan, rng.normal(170, 9, rows).round(1)),
            "stage": np.where((kind == 2) | (rng.random(rows) < 0.05), None, rng.choice(["early", "late"], rows)),
            "net": net,
            "tax": tax,
            "gross": net + tax,
            "fee": (0.05 * (net + tax)).round(2),
            "bonus": net + 2_000,
            "paid": ((net + tax) * rng.uniform(0.6, 0.95, rows)).round(2),
            "loan": rng.integers(10, 400, rows) * 100,
            "price": rng.integers(10, 4_000, rows) * 5.0,
            "free": rng.integers(0, 5_000, rows),
        }
    )


PROPOSED = (
    "admitted is at most left",
    "state is a function of town",
    "exactly one of is_a, is_b, is_c is set",
    "weight, height are missing together",
    "stage is filled only if is_c is false",
    "gross is the sum of net, tax",
    "fee is 0.05 gross",
    "bonus is net + 2000",
)


def test_planted_relations_are_proposed_as_questions_and_hold_nothing_yet() -> None:
    draft = sklar.draft_schema(planted())
    said = [rule.describe() for rule in draft.rules]
    assert set(PROPOSED) <= set(said)
    assert any(one.startswith("paid is 0.6 to 0.9") and one.endswith("times gross") for one in said)
    assert not [one for one in said if one.split()[0] in ("free", "loan", "tax")]
    assert {rule.source for rule in draft.rules} == {"from-rows"}
    asked = {question.says: question for question in draft.questions()}
    assert set(said) <= set(asked) and not asked[PROPOSED[0]].payable
    with pytest.raises(sklar.errors.SklarError, match="confirmed"):
        draft.require_confirmed()
    assert schema_from_toml(draft.toml()) == draft


def test_yes_adds_a_proposal_and_no_drops_it() -> None:
    draft = sklar.draft_schema(planted())
    wanted = {rule.describe(): f"rule {at}" for at, rule in enumerate(draft.rules, 1)}
    kept = draft.confirm(wanted["gross is the sum of net, tax"], by="Ada")
    assert [rule.describe() for rule in kept.rules if rule.source == "assumed"] == ["gross is the sum of net, tax"]
    fewer = kept.confirm(wanted["bonus is net + 2000"], kind="ignore", by="Ada")
    assert len(fewer.rules) == len(draft.rules) - 1 and "bonus" not in str(fewer.rules)


def test_an_answer_about_a_column_drops_proposals_that_it_makes_impossible() -> None:
    draft = sklar.draft_schema(planted())
    without = draft.confirm("tax", kind="ignore")
    assert not [rule for rule in without.rules if "tax" in rule.columns]
    paid = draft.confirm("state", pay=True)
    assert "state is a function of town" not in [rule.describe() for rule in paid.rules]
    sure = draft.confirm("rule 1")
    with pytest.raises(sklar.errors.SklarError):
        sure.confirm(sure.rules[0].columns[0], kind="ignore")  # what was confirmed is not dropped in silence


def test_steps_are_drafted_and_marked() -> None:
    draft = sklar.draft_schema(planted())
    loan, price = draft["loan"], draft["price"]
    assert isinstance(loan, sklar.Integer) and loan.step == 100 and loan.provenance("step") == "from-rows"
    assert price.step == 5 and "multiples of 100" in " ".join(draft.notes["loan"])  # type: ignore[attr-defined]
    assert draft["free"].step is None and draft["net"].step is None  # type: ignore[attr-defined]


def test_chance_is_not_asked_about() -> None:
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {
            "a": rng.integers(0, 100, 500),
            "b": rng.integers(0, 100, 500),
            "far": rng.integers(1_000, 2_000, 500),
            "c": rng.choice(["x", "y", "z"], 500),
            "d": rng.choice(["u", "v"], 500),
            "e": np.where(rng.random(500) < 0.1, np.nan, rng.random(500).round(3)),
            "f": np.where(rng.random(500) < 0.1, np.nan, rng.random(500).round(3)),
            "p": rng.random(500) < 0.5,
            "q": rng.random(500) < 0.5,
            "r": rng.random(500) < 0.5,
        }
    )
    draft = sklar.draft_schema(data)
    assert draft.rules == () and "multiples of" not in draft.todo


def test_the_start_of_a_stay_is_seen_to_precede_its_end_though_few_starts_at_random_would_not() -> None:
    rng = np.random.default_rng(6)
    start, long = rng.integers(0, 3_000, 4_000), rng.random(4_000) < 0.97
    end = np.where(long, 5_000, start + rng.integers(1, 300, 4_000))
    day = pd.Timestamp("1995-01-01")
    draft = sklar.draft_schema(
        pd.DataFrame({"came": day + pd.to_timedelta(start, "D"), "seen": day + pd.to_timedelta(end, "D")})
    )
    assert [rule.describe() for rule in draft.rules] == ["came is at most seen"]


def test_an_order_that_follows_only_where_a_third_date_is_known_is_proposed_too() -> None:
    rng = np.random.default_rng(2)
    came = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3_000, 800), "D")
    again = came + pd.to_timedelta(rng.integers(1, 900, 800), "D")
    seen = again + pd.to_timedelta(rng.integers(0, 900, 800), "D")
    frame = pd.DataFrame({"came": came, "again": again, "seen": seen})

    def orders() -> list[str]:
        return [question.says for question in sklar.draft_schema(frame).questions() if "at most" in question.says]

    assert orders() == ["came is at most again", "again is at most seen"]
    frame["again"] = frame["again"].where(rng.random(800) < 0.5)
    assert orders() == ["came is at most again", "came is at most seen", "again is at most seen"]


def test_numbers_that_follow_from_another_and_dummies_with_gaps_are_proposed() -> None:
    rng = np.random.default_rng(7)
    month, kind, gap = rng.integers(1, 13, 500), rng.integers(0, 3, 500), rng.random(500) < 0.1
    dummies = {name: np.where(gap, np.nan, kind == at) for at, name in enumerate(("red", "green", "blue"))}
    draft = sklar.draft_schema(pd.DataFrame({"month": month, "quarter": (month + 2) // 3, **dummies}))
    assert {draft[name].kind for name in dummies} == {"boolean"}
    said = [rule.describe() for rule in draft.rules]
    assert said == ["exactly one of red, green, blue is set", "quarter is a function of month"]


def orders(rows: int = 3_000) -> pd.DataFrame:
    """Orders of a shop: sums, multiples, labels that follow from others, gaps in common, and columns without a tie."""
    rng = np.random.default_rng(1)
    country, pays, back = rng.choice(["AT", "DE", "FR", "IT"], rows), rng.choice(3, rows), rng.random(rows) < 0.2
    goods = (rng.choice([4.99, 9.99, 19.95, 49.0], rows) * rng.integers(1, 9, rows)).round(2)
    fee, ordered = rng.choice([0, 2.5, 5.0], rows), pd.Timestamp("2022-01-01")
    ordered = ordered + pd.to_timedelta(rng.integers(0, 700, rows), unit="D")
    shipped = ordered + pd.to_timedelta(rng.integers(0, 12, rows), unit="D")
    return pd.DataFrame(
        {
            "country": country,
            "zone": np.where(np.isin(country, ["AT", "DE"]), "dach", "south"),
            "ordered": ordered,
            "shipped": shipped,
            "paid": shipped + pd.to_timedelta(rng.integers(0, 30, rows), unit="D"),
            **{name: (pays == at).astype(int) for at, name in enumerate(("card", "cash", "invoice"))},
            "goods": goods,
            "fee": fee,
            "total": (goods + fee).round(2),
            "reason": pd.Series(rng.choice(["late", "broken"], rows)).where(back),
            "vat": (goods * 0.2).round(2),
            "refund": pd.Series((goods * rng.choice([0.5, 1.0], rows)).round(2)).where(back),
            "agent": pd.Series(rng.choice(["x", "y"], rows)).where(back),
            "grams": rng.integers(1, 200, rows) * 50,
            "age": rng.integers(18, 90, rows),
        }
    )


def test_each_rule_is_proposed_once_and_nothing_that_follows_from_another():
    schema = sklar.draft_schema(orders())
    said = [rule.describe() for rule in schema.rules]
    wanted = {
        "zone is a function of country",
        "ordered is at most shipped",
        "shipped is at most paid",
        "exactly one of card, cash, invoice is set",
        "total is the sum of goods, fee",
        "vat is 0.2 goods",
        "refund is 0.49 to 1 times goods",
        "reason, refund, agent are missing together",
    }
    assert wanted <= set(said) and len(set(said)) == len(said)
    # What is left is about the refund, beside amounts that are not compared among themselves.
    rest = set(said) - wanted
    assert all("refund" in one and "times" in one for one in rest) and len(rest) <= 3, rest
    assert schema["grams"].step == 50  # type: ignore[attr-defined]


def patients(path: Path, rows: int = 3_000) -> pd.DataFrame:
    """A German export: Windows-1252, semicolons, decimal commas, dates with dots, a word for missing values."""
    rng = np.random.default_rng(8)
    came, dead = rng.integers(0, 3_000, rows), rng.random(rows) < 0.3
    seen = np.where(dead, came + rng.integers(0, 2_000, rows), 5_100)
    cause = np.where(dead, rng.choice(["Kreislauf", "Krebs", "Übriges"], rows), "")
    level = np.round(rng.lognormal(0, 0.4, rows), 1)
    day = pd.Timestamp("1995-01-01")
    frame = pd.DataFrame(
        {
            "Aufnahme": (day + pd.to_timedelta(came, "D")).strftime("%d.%m.%Y"),
            "Kreatinin": [("k.A." if gap else f"{x:.1f}".replace(".", ",")) for x, gap in
                          zip(level, rng.random(rows) < 0.1, strict=True)],
            "Geschlecht": rng.choice(["männlich", "weiblich"], rows),
            "verstorben": np.where(dead, "ja", "nein"),
            "gesehen bis": (day + pd.to_timedelta(seen, "D")).strftime("%d.%m.%Y"),
            "Todesursache": cause,
        }
    )  # fmt: skip
    frame.to_csv(path, sep=";", index=False, encoding="cp1252")
    return frame


def test_a_german_export_is_drafted_with_its_numbers_and_rules(tmp_path: Path) -> None:
    patients(tmp_path / "patienten.csv")
    draft = sklar.draft_schema(tmp_path / "patienten.csv")
    level = draft["Kreatinin"]
    assert isinstance(level, sklar.Real) and level.format == "1.234,56" and level.nullable and level.upper < 10
    assert draft["Geschlecht"].values == ("männlich", "weiblich")  # type: ignore[attr-defined]
    assert [question.says for question in draft.questions() if question.column not in draft] == [
        "Todesursache is filled only if verstorben is ja",
        "Todesursache is filled in every row where verstorben is ja",
        "Aufnahme is at most gesehen bis",
    ]


@pytest.mark.slow
def test_an_accepted_draft_of_a_german_export_leaves_no_broken_rows(tmp_path: Path) -> None:
    patients(tmp_path / "patienten.csv")
    draft = sklar.draft_schema(tmp_path / "patienten.csv")
    sure = draft.confirm(*(question.column for question in draft.questions()), by="Ada")
    rows: pd.DataFrame = sklar.fit(tmp_path / "patienten.csv", sure, epsilon=1.0).sample(3_000, seed=1, to="pandas")
    came, seen = (pd.to_datetime(rows[name], format="%d.%m.%Y") for name in ("Aufnahme", "gesehen bis"))
    assert (came <= seen).all()
    assert rows["Todesursache"].isna().equals(rows["verstorben"] == "nein")
    assert rows["Kreatinin"].notna().mean() > 0.8
