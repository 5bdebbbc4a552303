"""Criteria decide, inside the claim, whether a model is released; one that is refused has spent its budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import NotAcceptedError, UsageError
from sklar.inference.errors_of_tables import score_together
from sklar.pipeline.accept import Criteria, check_held_out, read_criteria, unmet_criteria
from sklar.pipeline.bundle.bundle import stored_of
from sklar.pipeline.model import Model
from tests.contracts.tables import people, schema

FEW = sklar.Schema({name: schema()[name] for name in ("age", "sex", "region")})
EASY, HARD = {"typical_error": 1.0}, {"typical_error": 1e-9, "confidence": 1 - 1e-9}
"""Met whatever the noise is; and met once in a thousand million fits."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    people(400).to_csv(tmp_path / "t.csv", index=False)
    FEW.write(tmp_path / "s.toml")
    sklar.Ledger.create(tmp_path / "t.ledger", "people", 9, 9e-9)
    return tmp_path


def fitted(place: Path, accept: dict[str, Any]) -> sklar.Model:
    return sklar.fit(
        place / "t.csv", FEW, method="independent", epsilon=1.0, ledger=place / "t.ledger", check_share=0.1,
        accept=accept,
    )  # fmt: skip


def test_a_model_that_meets_them_says_so_and_is_verified(place: Path) -> None:
    model = fitted(place, EASY)
    assert model.fit_facts["accepted"] == {"typical_error": 1.0, "confidence": 0.95}
    assert model.unmet(EASY) == () and len(model.unmet(HARD)) == 1
    assert "of the budget bought tables that the model was not fitted to" in str(model.claim)
    model.save(place / "m.sklar")
    assert sklar.verify(place / "m.sklar", ledger=place / "t.ledger").ok
    assert "only if it met criteria" in str(model.claim)
    found = model.report(place / "m.public.html")
    assert found.held is not None and "stated in advance" in (place / "m.public.html").read_text()


def test_each_statement_gets_its_part_of_the_permitted_error(place: Path) -> None:
    """One-sided at 90%: the upper end of a two-sided 80% interval; with a second statement, of a 90% interval."""
    found = check_held_out(stored_of(fitted(place, EASY)).fitted)
    for stated, two_sided in ({"confidence": 0.9}, 0.8), ({"confidence": 0.9, "auc_gap": 1.0}, 0.9):
        part = score_together(found.squared, confidence=two_sided)
        assert part is not None and part.high > 0
        for limit, refused in (part.high * 1.001, False), (part.high * 0.999, True):
            said = unmet_criteria(found, Criteria(typical_error=limit, **stated))
            assert any(reason.startswith("typical_error") for reason in said) == refused


def test_a_refused_one_has_spent_its_budget_and_cannot_be_taken_up_again(place: Path) -> None:
    before = sklar.read_ledger(place / "t.ledger")
    with pytest.raises(NotAcceptedError, match="budget is spent") as refused:
        fitted(place, HARD)
    after = sklar.read_ledger(place / "t.ledger")
    assert refused.value.reasons and len(after.fits) == len(before.fits) + 1 and not after.unfinished
    assert not list(place.glob("*.releases"))


def test_the_command_writes_nothing_about_a_refused_model(place: Path) -> None:
    (place / "c.toml").write_text("typical_error = 1e-9\nconfidence = 0.999999999")
    words = [str(place / "t.csv"), "-s", str(place / "s.toml"), "-e", "1", "--method", "independent", "--ledger"]
    words += [str(place / "t.ledger"), "--check-share", "0.1", "--accept", str(place / "c.toml"), "-o"]
    for command, name in (("fit", "m.sklar"), ("synth", "out.csv")):
        done = CliRunner().invoke(app, [command, *words, str(place / name)])
        assert done.exit_code == 1 and "not released" in done.output
        assert not (place / name).exists() and not (place / "out.public.html").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "at least one"),
        ({"typical_error": 0}, "above 0"),
        ({"typical_error": True}, "above 0"),
        ({"auc_gap": 2.0}, "at most 1"),
        ({"typical_error": 0.1, "confidence": 1.0}, "confidence"),
        ({"contradictions": -1}, "whole number"),
        ({"fidelity": 1}, "unknown criterion"),
    ],
)
def test_criteria_that_say_nothing_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_criteria(given)


def test_criteria_need_tables_to_be_decided_on_and_files_that_can_be_read(place: Path) -> None:
    assert read_criteria(Criteria(auc_gap=0.1)).to_dict() == {"auc_gap": 0.1, "confidence": 0.95}
    with pytest.raises(UsageError, match="check_share"):
        sklar.fit(people(50), FEW, epsilon=1.0, accept=EASY)
    with pytest.raises(UsageError, match="check_share"):
        sklar.fit(people(50), FEW, epsilon=1.0, check_share=0.9)
    with pytest.raises(UsageError, match="guarantee"):
        sklar.fit(people(50), FEW, method="plain-gaussian", no_guarantee=True, check_share=0.1)
    with pytest.raises(UsageError, match="cannot read"):
        read_criteria(place / "none.toml")
    (place / "bad.toml").write_text("= 3")
    with pytest.raises(UsageError, match="TOML"):
        read_criteria(place / "bad.toml")
    with pytest.raises(UsageError, match="no tables were held back"):
        sklar.fit(people(50), FEW, method="independent", epsilon=1.0).unmet(EASY)


def forged(model: sklar.Model, place: Path, **facts: Any) -> list[str]:
    """The parts that verification finds wrong if the record of a fit tells of other criteria."""
    stored = model._stored  # pyright: ignore[reportPrivateUsage]
    ignore_column = [name for name, value in facts.items() if value is None]
    told = {name: value for name, value in {**stored.fit, **facts}.items() if name not in ignore_column}
    Model(replace(stored, fit=told)).save(place / "x.sklar", force=True)
    return [check.part for check in sklar.verify(place / "x.sklar", ledger=place / "t.ledger").checks if not check.ok]


def test_criteria_that_were_not_stated_or_not_met_are_found(place: Path) -> None:
    model = fitted(place, EASY)
    assert "claim" in forged(model, place, accepted=HARD)
    riding = {"typical_error": 1.0, "confidence": 0.95, "row 17": "age=43"}
    assert "price" in forged(model, place, accepted=riding)  # a record that cannot be followed
    assert "ledger" in forged(model, place, accepted={"typical_error": 0.9, "confidence": 0.95})
    assert "ledger" in forged(model, place, accepted=None)


def test_a_fit_that_was_cut_short_is_not_taken_up_without_its_criteria(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> tuple[str, ...]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Model, "unmet", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fitted(place, HARD)
    sklar.fit(place / "t.csv", FEW, method="independent", epsilon=1.0, ledger=place / "t.ledger", check_share=0.1)
    assert len(sklar.read_ledger(place / "t.ledger").fits) == 2  # a fit of its own, paid for again


def test_a_gap_of_predictions_needs_a_target_before_anything_is_spent(place: Path) -> None:
    with pytest.raises(UsageError, match="target"):
        fitted(place, {"auc_gap": 0.5})
    assert not sklar.read_ledger(place / "t.ledger").fits
