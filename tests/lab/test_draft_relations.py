"""What a draft asks about columns that go together: planted relations are seen, and chance is not."""

from __future__ import annotations

import numpy as np
import pandas as pd

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


def test_planted_relations_are_asked_about_and_change_nothing() -> None:
    draft = sklar.draft_schema(planted())
    said = {name: " ".join(draft.notes[name]) for name in draft.names}
    assert 'low = "admitted", high = "left"' in said["left"]
    assert 'column = "state", of = "town", table = { "Graz" = "Styria"' in said["state"]
    assert "Exactly one of is_a, is_b, is_c is 1" in said["is_a"]
    assert "exactly the rows where weight is" in said["height"]
    assert 'columns = ["stage"], only_if = { "is_c" = [false] }' in said["stage"] and "only_if" not in said["height"]
    assert "It is net + tax in all rows seen" in said["gross"]
    assert "It is 0.05 times gross, rounded" in said["fee"] and "It is net + 2000" in said["bonus"]
    assert "0.6 to 0.95 times gross" in said["paid"] or "0.6 to 0.96 times gross" in said["paid"]
    assert "times" not in said["free"] + said["loan"] + said["tax"]
    assert draft.rules == ()
    assert 'low = "admitted", high = "left"' in draft.toml().replace("\n#  ", "")
    asked = {question.column: str(question) for question in draft.questions()}
    assert "It is net + tax" in asked["gross"]


def test_a_rule_that_was_asked_about_can_be_stated_as_it_stands() -> None:
    draft = sklar.draft_schema(planted())
    notes = [note for name in draft.names for note in draft.notes[name] if "[[rules]]" in note]
    assert len(notes) >= 5
    for note in notes:
        entry = "\n".join(_entries(note.split("[[rules]] with ")[1].rstrip(".")))
        assert len(schema_from_toml(f"{draft.toml()}\n[[rules]]\n{entry}\n").rules) == 1


def _entries(rule: str) -> list[str]:
    """The entries of a rule, one a line."""
    depth, lines = 0, [""]
    for char in rule:
        depth += (char in "{[") - (char in "}]")
        if char == "," and depth == 0:
            lines.append("")
        else:
            lines[-1] += char
    return [line.strip() for line in lines]


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
    said = " ".join(note for name in draft.names for note in draft.notes[name])
    unwanted = ("all rows seen", "exactly the rows", "filled only", "Exactly one of", "multiples of")
    assert not any(words in said for words in unwanted)


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


def test_each_rule_is_asked_about_once_and_nothing_that_follows_from_another():
    schema = sklar.draft_schema(orders())
    asked = [(column, line) for column, lines in schema.notes.items() for line in lines if "[[rules]]" in line]
    wanted = [
        ("zone", 'kind = "function", column = "zone", of = "country"'),
        ("shipped", 'kind = "at-most", low = "ordered", high = "shipped"'),
        ("paid", 'kind = "at-most", low = "shipped", high = "paid"'),
        ("card", 'kind = "one-hot", columns = ["card", "cash", "invoice"]'),
        ("total", 'kind = "sum", total = "total", parts = ["goods", "fee"]'),
        ("vat", 'kind = "sum", total = "vat", parts = { "goods" = 0.2 }'),
        ("refund", 'kind = "ratio", column = "refund", of = "goods", lower = 0.49, upper = 1'),
        ("agent", 'kind = "together", columns = ["reason", "refund", "agent"]'),
    ]
    for column, rule in wanted:
        assert sum(asked_about == column and rule in line for asked_about, line in asked) == 1, rule
    rest = [
        line for column, line in asked if not any((column, rule) for c, rule in wanted if c == column and rule in line)
    ]
    # What is left is about the refund, beside amounts that are not asked about among themselves.
    assert all('kind = "ratio"' in line and "refund" in line for line in rest) and len(rest) <= 3, rest
    assert schema["grams"].step == 50  # type: ignore[attr-defined]
