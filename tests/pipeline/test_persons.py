"""A fit of persons with many rows, end to end: claim, samples in proportion, files, resuming, paying, bad input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import sklar
from sklar.accounting.ledger import read_ledger
from sklar.accounting.unit import Unit
from sklar.cli.main import app
from sklar.private.recorder import Recorder

FIRST_KEY = 7_340_001_928_374_001  # so long that no noisy number holds one by chance
"""Keys are long numbers that nothing else can be."""


def schema(**facts: Any) -> sklar.Schema:
    columns = {"id": sklar.Id(), "year": sklar.Integer(2000, 2011), "ill": sklar.Boolean()}
    said = {"key": "id", "rows": 4, "order": "year", "linked": False, **facts}
    return sklar.Schema(columns, person=sklar.Person(**said))


def visits(persons: int = 2_000, most: int = 10, seed: int = 1) -> pa.Table:
    """Persons of 1 to `most` rows; those with many rows are ill."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, most + 1, persons)
    of = np.repeat(np.arange(persons), rows)
    year = np.concatenate([2000 + np.arange(m) for m in rows])
    table = {"id": of + FIRST_KEY, "year": year, "ill": np.repeat(rows > 2, rows)}
    mixed = rng.permutation(len(of))
    return pa.table({name: values[mixed] for name, values in table.items()})


def test_samples_are_rows_in_proportion() -> None:
    """Of rows that are used most are of persons with four of them; of votes they are not."""
    model = sklar.fit(visits(), schema(), method="vine", epsilon=200.0, delta=1e-9)
    used = visits().filter(pa.compute.less(visits()["year"], 2004))
    # A share of 0.87 of about 7,000 rows: noise of the fit and of 7,000 drawn rows are each below 0.005.
    share = np.mean(model.sample(seed=3)["ill"].to_numpy(zero_copy_only=False))
    real = np.mean(used["ill"].to_numpy(zero_copy_only=False))
    assert abs(share - real) < 0.04
    assert abs(model.rows_estimate / used.num_rows - 1) < 0.05
    votes = model.estimate("share", "ill", value=True)
    assert abs(votes.value - 0.8) < 0.04  # eight persons of ten have more than two rows
    assert votes.how.endswith("each person counts once, as the mean of its rows")
    given = model.sample(2_000, given={"year": 2003}, seed=4)["ill"].to_numpy(zero_copy_only=False)
    assert np.mean(given) > 0.95  # nobody with one or two rows has a fourth


@pytest.mark.slow
def test_rows_that_follow_one_another_need_no_column_that_never_changes() -> None:
    model = sklar.fit(visits(300), schema(linked=None), epsilon=20.0)
    assert model.sample(500, seed=1).num_rows == 500


def test_the_claim_is_for_persons_and_says_what_was_left_out() -> None:
    claim = sklar.fit(visits(200), schema(), method="independent", epsilon=1.0).claim
    assert "adding or removing any one person, with any number of rows (the number of persons " in str(claim)
    assert "at most 4 rows, the first by 'year', were used and share one vote in every table of counts" in str(claim)
    assert ": rows beyond that were left out" in str(claim)
    assert "no person has more than" not in str(claim)
    assert claim.to_dict()["person"] == {"key": "id", "rows": 4, "order": "year", "votes": True}
    plain = sklar.fit(visits(200), schema().with_person(None), method="independent", epsilon=1.0).claim
    assert "person" not in plain.to_dict()
    assert "that no person has more than 1 row in the table" in str(plain)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fit from two files that share persons, with all that may leave."""
    place = tmp_path_factory.mktemp("released")
    (place / "visits").mkdir()
    rows = visits(300)
    pa.csv.write_csv(rows[:700], place / "visits" / "a.csv")
    pa.csv.write_csv(rows[700:], place / "visits" / "b.csv")
    schema().write(place / "s.toml")
    with pytest.warns(sklar.errors.SklarWarning, match="new ledger"):
        model = sklar.fit(place / "visits", place / "s.toml", epsilon=2.0)
    model.save(place / "m.sklar")
    model.report(place / "report.html")
    model.write_rows(place / "synthetic.csv", 500, seed=1)
    sklar.bundle(place / "m.sklar", place / "release.zip", rows=200, seed=1, ledger=place / "visits.ledger")
    return place


def test_a_model_of_persons_is_verified_from_its_releases(released: Path) -> None:
    for file in ("m.sklar", "release.zip"):
        found = sklar.verify(released / file, ledger=released / "visits.ledger")
        assert found.ok
        assert {check.part for check in found.checks if check.ok} >= {"price", "claim", "model", "ledger"}
    (fit,) = read_ledger(released / "visits.ledger").fits
    assert fit.unit == Unit(neighbours="add-remove", votes=True, person="id")


def test_no_key_leaves(released: Path) -> None:
    keys = {str(key).encode() for key in visits(300)["id"].to_pylist()}
    model = sklar.load(released / "m.sklar")
    texts = [repr(model.inspect()).encode(), str(model.claim).encode(), repr(model).encode()]
    texts += [path.read_bytes() for path in released.iterdir() if path.is_file()]
    assert not any(key in text for key in keys for text in texts)


def test_a_fit_that_was_cut_short_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa.csv.write_csv(visits(200), tmp_path / "t.csv")
    asked: dict[str, Any] = {"method": "vine", "epsilon": 1.0, "ledger": tmp_path / "l.ledger", "new_ledger": True}
    real = Recorder.charge

    def charge(self: Recorder, events: Any, label: str, request: str) -> int:
        if len(self.steps) == 1:
            raise KeyboardInterrupt
        return real(self, events, label, request)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "charge", charge)
        with pytest.raises(KeyboardInterrupt), pytest.warns(sklar.errors.SklarWarning):
            sklar.fit(tmp_path / "t.csv", schema(), **asked)
    with pytest.warns(sklar.errors.SklarWarning):
        sklar.fit(tmp_path / "t.csv", schema(), **asked)
    (fit,) = read_ledger(tmp_path / "l.ledger").fits
    assert fit.closed
    assert len(fit.steps) > 1


def test_the_bound_can_be_paid_for(tmp_path: Path) -> None:
    model = sklar.fit(visits(3_000, most=6), schema(rows="pay"), method="independent", epsilon=60.0)
    assert model.schema.person == sklar.Person(key="id", rows=6, order="year", linked=False, source="measured")
    assert "Measured and paid for: person (rows)" in str(model.claim)
    assert model.claim.complete
    assert model.claim.epsilon == 60.0
    model.save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar").ok
    again = model.schema.with_prices([])
    assert not sklar.fit(visits(300), again, method="independent", epsilon=1.0).claim.complete


def test_what_is_refused_once_the_bound_is_known_is_refused_before_it_is_paid_for() -> None:
    with pytest.raises(sklar.errors.UsageError, match="linked=False"):
        sklar.fit(visits(50), schema(rows="pay", linked=None), method="independent", epsilon=1.0)


def test_labels_among_persons_can_be_paid_for(tmp_path: Path) -> None:
    """Each of 2,000 persons names one of two labels, one person a third: that one is hidden."""
    rows = visits()
    lone = [str(at == 0 or ill) for at, ill in enumerate(rows["ill"].to_pylist())]
    rows = rows.append_column("label", pa.array(["alone" if at == 7 else text for at, text in enumerate(lone)]))
    facts = schema(rows="pay").with_columns({"label": sklar.Category(["?"], source={"values": "pay"})})
    model = sklar.fit(rows, facts, method="independent", epsilon=60.0, delta=1e-9)
    assert set(model.schema["label"].values) == {"True", "False"}
    assert "label (values)" in str(model.claim) and model.claim.complete
    model.save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar").ok
    with pytest.raises(sklar.errors.SourceError, match="read only once"):
        sklar.fit(rows.to_reader(), facts, method="independent", epsilon=60.0)


def test_a_bound_on_whole_rows_cannot_be_paid_for() -> None:
    with pytest.raises(sklar.errors.SchemaError, match="weights = 'votes' only"):
        schema(rows="pay", weights="rows")


def test_a_ledger_keeps_to_one_kind_of_person(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"method": "independent", "epsilon": 1.0, "ledger": tmp_path / "l", "new_ledger": True}
    with pytest.warns(sklar.errors.SklarWarning):
        sklar.fit(visits(50), schema(), **asked)
    with pytest.raises(
        sklar.errors.LedgerError, match=r"persons with one vote, identified by .id.; this fit is for 1 row"
    ):
        sklar.fit(visits(50), schema().with_person(None), **asked)
    sklar.fit(visits(50), schema(rows=3), **asked)


def test_a_drafted_person_is_refused_until_it_is_confirmed() -> None:
    with pytest.raises(sklar.errors.SchemaError, match="person"):
        sklar.fit(visits(50), schema(source="from-rows"), epsilon=1.0)


@pytest.mark.parametrize("key", [None, 7_340_001], ids=["all null", "one for all"])
def test_one_person_with_all_rows_has_one_vote(key: int | None) -> None:
    """Works as documented, and says that there is no signal."""
    rows = visits(200).set_column(0, "id", pa.array([key] * visits(200).num_rows, pa.int64()))
    with pytest.warns(sklar.errors.SklarWarning, match="below the noise level"):
        model = sklar.fit(rows, schema(), method="independent", epsilon=1.0)
    assert model.table_model.rows_estimate < 100


def test_ties_and_nulls_of_the_order_work() -> None:
    rows = visits(200)
    years = pa.array([None if k % 3 == 0 else 2001 for k in range(rows.num_rows)])
    facts = schema().with_columns({"year": sklar.Integer(2000, 2011, nullable=True)})
    model = sklar.fit(rows.set_column(1, "year", years), facts, method="independent", epsilon=50.0)
    assert model.table_model.rows_estimate == pytest.approx(200, abs=20)


def test_a_table_without_the_key_charges_nothing(tmp_path: Path) -> None:
    pa.csv.write_csv(visits(50).drop_columns(["id"]), tmp_path / "t.csv")
    with pytest.raises(sklar.errors.SourceError, match="lacks column 'id'"):
        sklar.fit(tmp_path / "t.csv", schema(), epsilon=1.0, ledger=tmp_path / "l", new_ledger=True)
    assert not (tmp_path / "l").exists()


def test_prices_of_other_persons_do_not_add_up() -> None:
    paid = sklar.fit(visits(3_000, most=6), schema(rows="pay"), method="independent", epsilon=60.0).schema
    whole = replace(paid.person, weights="rows", source="assumed")
    with pytest.raises(sklar.errors.SchemaError, match="one vote a person"):
        sklar.fit(visits(50), paid.with_person(whole), method="independent", epsilon=1.0, neighbours="add-remove")


def test_a_plan_knows_votes() -> None:
    plans = [sklar.plan(schema(**facts), epsilon=1.0, rows=1_000) for facts in ({}, {"weights": "rows"})]
    noise = [plan.fits[0].lines[-1].std for plan in plans]
    assert noise[1] > 2 * noise[0]


def test_the_commands_know_persons(tmp_path: Path) -> None:
    pa.csv.write_csv(visits(300), tmp_path / "t.csv")
    schema().write(tmp_path / "s.toml")
    files = [str(tmp_path / name) for name in ("t.csv", "s.toml", "out.csv")]
    done = CliRunner().invoke(
        app, ["synth", files[0], "-s", files[1], "-e", "2", "-o", files[2], "--method", "independent"]
    )
    assert done.exit_code == 0, done.output
    assert pa.csv.read_csv(files[2]).column_names == ["id", "year", "ill"]
    assert str(FIRST_KEY) not in done.output
    lacks = schema(key="nobody")
    lacks.write(tmp_path / "s.toml")
    refused = CliRunner().invoke(app, ["synth", files[0], "-s", files[1], "-e", "2", "-o", files[2], "--force"])
    assert refused.exit_code == 1
    assert "lacks column 'nobody'" in refused.output
