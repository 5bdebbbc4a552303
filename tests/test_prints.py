"""What a prompt prints is short: nobody scrolls through cells, noise and records to find the next prompt."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import sklar

MOST = 2_000
"""Characters: about a screen."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("prints")
    schema = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"]), "pay": sklar.Real(0, 9)})
    rows = pa.table({"age": [20, 40, 60] * 300, "sex": ["F", "M", "M"] * 300, "pay": [0.5, 3.25, 8.0] * 300})
    sklar.Ledger.create(folder / "rows.ledger", name="rows")
    model = sklar.fit(rows, schema, epsilon=5.0, ledger=folder / "rows.ledger")
    model.save(folder / "rows.sklar")
    sample = model.sample(900, seed=1)
    return {
        "model": model,
        "claim": model.claim,
        "measurements": model.measurements,
        "releases": model.releases,
        "report": model.report(),
        "estimate": model.estimate("mean(age) by sex"),
        "plan": sklar.plan(schema, epsilon=1.0, rows=900),
        "ledger": sklar.read_ledger(folder / "rows.ledger"),
        "open ledger": sklar.Ledger.open(folder / "rows.ledger"),
        "audit": sklar.lab.audit_schema(rows, schema),
        "verified": sklar.verify(folder / "rows.sklar"),
        "evaluation": sklar.evaluate(rows, sample, schema),
        "check": sklar.check_schema(schema),
    }


def test_results_are_printed_on_a_screen(printed: dict[str, object]) -> None:
    sizes = {name: max(len(str(found)), len(repr(found))) for name, found in printed.items()}
    assert {name: size for name, size in sizes.items() if size > MOST} == {}


def test_numbers_are_rounded_and_objects_are_named(printed: dict[str, object]) -> None:
    """No number of 15 digits, and no place in memory."""
    for name, found in printed.items():
        assert not re.search(r"\d\.\d{9}| object at 0x", str(found) + repr(found)), name


def test_a_claim_is_a_paragraph_and_a_table_of_what_it_rests_on(printed: dict[str, object]) -> None:
    claim = printed["claim"]
    assert isinstance(claim, sklar.Claim)
    assert claim.summary.startswith(claim.first_sentence) and len(claim.summary) < 700
    whole = str(claim)
    assert whole.startswith(claim.summary) and all(text in whole for _, text in claim.basis)
    assert {"Taken as known without looking at the rows", "Not covered", "Noise"} <= {label for label, _ in claim.basis}
