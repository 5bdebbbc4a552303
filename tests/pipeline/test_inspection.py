"""What an inspection tells per column: also what is too rare to be told from none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app

SCHEMA = sklar.Schema(
    {
        "amount": sklar.Real(0, 1_000, nullable=True),
        "kind": sklar.Category(["a", "b"], nullable=True),
        "n": sklar.Integer(0, 9),
    }
)


def frame(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    amount = np.where(rng.random(rows) < 0.1, np.nan, rng.gamma(2.0, 20.0 + 40 * seed, rows))
    return pd.DataFrame({"amount": amount, "kind": rng.choice(["a", "b"], rows), "n": rng.integers(0, 10, rows)})


def unseen(model: sklar.Model) -> dict[str, dict[str, float]]:
    return {margin["column"]: margin["unseen"] for margin in model.inspect()["margins"]}


def test_shares_too_small_to_be_seen_follow_from_the_noise_alone():
    """The number of rows is public under replace-one: then two tables of as many rows have the same shares."""
    models = [
        sklar.fit(frame(2_000, seed), SCHEMA, method="independent", epsilon=epsilon, delta=1e-9, neighbours="replace")
        for seed, epsilon in ((0, 1.0), (1, 1.0), (0, 4.0))
    ]
    one, other, richer = (unseen(model) for model in models)
    # A lump that noise makes up has a cell of its own now and then, which moves the share of a tail a little.
    assert one["amount"]["tail"] == pytest.approx(other["amount"]["tail"], rel=0.1)
    assert {**one, "amount": one["amount"]["null"]} == {**other, "amount": other["amount"]["null"]}
    assert set(one["amount"]) == {"null", "tail"} and set(one["kind"]) == {"null"} and set(one["n"]) == {"tail"}
    assert one["amount"]["tail"] > one["amount"]["null"] > 2.5 * richer["amount"]["null"] > 0
    noises = [step["noise"]["std"] for step in models[0].inspect()["steps"]]
    assert one["amount"]["null"] < 2.0 * max(noises) / 2_000


def test_the_command_shows_them(tmp_path):
    model = sklar.fit(frame(2_000, 0), SCHEMA, method="vine", epsilon=2.0, delta=1e-9)
    model.save(tmp_path / "m.sklar")
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "m.sklar")]).stdout
    assert "undetectable" in shown
    assert f"null below {100 * unseen(model)['kind']['null']:.2g}%" in shown


def test_without_noise_nothing_is_said():
    model = sklar.fit(
        frame(500, 0)[["n"]], sklar.Schema({"n": SCHEMA["n"]}), method="plain-gaussian", no_guarantee=True
    )
    with pytest.raises(KeyError):
        unseen(model)
