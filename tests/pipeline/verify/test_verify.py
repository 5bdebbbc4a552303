"""A release that is what it says is verified; one that was forged, changed or mixed is found, and the part is named."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sklar
from sklar.accounting.ledger.records import GENESIS, seal_entry
from sklar.cli.main import app
from sklar.errors import UsageError
from sklar.methods.registry import METHODS
from sklar.pipeline.model_file import Stored, read_model, write_model
from sklar.private import recorder
from sklar.release.counts import Counts
from sklar.release.measurements import Measurement, decode_step, encode_step
from sklar.schema.table import schema_from_toml, schema_to_toml
from tests.contracts.tables import people, schema
from tests.tiers import slow_unless

OPTIONS: dict[str, dict[str, Any]] = {"dpcopula-mle": {"epsilon": 900.0, "k": 0.1, "block_rows": 20}}
"""Methods that need more than the others."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its ledger, a model and its rows."""
    folder = tmp_path_factory.mktemp("release")
    people(300).to_csv(folder / "t.csv", index=False)
    sklar.Ledger.create(folder / "t.ledger", "people", 3, 3e-9)
    model = sklar.fit(folder / "t.csv", schema(), method="independent", epsilon=1.0, ledger=folder / "t.ledger")
    model.save(folder / "m.sklar")
    model.write_rows(folder / "rows.csv", 200, seed=7)
    return folder


def forged(place: Path, change: Callable[[Stored], Stored]) -> Path:
    """A model file in which something was changed, and all checksums were done again."""
    write_model(change(read_model(place / "m.sklar")), place / "forged.sklar")
    assert sklar.load(place / "forged.sklar").inspect()["method"] == "independent"
    return place / "forged.sklar"


def wrong(found: sklar.results.Verified) -> set[str]:
    assert not found.ok and found.verdict.startswith("NOT VERIFIED")
    return {check.part for check in found.checks if check.ok is False}


def test_what_was_published_is_verified(place: Path) -> None:
    found = sklar.verify(place / "m.sklar", ledger=place / "t.ledger", rows=place / "rows.csv", seed=7)
    parts = {"file", "price", "facts", "claim", "model", "ledger", "rows"}
    assert found.ok and {check.part for check in found.checks} == parts
    assert all(check.ok for check in found.checks) and "bit for bit" in found["model"].says
    assert "Verified" in str(found) and "Verified" in found._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert sklar.verify(place / "m.sklar")["ledger"].ok is None


@pytest.mark.parametrize("name", slow_unless(("vine", "independent").__contains__, METHODS))
def test_every_method_is_fitted_again_from_its_releases(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"epsilon": 40.0, **OPTIONS.get(name, {})}
    sklar.fit(people(300), schema(), method=name, **options).save(tmp_path / "m.sklar")
    found = sklar.verify(tmp_path / "m.sklar")
    assert found.ok, str(found)
    assert "bit for bit" in found["model"].says


@pytest.mark.parametrize("options", [{"delta": 0.0}, {"neighbours": "replace", "rows_per_person": 2}, {"rho": 0.1}])
def test_every_way_of_accounting_is_followed(options: dict[str, Any], tmp_path: Path) -> None:
    budget: dict[str, Any] = {} if "rho" in options else {"epsilon": 2.0}
    sklar.fit(people(300), schema(), method="independent", **budget, **options).save(tmp_path / "m.sklar")
    found = sklar.verify(tmp_path / "m.sklar")
    assert found.ok, str(found)


def test_a_forged_epsilon_is_found_and_so_is_a_budget_forged_to_fit_it(place: Path) -> None:
    def cheaper(stored: Stored) -> Stored:
        claim = dataclasses.replace(stored.claim, epsilon=0.1, own=(0.1, 1e-9))
        return dataclasses.replace(stored, claim=claim)

    def all_of_it(stored: Stored) -> Stored:
        less, facts = cheaper(stored), dict(stored.fit)
        facts["requested"] = facts["budget"] = {**facts["budget"], "epsilon": 0.1}
        return dataclasses.replace(less, fit=facts)

    def scaled(stored: Stored) -> Stored:
        small = all_of_it(stored)
        amount = small.fit["allowance"]["amount"] / 100
        return dataclasses.replace(small, fit={**small.fit, "allowance": {**small.fit["allowance"], "amount": amount}})

    assert wrong(sklar.verify(forged(place, cheaper))) == {"price", "claim"}
    for change in (all_of_it, scaled):
        assert wrong(sklar.verify(forged(place, change))) == {"price"}


def test_hidden_assumptions_changed_numbers_and_changed_releases_are_found(place: Path) -> None:
    def silent(stored: Stored) -> Stored:
        return dataclasses.replace(stored, claim=dataclasses.replace(stored.claim, assumed=()))

    def bent(stored: Stored) -> Stored:
        model: Any = stored.model
        margins = list(model.margins)
        mass = margins[0].mass[::-1].copy()
        margins[0] = dataclasses.replace(margins[0], mass=mass)
        return dataclasses.replace(stored, model=dataclasses.replace(model, margins=tuple(margins)))

    def moved(stored: Stored) -> Stored:
        step = stored.recorded[0]
        first = step.releases[0]
        assert isinstance(first, Measurement)
        releases = (dataclasses.replace(first, values=first.values + 50), *step.releases[1:])
        changed = (dataclasses.replace(step, releases=releases), *stored.recorded[1:])
        return dataclasses.replace(stored, recorded=changed)

    def short(stored: Stored) -> Stored:
        return dataclasses.replace(stored, recorded=stored.recorded[:-1])

    assert wrong(sklar.verify(forged(place, silent))) == {"claim"}
    assert wrong(sklar.verify(forged(place, bent))) == {"model"}
    # What is asked later may depend on what was released before: then the price is not that of the record.
    assert wrong(sklar.verify(forged(place, moved), ledger=place / "t.ledger")) > {"ledger"}
    assert wrong(sklar.verify(forged(place, short))) == {"price"}


def test_releases_of_another_fit_are_found(place: Path) -> None:
    other = sklar.fit(people(300), schema(), method="independent", epsilon=2.0)

    def swapped(stored: Stored) -> Stored:
        return dataclasses.replace(stored, recorded=other.releases)

    assert wrong(sklar.verify(forged(place, swapped))) >= {"price"}


def test_tables_held_back_are_those_that_the_seed_chooses(tmp_path: Path) -> None:
    model = sklar.fit(people(300), schema(), method="independent", epsilon=2.0, check_share=0.2)
    model.save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar").ok

    def reseeded(stored: Stored) -> Stored:
        return dataclasses.replace(stored, fit={**stored.fit, "seed": stored.fit["seed"] + 1})

    assert wrong(sklar.verify(forged_in(tmp_path, reseeded))) >= {"price"}


def test_another_version_is_told_before_a_model_is_called_changed(place: Path) -> None:
    def older(stored: Stored) -> Stored:
        return dataclasses.replace(stored, fit={**stored.fit, "versions": {**stored.fit["versions"], "numpy": "1.0"}})

    def nearly(stored: Stored) -> Stored:
        model: Any = older(stored).model
        margins = list(model.margins)
        mass = margins[0].mass * (1 + 1e-10 * np.sin(np.arange(margins[0].mass.size)))
        margins[0] = dataclasses.replace(margins[0], mass=mass)
        return dataclasses.replace(older(stored), model=dataclasses.replace(model, margins=tuple(margins)))

    def other_code(stored: Stored) -> Stored:
        claim = dataclasses.replace(stored.claim, caveats=())
        made = {**stored.fit["versions"], "code": "0" * 16}
        return dataclasses.replace(stored, claim=claim, fit={**stored.fit, "versions": made})

    silent = sklar.verify(forged(place, other_code))["claim"]
    assert not silent.ok and f"code {'0' * 16}, here" in silent.says
    assert "bit for bit" in sklar.verify(forged(place, older))["model"].says
    close = sklar.verify(forged(place, nearly))
    assert close.ok and close["model"].ok is None and "numpy 1.0" in close["model"].says
    assert "Not checked: model" in close.verdict.replace("signature, ", "")


def test_facts_that_were_paid_for_within_the_fit_are_priced_too(tmp_path: Path) -> None:
    facts = {"age": sklar.Integer(0, 1000, source={"lower": "pay", "upper": "pay"}),
             "region": sklar.Category(["?"], source="pay")}  # fmt: skip
    people(3000)[["age", "region"]].to_csv(tmp_path / "t.csv", index=False)
    sklar.Ledger.create(tmp_path / "t.ledger", "people", 9, 9e-8)
    model = sklar.fit(
        tmp_path / "t.csv", sklar.Schema(facts), method="independent", epsilon=3.0, delta=1e-8,
        ledger=tmp_path / "t.ledger",
    )  # fmt: skip
    model.save(tmp_path / "m.sklar")
    found = sklar.verify(tmp_path / "m.sklar", ledger=tmp_path / "t.ledger")
    assert found.ok, str(found)

    def cheap(stored: Stored) -> Stored:
        return dataclasses.replace(stored, fit={name: value for name, value in stored.fit.items() if name != "paid"})

    assert wrong(sklar.verify(forged_in(tmp_path, cheap))) == {"claim"}

    def cheaper(stored: Stored) -> Stored:
        """The noise of what was paid for and its budget, as if it had cost next to nothing."""
        paid = dict(stored.fit["paid"])
        paid["releases"] = [_with_scale(line, 50.0) for line in paid["releases"]]
        assert paid["releases"] != stored.fit["paid"]["releases"]
        for name in ("budget", "allowance"):
            paid[name] = {k: v / 2500 if k in ("rho", "amount") and v else v for k, v in paid[name].items()}
        return dataclasses.replace(stored, fit={**stored.fit, "paid": paid})

    assert not sklar.verify(forged_in(tmp_path, cheaper), ledger=tmp_path / "t.ledger").ok


READ = sklar.ReadOptions(sql="SELECT age, region FROM data", rows_are_rows=True, null_values=["?"])
PAY = {"age": sklar.Integer(0, 1000, source={"lower": "pay", "upper": "pay"}), "region": sklar.Category(["N", "S"])}
"""The way a source is read, and a schema with facts to be paid for."""


@pytest.mark.parametrize(
    "paying", slow_unless("within the fit".__eq__, ["nothing", "within the fit", "before the fit"])
)
def test_what_was_stated_about_reading_cannot_be_left_out(tmp_path: Path, paying: str) -> None:
    """The query and the rest are assumptions: they cannot be deleted from a claim, nor from the record behind it."""
    people(300)[["age", "region"]].to_csv(tmp_path / "t.csv", index=False)
    sklar.Ledger.create(tmp_path / "t.ledger", "people", 90, 9e-8)
    facts = sklar.Schema({**PAY, **({"age": sklar.Integer(0, 120)} if paying == "nothing" else {})})
    options: dict[str, Any] = {"ledger": tmp_path / "t.ledger", "delta": 1e-9}
    if paying == "before the fit":
        facts = sklar.pay(tmp_path / "t.csv", facts, epsilon=5.0, read=READ, **options).schema
    here = sklar.ReadOptions() if paying == "before the fit" else READ
    model = sklar.fit(tmp_path / "t.csv", facts, method="independent", epsilon=20.0, read=here, **options)
    model.save(tmp_path / "m.sklar")
    assert {name for name, _ in model.claim.reading} == {"sql", "rows_are_rows", "null_value"}
    assert "rows_are_rows" in str(model.claim)
    honest = sklar.verify(tmp_path / "m.sklar", ledger=tmp_path / "t.ledger")
    assert honest.ok, str(honest)

    for gone in ("sql", "rows_are_rows", "null_value"):
        rest = tuple(pair for pair in model.claim.reading if pair[0] != gone)

        def silent(stored: Stored, rest: Any = rest) -> Stored:
            return dataclasses.replace(stored, claim=dataclasses.replace(stored.claim, reading=rest))

        def everywhere(stored: Stored, rest: Any = rest) -> Stored:
            prices = [dataclasses.replace(price, reading=rest) for price in stored.schema.prices if price.reading]
            others = [price for price in stored.schema.prices if not price.reading]
            record = {**stored.fit, **({"reading": rest} if "reading" in stored.fit else {})}
            schema = stored.schema.with_prices([*prices, *others])
            return dataclasses.replace(silent(stored, rest), fit=record, schema=schema)

        def by_another_version(stored: Stored, rest: Any = rest) -> Stored:
            changed = everywhere(stored, rest)
            made = {**changed.fit["versions"], "sklar": "0.0.1", "numpy": "1.0"}
            claim = dataclasses.replace(changed.claim, version="0.0.1")
            return dataclasses.replace(changed, claim=claim, fit={**changed.fit, "versions": made})

        assert wrong(sklar.verify(forged_in(tmp_path, silent))) == {"claim"}
        for change in (everywhere, by_another_version):
            assert "ledger" in wrong(sklar.verify(forged_in(tmp_path, change), ledger=tmp_path / "t.ledger"))


def test_the_settings_of_a_fit_that_paid_for_facts_are_those_of_its_ledger(tmp_path: Path) -> None:
    people(300)[["age", "region"]].to_csv(tmp_path / "t.csv", index=False)
    sklar.Ledger.create(tmp_path / "t.ledger", "people", 90, 9e-8)
    facts = sklar.Schema(PAY).confirm("region", by="Ada", other="elsewhere")
    fit: dict[str, Any] = {"method": "independent", "epsilon": 20.0, "ledger": tmp_path / "t.ledger"}
    sklar.fit(tmp_path / "t.csv", facts, **fit).save(tmp_path / "m.sklar")

    def by_another(stored: Stored) -> Stored:
        """Says that somebody else vouches for a fact, in all places at once."""
        claim = dataclasses.replace(stored.claim, confirmed=(("Bob", stored.claim.confirmed[0][1]),))
        schema = schema_from_toml(schema_to_toml(stored.schema).replace("Ada", "Bob"))
        told = _told(stored, requested=stored.fit["paid"]["requested"].replace("Ada", "Bob"))
        return dataclasses.replace(told, claim=claim, schema=schema)

    assert sklar.verify(tmp_path / "m.sklar", ledger=tmp_path / "t.ledger").ok
    assert sklar.verify(forged_in(tmp_path, by_another)).ok  # nothing but the ledger knows better
    assert wrong(sklar.verify(forged_in(tmp_path, by_another), ledger=tmp_path / "t.ledger")) == {"ledger"}


@pytest.mark.parametrize("own", [(0.01, 1e-9), (1.0, 0.0), (3.0, 1e-9), None, (), (1.0, 1e-9, 7.0)], ids=str)
def test_what_the_fit_alone_is_said_to_cost_is_compared(place: Path, own: Any) -> None:
    def other(stored: Stored) -> Stored:
        return dataclasses.replace(stored, claim=dataclasses.replace(stored.claim, own=own))

    assert "claim" in wrong(sklar.verify(forged(place, other)))


def test_the_wording_of_a_claim_cannot_be_changed_in_the_name_of_another_version(place: Path) -> None:
    def older(stored: Stored) -> Stored:
        made = {**stored.fit["versions"], "sklar": "0.0.1"}
        claim = dataclasses.replace(stored.claim, version="0.0.1", not_covered=())
        return dataclasses.replace(stored, claim=claim, fit={**stored.fit, "versions": made})

    found = sklar.verify(forged(place, older))
    assert wrong(found) == {"claim"} and "sklar 0.0.1" in found["claim"].says


@pytest.fixture(scope="module")
def bought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model whose fit paid for bounds and labels, and found decimals."""
    folder = tmp_path_factory.mktemp("bought")
    table = people(3000)[["age", "region"]].assign(price=lambda t: t["age"] * 1.0)
    facts = {"age": sklar.Integer(-7777, 7777, source={"lower": "pay", "upper": "pay"}),
             "region": sklar.Category(["Ann"], source="pay"), "price": sklar.Real(0, 500)}  # fmt: skip
    model = sklar.fit(table, sklar.Schema(facts), method="independent", epsilon=20.0, delta=1e-8)
    model.save(folder / "m.sklar")
    return folder


def test_facts_are_derived_again_from_what_was_released_for_them(bought: Path) -> None:
    found = sklar.verify(bought / "m.sklar")
    assert found["facts"].ok and "4 measured facts" in found["facts"].says, str(found)
    content = zipfile.ZipFile(bought / "m.sklar").read("fit.json").decode()
    assert "7777" not in content and "Ann" not in content  # what is stated under a mark may come from the rows


def _column(stored: Stored, name: str, **facts: Any) -> Stored:
    schema = stored.schema.with_columns({name: dataclasses.replace(stored.schema[name], **facts)})
    claim = dataclasses.replace(stored.claim, public=(), assumed=(), measured=())
    return dataclasses.replace(stored, schema=schema, claim=claim)


def _told(stored: Stored, **paid: Any) -> Stored:
    return dataclasses.replace(stored, fit={**stored.fit, "paid": {**stored.fit["paid"], **paid}})


def _asked_otherwise(stored: Stored) -> Stored:
    """As if the custodian had known a bound that was bought."""
    lines = stored.fit["paid"]["requested"]
    assert 'lower = "pay"' in lines
    return _told(stored, requested=lines.replace('lower = "pay"', 'lower = "public"'))


def _cheap(stored: Stored) -> Stored:
    prices = [dataclasses.replace(price, epsilon=0.1) for price in stored.schema.prices]
    return dataclasses.replace(stored, schema=stored.schema.with_prices(prices))


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: _column(stored, "age", lower=-999, upper=stored.schema["age"].size - 1000),
        lambda stored: _column(stored, "age", source="public"),
        lambda stored: _column(stored, "age", source={"lower": "from-rows", "upper": "measured"}),
        lambda stored: _column(stored, "region", other="Ann"),
        lambda stored: _column(stored, "price", decimals=3),
        lambda stored: _told(stored, notes=["age: Ann is 41"]),
        lambda stored: _told(stored, releases=stored.fit["paid"]["releases"][::-1]),
        lambda stored: _told(stored, releases=stored.fit["paid"]["releases"][:1]),
        _asked_otherwise,
        _cheap,
    ],
)  # fmt: skip
def test_forged_facts_are_found(bought: Path, change: Callable[[Stored], Stored]) -> None:
    found = sklar.verify(forged_in(bought, change))
    assert wrong(found) & {"price", "facts"}, str(found)


def test_another_noisy_count_of_a_bound_gives_another_bound(bought: Path) -> None:
    def moved(stored: Stored) -> Stored:
        line, *rest = stored.fit["paid"]["releases"]
        # A line leaves out what was asked: any tables of as many cells read its counts.
        shapes = [entry["shape"][0] for entry in decode_step(line).entries]
        asked = [Counts(columns=("x",), partitions=(np.arange(cells, dtype=np.int32),)) for cells in shapes]
        step = decode_step(line).join(asked)
        table, *others = step.releases
        assert isinstance(table, Measurement)
        release = dataclasses.replace(table, values=np.roll(table.values, 20))
        return _told(stored, releases=[encode_step(dataclasses.replace(step, releases=(release, *others))), *rest])

    assert wrong(sklar.verify(forged_in(bought, moved))) == {"price"}  # by that bound, the fit would ask otherwise


@pytest.mark.parametrize("place_of", ["steps", "versions", "fit"])
def test_nothing_rides_along_in_the_record_of_a_fit(place: Path, place_of: str) -> None:
    def talkative(stored: Stored) -> Stored:
        told = json.loads(json.dumps(stored.fit[place_of]))
        if isinstance(told, str):
            told = "Ann is 41"
        else:
            (told[0] if place_of == "steps" else told)["remark"] = "Ann is 41"
        return dataclasses.replace(stored, fit={**stored.fit, place_of: told})

    assert wrong(sklar.verify(forged(place, talkative))) == {"claim"}


def _with_scale(line: str, factor: float) -> str:
    """Returns a recorded line whose measurements state other noise."""
    entry = json.loads(line)
    for release in entry["releases"]:
        if "noise" in release:
            release["noise"]["scale"] *= factor
    return json.dumps(entry, separators=(",", ":"), sort_keys=True)


def forged_in(folder: Path, change: Callable[[Stored], Stored]) -> Path:
    write_model(change(read_model(folder / "m.sklar")), folder / "forged.sklar")
    return folder / "forged.sklar"


def test_what_was_paid_for_before_cannot_be_left_out(tmp_path: Path) -> None:
    people(3000)[["age"]].to_csv(tmp_path / "t.csv", index=False)
    facts = sklar.Schema({"age": sklar.Integer(0, 1000, source={"lower": "pay", "upper": "pay"})})
    sklar.Ledger.create(tmp_path / "t.ledger", "people", 9, 9e-8)
    paid = sklar.pay(tmp_path / "t.csv", facts, epsilon=5.0, ledger=tmp_path / "t.ledger").schema
    fit: dict[str, Any] = {"method": "independent", "epsilon": 1.0, "ledger": tmp_path / "t.ledger"}
    sklar.fit(tmp_path / "t.csv", paid, **fit).save(tmp_path / "m.sklar")
    honest = sklar.verify(tmp_path / "m.sklar", ledger=tmp_path / "t.ledger")
    assert honest.ok, str(honest)
    assert sklar.load(tmp_path / "m.sklar").claim.epsilon == pytest.approx(6.0)

    def renamed(stored: Stored) -> Stored:
        cheap = dataclasses.replace(stored.claim, epsilon=1.0, delta=1e-9, prices=())
        return dataclasses.replace(stored, claim=cheap, fit={**stored.fit, "fit": stored.schema.prices[0].fit})

    def silent(stored: Stored) -> Stored:
        return dataclasses.replace(stored, claim=dataclasses.replace(stored.claim, epsilon=1.0, prices=()))

    def unconditional(stored: Stored) -> Stored:
        """Says that the total of both fits holds whatever was known when their budgets were set."""
        assert stored.claim.ledger is not None and stored.claim.ledger.in_advance
        total = dataclasses.replace(stored.claim.ledger, in_advance=False)
        return dataclasses.replace(stored, claim=dataclasses.replace(stored.claim, ledger=total))

    for change in (renamed, silent):
        assert not sklar.verify(forged_in(tmp_path, change)).ok
    found = sklar.verify(forged_in(tmp_path, unconditional), ledger=tmp_path / "t.ledger")
    assert wrong(found) == {"ledger"}


def test_the_lines_of_what_was_paid_for_hold_nothing_but_releases(tmp_path: Path) -> None:
    """A line that is read and written anew could carry any text, as one about a row."""
    facts = sklar.Schema({"age": sklar.Integer(0, 1000, source={"lower": "pay", "upper": "pay"})})
    sklar.fit(people(300)[["age"]], facts, method="independent", epsilon=5.0).save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar").ok

    def chatty(stored: Stored) -> Stored:
        lines = [line[:-1] + ',"more":"row 17"}' for line in stored.fit["paid"]["releases"]]
        return dataclasses.replace(stored, fit={**stored.fit, "paid": {**stored.fit["paid"], "releases": lines}})

    assert "price" in wrong(sklar.verify(forged_in(tmp_path, chatty)))


@pytest.mark.parametrize("fact", [{"rows": 300}, {"rows": 300.5}, {"seed": 2**63}, {"seed": -1}], ids=str)
def test_facts_of_a_fit_that_are_not_public_are_refused(place: Path, fact: dict[str, Any]) -> None:
    def other(stored: Stored) -> Stored:
        return dataclasses.replace(stored, fit={**stored.fit, **fact})

    assert "price" in wrong(sklar.verify(forged_in(place, other)))


@pytest.mark.parametrize("told", [{"name": "others"}, {"epsilon": 0.01}, {"cap": (0.01, 1e-9)}, {"fits": 7}], ids=str)
def test_a_claim_of_another_ledger_or_total_is_found(place: Path, told: dict[str, Any]) -> None:
    def other(stored: Stored) -> Stored:
        assert stored.claim.ledger is not None
        total = dataclasses.replace(stored.claim.ledger, **told)
        return dataclasses.replace(stored, claim=dataclasses.replace(stored.claim, ledger=total))

    assert wrong(sklar.verify(forged(place, other), ledger=place / "t.ledger")) == {"ledger"}


NO_TOTALS: list[tuple[str, Any]] = [
    ("fits", None), ("fits", 0.5), ("fits", "x"), ("epsilon", None), ("epsilon", "x"), ("epsilon", 10**400),
    ("delta", None), ("delta", (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), NO_TOTALS, ids=[f"{name} {value!s:.4}" for name, value in NO_TOTALS])
def test_a_total_that_is_no_number_ends_in_a_verdict(place: Path, name: str, value: Any) -> None:
    """Whoever is handed such a file gets an answer and no traceback."""

    def odd(stored: Stored) -> Stored:
        assert stored.claim.ledger is not None
        total = dataclasses.replace(stored.claim.ledger, **{name: value})
        return dataclasses.replace(stored, claim=dataclasses.replace(stored.claim, ledger=total))

    write_model(odd(read_model(place / "m.sklar")), place / "forged.sklar")
    assert wrong(sklar.verify(place / "forged.sklar", ledger=place / "t.ledger")) == {"ledger"}


def test_without_a_ledger_it_is_said_what_was_not_checked(place: Path) -> None:
    found = sklar.verify(place / "m.sklar")
    assert found.ok and found["ledger"].ok is None
    assert "omits how the rows were read" in found["ledger"].says and "ledger" in found.verdict


def test_another_version_and_remarks_are_found(place: Path) -> None:
    def older(stored: Stored) -> Stored:
        return dataclasses.replace(stored, claim=dataclasses.replace(stored.claim, version="0.0.9", not_covered=()))

    def talkative(stored: Stored) -> Stored:
        return dataclasses.replace(stored, fit={**stored.fit, "remark": "Ann is 41"})

    for change in (older, talkative):
        assert wrong(sklar.verify(forged(place, change))) == {"claim"}


def test_a_model_file_holds_its_model_and_nothing_else(place: Path, tmp_path: Path) -> None:
    whole = (place / "m.sklar").read_bytes()
    (tmp_path / "before.sklar").write_bytes((place / "t.csv").read_bytes() + whole)
    with zipfile.ZipFile(place / "m.sklar") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["raw.csv"] = b"age,41"
    listing = json.loads(members["manifest.json"])
    listing["members"]["raw.csv"] = hashlib.sha256(members["raw.csv"]).hexdigest()
    members["manifest.json"] = json.dumps(listing).encode()
    with zipfile.ZipFile(tmp_path / "more.sklar", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = hashlib.sha256(members["manifest.json"]).hexdigest().encode()
    for name in ("before", "more"):
        assert wrong(sklar.verify(tmp_path / f"{name}.sklar")) == {"file"}, name


def test_a_step_that_was_lost_and_measured_again_is_counted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(300).to_csv(tmp_path / "t.csv", index=False)
    sklar.Ledger.create(tmp_path / "t.ledger", "people", 9, 9e-8)

    def run() -> sklar.Model:
        return sklar.fit(tmp_path / "t.csv", schema(), method="independent", epsilon=1.0, ledger=tmp_path / "t.ledger")

    with monkeypatch.context() as patch:
        patch.setattr(recorder, "append_synced", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run()
    run().save(tmp_path / "m.sklar")
    found = sklar.verify(tmp_path / "m.sklar", ledger=tmp_path / "t.ledger")
    assert found.ok, str(found)
    assert sklar.load(tmp_path / "m.sklar").claim.repeated


def test_another_ledger_a_broken_chain_and_a_cap_that_does_not_hold_are_found(place: Path, tmp_path: Path) -> None:
    sklar.Ledger.create(tmp_path / "other.ledger", "others", 3, 3e-9)
    assert wrong(sklar.verify(place / "m.sklar", ledger=tmp_path / "other.ledger")) == {"ledger"}
    lines = (place / "t.ledger").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.ledger").write_bytes(b"".join(lines[:-3]))
    (tmp_path / "broken.ledger").write_bytes(b"".join(lines[:2] + lines[3:]))
    low = [json.loads(line) for line in lines]
    low[0]["cap"] = {**low[0]["cap"], "epsilon": 0.5}
    previous, rewritten = GENESIS, []
    for entry in low:
        line, previous = seal_entry({k: v for k, v in entry.items() if k not in ("prev", "sha256")}, previous)
        rewritten.append(line)
    (tmp_path / "low.ledger").write_bytes(b"".join(rewritten))
    for name in ("cut", "broken", "low", "none"):
        assert wrong(sklar.verify(place / "m.sklar", ledger=tmp_path / f"{name}.ledger")) == {"ledger"}


@pytest.mark.slow
@pytest.mark.parametrize("end", ["csv", "tsv", "parquet", "arrow"])
def test_rows_are_those_of_the_model_and_the_seed_or_not(place: Path, tmp_path: Path, end: str) -> None:
    model = sklar.load(place / "m.sklar")
    model.write_rows(tmp_path / f"r.{end}", 150, seed=3)
    file = place / "m.sklar"
    assert sklar.verify(file, rows=tmp_path / f"r.{end}", seed=3)["rows"].ok
    assert wrong(sklar.verify(file, rows=tmp_path / f"r.{end}", seed=4)) == {"rows"}
    model.write_rows(tmp_path / f"g.{end}", 150, seed=3, given={"sex": "F"})
    assert sklar.verify(file, rows=tmp_path / f"g.{end}", seed=3, given={"sex": "F"})["rows"].ok
    assert wrong(sklar.verify(file, rows=tmp_path / f"g.{end}", seed=3)) == {"rows"}


def test_bad_input_is_told_plainly(place: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="seed"):
        sklar.verify(place / "m.sklar", rows=place / "rows.csv")
    with pytest.raises(UsageError, match="no signature"):
        sklar.verify(place / "m.sklar", key=place / "k.pub")
    with pytest.raises(UsageError, match="no model file"):
        sklar.verify(tmp_path / "none.sklar")
    assert wrong(sklar.verify(place / "rows.csv")) == {"file"}
    assert wrong(sklar.verify(place / "m.sklar", rows=tmp_path / "no.csv", seed=1)) == {"rows"}
    assert wrong(sklar.verify(place / "m.sklar", rows=place / "t.ledger", seed=1)) == {"rows"}


def test_the_command_tells_and_ends_with_its_verdict(place: Path) -> None:
    run = CliRunner().invoke(app, ["verify", str(place / "m.sklar"), "--ledger", str(place / "t.ledger")])
    assert run.exit_code == 0 and "ok price" in run.output and "Verified" in run.output
    run = CliRunner().invoke(app, ["verify", str(place / "m.sklar"), "--rows", str(place / "rows.csv"), "--seed", "8",
                                   "--json"])  # fmt: skip
    assert run.exit_code == 1 and json.loads(run.stdout)["ok"] is False


def test_a_model_that_promises_nothing_is_not_said_to_hold_a_promise(tmp_path: Path) -> None:
    table = people(200)[["age", "sex"]]
    facts = sklar.Schema({name: schema()[name] for name in ("age", "sex")})
    sklar.fit(table, facts, method="plain-gaussian", no_guarantee=True).save(tmp_path / "m.sklar")
    found = sklar.verify(tmp_path / "m.sklar")
    assert found["price"].ok is None and "NO DP GUARANTEE" in str(found)
