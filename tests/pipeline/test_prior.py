"""Fits that lean on a public table: what they say, what they keep, what they refuse, and whether it pays."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sklar
from sklar.errors import UsageError, WeakPromiseWarning
from sklar.pipeline.model import Model
from sklar.pipeline.model_file import read_model, write_model
from sklar.rows.sources.memory import same_memory
from sklar.schema.address import table_address
from tests.golden.cases import FEW, schema, scripted_fit, table

ROWS = 1_200
VALUES = {"age": 40, "dose": 30, "visits": 12, "kind": 4, "smoker": 2}
FACTS = sklar.Schema(
    {
        "age": sklar.Integer(0, 39),
        "dose": sklar.Integer(0, 29),
        "visits": sklar.Integer(0, 11),
        "kind": sklar.Category(["a", "b", "c", "d"]),
        "smoker": sklar.Boolean(),
    }
)


def people(seed: int, rows: int = ROWS, tilt: float = 0.0) -> pd.DataFrame:
    """Columns that depend on each other in several ways; a tilt picks others of the same population."""
    rng = np.random.default_rng(seed)
    many = 4 * rows
    z = rng.normal(size=(many, 3))
    kind = np.digitize(z[:, 0] * z[:, 1], [-0.7, 0.0, 0.7])
    frame = pd.DataFrame(
        {
            "age": np.clip(20 + 7 * z[:, 0], 0, 39).astype(int),
            "dose": np.clip(np.exp(2 + 0.5 * z[:, 0] + 0.4 * z[:, 1]), 0, 29).astype(int),
            "visits": np.minimum(rng.poisson(np.exp(0.5 + 0.6 * z[:, 1])), 11),
            "kind": np.array(["a", "b", "c", "d"])[kind],
            "smoker": rng.random(many) < 1 / (1 + np.exp(-2 * z[:, 0])),
        }
    )
    weight = np.exp(tilt * (z[:, 0] - z[:, 1]))
    return frame.iloc[rng.choice(many, rows, replace=False, p=weight / weight.sum())].reset_index(drop=True)


def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(99)
    return pd.DataFrame({name: rng.permutation(column.to_numpy()) for name, column in frame.items()})


def pair_error(one: pd.DataFrame, other: pd.DataFrame) -> float:
    """Mean total variation distance of the tables of all pairs, numbers in steps of four."""

    def cells(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(age=frame["age"] // 4, dose=frame["dose"] // 3)

    names, found = list(one), []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            shares = [cells(frame).groupby([a, b]).size() / len(frame) for frame in (one, other)]
            found.append(0.5 * shares[0].sub(shares[1], fill_value=0.0).abs().sum())
    return float(np.mean(found))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.15, 1.0], ids=["few rows", "vine"])
def test_a_good_prior_pays_and_a_bad_one_costs_little(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is scripted, so the numbers are the same in every run."""
    data, errors = people(1), {}
    priors = {"none": None, "good": people(2), "tilted": people(3, tilt=0.5), "shuffled": shuffled(people(2))}
    for name, prior in priors.items():
        model = scripted_fit(data, FACTS, {"method": "vine", "epsilon": epsilon, "prior": prior}, monkeypatch)
        errors[name] = pair_error(data, model.sample(ROWS, seed=1, to="pandas"))
    assert errors["good"] < 0.85 * errors["none"]
    assert errors["tilted"] < 1.1 * errors["none"]
    assert errors["shuffled"] < 1.1 * errors["none"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "given"),
    [(4000, {"epsilon": 2.0}), (FEW, {"epsilon": 1.0}), (FEW, {"epsilon": 1.0, "target": "smoker"})],
    ids=["vine", "few rows", "target"],
)
def test_a_model_with_a_prior_is_verified_without_it(tmp_path: Path, rows: int, given: dict[str, Any]) -> None:
    """The file holds the counts that the fit leaned on, so it is fitted again bit for bit from the file alone."""
    prior = sklar.Prior(data=pd.DataFrame(table(1000, seed=3)), name="survey of 2019", by="the office")
    model = sklar.fit(pd.DataFrame(table(rows)), schema(), prior=prior, **given)
    model.save(tmp_path / "m.sklar")
    found = sklar.verify(tmp_path / "m.sklar")
    assert found.ok, found.checks
    again = sklar.load(tmp_path / "m.sklar")
    assert again.claim == model.claim
    assert again.sample(30, seed=1) == model.sample(30, seed=1)


def test_the_claim_names_the_prior_and_says_that_nothing_protects_it() -> None:
    columns = ["age", "region"]
    prior = pd.DataFrame(table(500, seed=3))[columns]
    model = sklar.fit(
        pd.DataFrame(table(FEW)), schema(), epsilon=1.0, prior=sklar.Prior(data=prior, name="survey", by="Ada")
    )
    told = str(model.claim)
    assert "NOT PROTECTED by this promise: the prior 'survey' (500 rows; counts of age, region;" in told
    assert "for which Ada vouches" in told
    assert model.claim.prior is not None
    assert model.claim.to_dict()["prior"]["digest"] == model.fit_facts["prior"] == model.claim.prior.digest
    without = sklar.fit(pd.DataFrame(table(FEW)), schema(), epsilon=1.0)
    assert "prior" not in str(without.claim)
    assert "prior" not in without.claim.to_dict()


def test_a_changed_prior_in_a_file_is_found(tmp_path: Path) -> None:
    model = sklar.fit(pd.DataFrame(table(FEW)), schema(), epsilon=1.0, prior=pd.DataFrame(table(500, seed=3)))
    model.save(tmp_path / "m.sklar")
    stored = read_model(tmp_path / "m.sklar")
    assert stored.prior is not None
    write_model(replace(stored, prior=replace(stored.prior, name="harmless")), tmp_path / "renamed.sklar")
    assert not sklar.verify(tmp_path / "renamed.sklar").ok
    write_model(replace(stored, prior=None), tmp_path / "gone.sklar")
    assert not sklar.verify(tmp_path / "gone.sklar").ok


@pytest.mark.slow
def test_a_released_model_is_a_prior(tmp_path: Path) -> None:
    """Last year's model, as such and as a file; a column that it describes as another kind is no prior."""
    last = sklar.fit(pd.DataFrame(table(2000, seed=3)), schema(), epsilon=2.0)
    last.save(tmp_path / "last.sklar")
    other = sklar.Schema({**dict(schema().items()), "visits": sklar.Category([str(i) for i in range(31)])})
    for prior, facts, columns in (
        (tmp_path / "last.sklar", schema(), 6),
        (last, schema(), 6),
        (last, other, 5),
    ):
        model = sklar.fit(pd.DataFrame(table(FEW)), facts, epsilon=1.0, prior=prior)
        assert model.claim.prior is not None
        assert len(model.claim.prior.columns) == columns
    assert model.claim.prior.name == "a model"


def test_bad_priors_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    pd.DataFrame(table(FEW)).to_csv(data, index=False)
    os.link(data, tmp_path / "alias.csv")
    (tmp_path / "link.csv").symlink_to(data)
    frame = pd.read_csv(data)
    baseline = sklar.fit(frame, schema(), method="plain-gaussian", no_guarantee=True)
    cases: list[tuple[Any, Any, str]] = [
        (data, data, "private table itself"),
        (data, str(data), "private table itself"),
        (data, tmp_path / "alias.csv", "private table itself"),
        (data, tmp_path / "link.csv", "private table itself"),
        (frame, frame, "private table itself"),
        (data, pd.DataFrame({"x": [1]}), "none of the columns"),
        (data, baseline, "model without a guarantee"),
    ]
    for rows, prior, message in cases:
        with pytest.raises(UsageError, match=message):
            sklar.fit(rows, schema(), epsilon=1.0, prior=prior)
    with pytest.raises(UsageError, match="no rows"):
        sklar.fit(frame, schema(), epsilon=1.0, prior=frame.iloc[:0])
    with pytest.raises(sklar.errors.SklarError):
        sklar.fit(frame, schema(), epsilon=1.0, prior=tmp_path / "nowhere.csv")
    ledger = Path(f"{data}.ledger")
    assert not ledger.exists() or not sklar.read_ledger(ledger).fits


@pytest.mark.parametrize("method", ["independent", "dpcopula-kendall", "dpc-gauss"])
def test_methods_that_cannot_lean_refuse_a_prior(method: str) -> None:
    frame = pd.DataFrame(table(FEW))
    with pytest.raises(UsageError, match="does not use a prior"):
        sklar.fit(frame, schema(), method=method, epsilon=1.0, prior=frame.copy())
    with pytest.raises(UsageError, match="does not use a prior"):
        sklar.fit(frame, schema(), method="plain-gaussian", no_guarantee=True, prior=frame.copy())


def test_a_prior_may_have_some_of_the_columns_and_odd_values() -> None:
    prior = pd.DataFrame({"age": ["x", None, "40"], "region": ["north", "moon", "south"]})
    model = sklar.fit(pd.DataFrame(table(FEW)), schema(), epsilon=1.0, prior=prior)
    assert model.sample(20, seed=1).num_rows == 20


@pytest.mark.slow
def test_a_prior_that_was_not_declared_before_the_fit_is_found_by_the_ledger(tmp_path: Path) -> None:
    people(1, 300).to_csv(tmp_path / "t.csv", index=False)
    sklar.Ledger.create(tmp_path / "t.ledger", "people", 9, 9e-9)
    model = sklar.fit(tmp_path / "t.csv", FACTS, epsilon=1.0, ledger=tmp_path / "t.ledger", prior=people(2, 300))
    stored = model._stored  # pyright: ignore[reportPrivateUsage]
    assert stored.prior is not None
    renamed = replace(stored.prior, by="National Statistics Office")
    longer = replace(stored.prior, pairs=np.append(stored.prior.pairs, [4, 5, 6]))
    fact = stored.claim.prior
    assert fact is not None
    for prior in (renamed, longer):
        claim = replace(stored.claim, prior=replace(fact, by=prior.by, digest=prior.digest))
        told = {**stored.fit, "prior": prior.digest}
        Model(replace(stored, prior=prior, claim=claim, fit=told)).save(tmp_path / "x.sklar", force=True)
        found = sklar.verify(tmp_path / "x.sklar", ledger=tmp_path / "t.ledger")
        assert not found.ok and "ledger" in [check.part for check in found.checks if check.ok is False]
    assert not longer.is_whole() and renamed.is_whole()


def test_what_is_plainly_the_private_table_is_no_prior(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    frame = people(1, 300)
    frame.to_csv(tmp_path / "folder" / "t.csv", index=False)
    sklar.Ledger.create(tmp_path / "t.ledger", "people", 9, 9e-9)
    given: dict[str, Any] = {"epsilon": 1.0, "ledger": tmp_path / "t.ledger"}
    with pytest.raises(UsageError, match="private table itself"):
        sklar.fit(tmp_path / "folder", FACTS, prior=tmp_path / "folder" / "t.csv", **given)
    with pytest.raises(UsageError, match="private table itself"):
        sklar.fit(tmp_path / "folder" / "t.csv", FACTS, prior=tmp_path / "folder", **given)
    with pytest.raises(UsageError, match="private table itself"):
        sklar.fit(str(tmp_path / "folder" / "*.csv"), FACTS, prior=tmp_path / "folder" / "t.csv", **given)
    with pytest.raises(UsageError, match="private table itself"):
        sklar.fit(tmp_path / "folder" / "t.csv", FACTS, prior=str(tmp_path / "*" / "t.csv"), **given)
    frame.to_parquet(tmp_path / "t.parquet")
    query = sklar.ReadOptions(sql=f"SELECT * FROM '{tmp_path}/t.parquet'")
    with pytest.raises(UsageError, match="private table itself"):
        sklar.fit(None, FACTS, prior=tmp_path / "t.parquet", read=query, **given)
    assert not sklar.read_ledger(tmp_path / "t.ledger").fits
    first = sklar.fit(tmp_path / "folder" / "t.csv", FACTS, **given)
    with pytest.raises(UsageError, match="model of the same rows"):
        sklar.fit(tmp_path / "folder" / "t.csv", FACTS, prior=first, **given)


def test_another_spelling_of_the_private_table_is_no_prior(tmp_path: Path) -> None:
    base = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(base)) as connection:
        people(1, 300).to_sql("t", connection, index=False)
        people(2, 300).to_sql("open", connection, index=False)
    os.link(base, tmp_path / "alias.sqlite")
    given: dict[str, Any] = {"epsilon": 1.0, "new_ledger": True}
    url, named = f"sqlite://{base}?table=", sklar.ReadOptions(table="t")
    cases: list[tuple[Any, Any, str]] = [
        (f"{url}t", None, f"{url}main.t"),
        (f"{url}t", None, f"sqlite://{tmp_path}/x/../alias.sqlite?table=T&schema=main"),
        (base, named, f"{url}t"),
    ]
    for at, (data, read, prior) in enumerate(cases):
        with pytest.raises(UsageError, match="private table itself"):
            sklar.fit(data, FACTS, prior=prior, read=read, ledger=tmp_path / f"l{at}", **given)
    model = sklar.fit(base, FACTS, prior=f"{url}open", read=named, ledger=tmp_path / "l", **given)
    assert model.claim.prior is not None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("h/db?table=t", "u:pw@H:5432/db?table=public.t&sslmode=require", True),
        ("h/db?table=t", "?host=h&port=5432&dbname=db&schema=public&table=t", True),
        ("localhost/db?table=t", "/db?host=/tmp&table=t", True),
        ("h/db?table=t", "h/db", True),
        ("h/db?table=t", "h/db?table=open.t", False),
        ("h/db?table=t", "h:5433/db?table=t", False),
        ("h/db?table=t", "h/other?table=t", False),
        ("h/db?table=t", "h/db?table=T", False),
    ],
)
def test_addresses_of_one_table_on_a_server_meet(one: str, other: str, same: bool) -> None:
    found = [table_address(f"postgresql://{text}") for text in (one, other)]
    assert found[0] is not None and found[1] is not None
    assert found[0].meets(found[1]) == same == found[1].meets(found[0])


def test_a_claim_with_a_prior_says_so_wherever_it_is_shortened(tmp_path: Path) -> None:
    """An epsilon is never quoted without it: labels, cards, manifests and records say "given a prior"."""
    model = sklar.fit(people(1, 300), FACTS, epsilon=1.0, prior=people(2, 200))
    given = "given a prior taken as public"
    assert f"delta = 1e-09, {given} (method vine)" in model.claim.label
    assert given in str(model.claim).split(". ")[0]
    assert given in model._repr_html_()  # pyright: ignore[reportPrivateUsage]
    sklar.bundle(model, tmp_path / "r.zip", rows=20)
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        read = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith((".json", ".html"))}
    assert given in json.loads(read["manifest.json"])["guarantee"]
    assert json.loads(read["registry.json"])["guarantee"]["given"] == given.removeprefix("given ")
    assert '<th scope="row">Given</th>' in read["claim.html"] and given in read["croissant.json"]
    assert given not in sklar.fit(people(1, 300), FACTS, epsilon=1.0).claim.label


@pytest.mark.slow
def test_a_model_as_prior_is_quoted_with_its_own_promise(tmp_path: Path) -> None:
    """Who is in both tables has both promises: the claim names the other one, and it cannot be changed."""
    last = sklar.fit(people(3, 300), FACTS, epsilon=7.5, delta=1e-7)
    model = sklar.fit(people(1, 300), FACTS, epsilon=1.0, prior=last)
    assert model.claim.prior is not None
    assert model.claim.prior.promise == f"{last.claim.label}, for {last.claim.protected}"
    assert "where both promises protect the same change" in str(model.claim)
    assert "epsilon = 7.5, delta = 1e-07" in str(model.claim) and "add up" in str(model.claim)
    model.save(tmp_path / "m.sklar")
    stored = read_model(tmp_path / "m.sklar")
    assert stored.prior is not None and sklar.verify(tmp_path / "m.sklar").ok
    cheaper = replace(stored.claim.prior, promise=last.claim.label.replace("7.5", "0.1"))  # type: ignore[type-var]
    write_model(replace(stored, claim=replace(stored.claim, prior=cheaper)), tmp_path / "forged.sklar")
    assert not sklar.verify(tmp_path / "forged.sklar")["claim"].ok


COPIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "copy": lambda frame: frame.copy(),
    "shallow": lambda frame: frame.copy(deep=False),
    "columns of a copy": lambda frame: frame[["age", "kind"]].copy(),
    "first rows": lambda frame: frame.iloc[:50],
    "new index": lambda frame: frame.reset_index(drop=True),
    "other types": lambda frame: frame.astype(object),
    "arrays": lambda frame: {name: column.to_numpy() for name, column in frame.items()},
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "polars": lambda frame: pl.from_pandas(frame),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=list(COPIES))
def test_a_copy_or_a_part_of_a_frame_is_no_prior(copied: Callable[[pd.DataFrame], Any]) -> None:
    frame = people(1, 300)
    with pytest.raises(UsageError, match="private table itself, or a copy"):
        sklar.fit(frame, FACTS, epsilon=1.0, prior=copied(frame))


def test_disjoint_parts_of_one_table_are_told_apart() -> None:
    """Half of a table may be public: slices lie side by side in memory and share nothing."""
    frame = people(1, 400)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frames = pl.from_arrow(table)
    assert isinstance(frames, pl.DataFrame)
    for one, other in (
        (frame.iloc[:150], frame.iloc[150:]),
        (table.slice(0, 152), table.slice(152)),
        (frames.head(152), frames.slice(152)),
        (frame, people(1, 400)),
    ):
        assert not same_memory(one, other) and same_memory(one, one)


def test_a_copy_by_another_way_is_told_by_the_noisy_counts() -> None:
    """Whether values are equal may not leave the rows; that margins agree to their noise may."""
    frame = people(1, 5_000)
    with pytest.warns(WeakPromiseWarning, match="as a copy would"):
        sklar.fit(frame, FACTS, epsilon=3.0, prior=pd.DataFrame(frame.to_dict("list")))
    sklar.fit(frame, FACTS, epsilon=3.0, prior=people(2, 5_000))  # warnings are errors here
