"""Attacks on methods: a copier is caught, noise is not; games are resumed; bad input is told."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.attacks.attribute_fits import ATTRIBUTE_PROFILES
from sklar.lab.attacks.classifiers import (
    HISTOGRAM_CELLS,
    classify_by_threshold,
    classify_tables,
    closest_features,
    find_threshold,
    table_features,
)
from sklar.lab.attacks.games import load_part, open_state, run_parts, save_part
from sklar.lab.attacks.regression import design_layout
from sklar.lab.attacks.shadow import SHADOW_PROFILES
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import coarse_grid
from tests.lab.attacks.people import SCHEMA, copies, people

REAL = people(260, 0)
TINY = {"iterations": 2, "reference": 120, "shadows": 4, "tables": 4, "size": 60, "synthetic": 300, "test_tables": 8}
FAST = {"profile": "quick", "workers": 1, "changes": TINY, "random_targets": 1}


def copier(table: pa.Table, rows: int, seed: int) -> pd.DataFrame:
    return copies(table.to_pandas(), rows, 0.005, seed)


def deaf(table: pa.Table, rows: int, seed: int) -> pd.DataFrame:
    """A generator that never looks at its rows."""
    return people(rows, 10_000 + seed)


class Levels:
    """Two levels from one fit: deaf below, copying above."""

    levels = ("1", "2")

    def fit(self, table: pa.Table, seed: int) -> Levels:
        self.table = table
        return self

    def generate(self, level: str, rows: int, seed: int) -> pd.DataFrame:
        return (deaf if level == "1" else copier)(self.table, rows, seed)


def shadow(method: Any, **options: Any) -> sklar.results.Attack:
    return sklar.lab.attack_method("shadow", method, REAL, SCHEMA, **{**FAST, **options})


def test_the_profile_of_the_paper() -> None:
    paper, attribute = SHADOW_PROFILES["paper"], ATTRIBUTE_PROFILES["paper"]
    assert (paper.iterations, paper.reference, paper.shadows, paper.tables) == (10, 500, 10, 10)
    assert (paper.size, paper.synthetic, paper.test_tables) == (400, 400, 50)
    assert (attribute.iterations, attribute.reference, attribute.size, attribute.tables) == (10, 500, 500, 50)


@pytest.mark.slow
def test_a_copier_is_caught_and_a_deaf_generator_is_not() -> None:
    options = {"features": ["naive", "closest"], "classifier": "logistic", "epsilon": 1.0, "random_targets": 3}
    found = shadow(Levels(), sensitive="income", **options)
    for group in ("outlying", "random"):
        caught, honest = found[f"pg_{group}[2]"], found[f"pg_{group}[1]"]
        assert caught.attack.value < 0.1 and caught.alarming
        assert honest.attack.contains(1.0) and not honest.alarming
        assert caught.control is not None and abs(caught.control.value - 1.0) < 0.3
    details = found.details
    assert details["dp_bound"] == pytest.approx(2 - np.e)
    targets = details["levels"]["2"]["best"]
    assert [t["group"] for t in targets] == ["outlying"] * 4 + ["random"] * 3
    assert all(len(t["gains"]) == 2 for t in targets)
    json.dumps(found.to_dict(), allow_nan=False)


def every_row_once(table: pa.Table, rows: int, seed: int) -> pd.DataFrame:
    """The real rows themselves, numbers moved a little, over and over until there are enough."""
    rng, real = np.random.default_rng(seed), table.to_pandas()
    order = np.concatenate([rng.permutation(len(real)) for _ in range(-(-rows // len(real)))])[:rows]
    out = real.iloc[order].reset_index(drop=True)
    return out.assign(**{name: out[name] + rng.normal(0, 0.05, rows) for name in ("weight", "height")})


@pytest.mark.slow
@pytest.mark.parametrize(("method", "gain"), [(every_row_once, 0.0), (copier, (1 - 1 / 60) ** 60), (deaf, 1.0)])
def test_the_gain_of_tables_as_large_as_the_fit_is_what_arithmetic_says(method: Any, gain: float) -> None:
    # A row drawn with replacement is missing from (1 - 1/n)^n of the tables, whoever attacks.
    changes = {**TINY, "iterations": 4, "shadows": 6, "synthetic": 60, "test_tables": 20}
    found = shadow(method, features=["closest"], changes=changes, targets=[3, 50, 100, 200])
    assert found["pg_chosen"].attack.value == pytest.approx(gain, abs=0.14)
    assert found["pg_chosen"].attack.low < found["pg_chosen"].attack.high


def test_the_threshold_of_distances() -> None:
    rng = np.random.default_rng(0)
    far, near = rng.normal(0, 0.2, 40), rng.normal(-5, 0.2, 40)
    assert -4.4 < find_threshold(far, near) < -0.7
    # Half of the tables with the target look like those without it: the gap is found all the same.
    assert -4.4 < find_threshold(far, np.concatenate([near[:20], rng.normal(0, 0.2, 20)])) < -0.7
    assert classify_by_threshold(far, near, [near, far]) == [1.0, 0.0]
    # A row that is further away never speaks for the target, and equal values say nothing.
    assert find_threshold(near, far) < near.min() + 0.1
    assert find_threshold(np.zeros(5), np.zeros(7)) == -np.inf


def test_a_feature_that_does_not_vary_is_left_out() -> None:
    train = np.column_stack([np.full(20, 0.1, dtype=np.float32), np.repeat([0.0, 1.0], 10).astype(np.float32)])
    seen = classify_tables("logistic", train, np.repeat([0, 1], 10), [train[10:], train[:10]], 0)
    assert seen == [1.0, 0.0] and classify_tables("logistic", train[:, :1], np.repeat([0, 1], 10), [train], 0) == [0.5]


PEER = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
train, schema, epsilon, delta, rows, output = sys.argv[-6:]
assert "weight" in open(schema).read() and epsilon in ("", "0.5") and float(delta) == 1e-9
table = pq.ParquetFile(train).read()  # unlike read_table it does not load pandas
if sys.argv[1] == "short":
    rows = table.num_rows // 2
if sys.argv[1] == "fails":
    raise ValueError("secret cell")
over_and_over = pa.concat_tables([table] * (1 + int(rows) // table.num_rows))
pq.write_table(over_and_over.slice(0, int(rows)), output)
"""


def peer(folder: Path, word: str = "copies") -> str:
    (folder / "peer.py").write_text(PEER)
    return f"{sys.executable} {folder / 'peer.py'} {word}"


def over_and_over(table: pa.Table, rows: int, seed: int) -> pa.Table:
    return table.take([i % table.num_rows for i in range(rows)])


@pytest.mark.slow
def test_a_peer_that_copies_is_caught(tmp_path: Path) -> None:
    few = {**FAST, "targets": [3], "changes": {**TINY, "synthetic": 120}}
    peers = {"copier": peer(tmp_path)}
    found = sklar.lab.attack_method(
        "shadow", "copier", REAL, SCHEMA, peers=peers, settings={"epsilon": 0.5}, **{**few, "workers": None}
    )
    assert found.name == "copier" and found["pg_chosen"].attack.value < 0.2
    once = {"copier": peer(tmp_path) + " {train} {schema} '' 1e-9 {rows} {output}"}
    games: dict[str, Any] = {
        "sensitive": ["weight"], "profile": "quick", "workers": 1,
        "changes": {"iterations": 2, "reference": 120, "size": 120, "tables": 2},
    }  # fmt: skip
    told = sklar.lab.attack_method("attribute", "copier", REAL, SCHEMA, peers=once, **games)
    copied = sklar.lab.attack_method("attribute", over_and_over, REAL, SCHEMA, **games)
    assert told["weight.mab"].attack.value == pytest.approx(copied["weight.mab"].attack.value, rel=1e-6)


@pytest.mark.parametrize(
    ("word", "options", "words"),
    [
        ("copies", {}, "needs an epsilon"),
        ("copies", {"settings": {"epsilon": 0.5, "k": 8}}, "write 'k' into its command"),
        ("copies", {"settings": {"epsilon": 0.5}, "levels": [1]}, "write 'levels' into its command"),
        ("short", {"settings": {"epsilon": 0.5}}, "30 rows instead"),
        ("fails", {"settings": {"epsilon": 0.5}}, "failed with exit code 1; its messages are in logs/it.log"),
    ],
)
def test_peers_that_cannot_be_attacked_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, options: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(sklar.errors.SklarError, match=words) as caught:
        sklar.lab.attack_method("shadow", "it", REAL, SCHEMA, peers={"it": peer(tmp_path, word)}, **FAST, **options)
    assert "secret" not in str(caught.value)
    assert not list(tmp_path.rglob("*.parquet"))


def test_outlying_targets_are_at_the_quantiles() -> None:
    found = shadow(deaf, sensitive="weight", features=["naive"], classifier="logistic")
    rows = [t["target"] for t in found.details["levels"]["only"]["naive"] if t["group"] == "outlying"]
    ranks = REAL["weight"].rank().to_numpy()[rows] / len(REAL)
    assert ranks == pytest.approx([0.01, 0.025, 0.975, 0.99], abs=0.01)


@pytest.mark.slow
def test_a_private_method_by_name() -> None:
    settings = {"epsilon": 1.0, "repair": "clip"}
    small = {**TINY, "iterations": 2, "shadows": 2, "tables": 2, "synthetic": 60, "test_tables": 4}
    found = shadow("independent", settings=settings, targets=[3], features=["naive"], changes=small)
    assert found.name == "independent" and found.details["dp_bound"] == pytest.approx(2 - np.e)
    assert found["pg_chosen"].control is None


def test_features_of_tables_that_lie_one_after_the_other() -> None:
    real = read_table(REAL, SCHEMA, np.random.default_rng(0), role="real")
    grid, layout = coarse_grid(real.schema, HISTOGRAM_CELLS), design_layout(real)
    both = table_features(real.take(np.arange(200)), 2, grid, layout)
    closest = closest_features(real.take(np.arange(200)), 2, real, np.array([7, 150]))
    for at in range(2):
        alone = table_features(real.take(np.arange(100 * at, 100 * at + 100)), 1, grid, layout)
        for name, values in alone.items():
            assert np.allclose(values[0], both[name][at])
    corr = np.corrcoef(REAL["age"][:100], REAL["weight"][:100])[0, 1]
    ordered = [name for name in real.names if real.schema[name].ordered]
    assert ordered[:3] == ["age", "income", "weight"] and both["correlation"][0, 1] == pytest.approx(corr)
    assert both["naive"][0, 0] == pytest.approx(REAL["age"][:100].mean())
    assert closest[0, 0] == pytest.approx(np.log(1e-6)) and closest[1, 0] > -3
    assert closest[1, 1] == pytest.approx(np.log(1e-6)) and closest[0, 1] > -3


def linked(table: pa.Table, rows: int, seed: int) -> pd.DataFrame:
    """Weight is a function of height, all else is noise."""
    out = people(rows, 10_000 + seed)
    return out.assign(weight=0.9 * out["height"] - 85)


def attribute(method: Any, **options: Any) -> sklar.results.Attack:
    changes = {"iterations": 3, "reference": 100, "size": 150, "tables": 5}
    given = {"profile": "quick", "workers": 1, "changes": changes, "sensitive": ["weight", "age"], **options}
    return sklar.lab.attack_method("attribute", method, REAL, SCHEMA, **given)


def test_attribute_inference_from_fits() -> None:
    found = attribute(linked)
    assert found["weight.wcab"].attack.value == pytest.approx(1.0, abs=0.02)
    assert found["weight.mr2"].attack.value > 0.99 > 0.6 > found["weight.mr2"].control.value  # type: ignore[union-attr]
    mab = found["weight.mab"]
    details = found.details["weight"]["levels"]["only"]
    assert mab.attack.value == pytest.approx(np.mean(details["mab_by_game"]))
    # One coefficient of 1, the others 0: MAB is one over their number.
    assert mab.attack.value == pytest.approx(1 / len(found.details["features"]["weight"]), rel=0.02)
    assert found["weight.mr2"].alarming and not found["age.mr2"].alarming
    assert len(details["mse_by_target"]) >= 8
    assert found["weight.mse"].baseline.value == 1.0  # type: ignore[union-attr]
    json.dumps(found.to_dict(), allow_nan=False)


def test_levels_come_from_one_fit() -> None:
    found = attribute(Levels())
    assert {"weight.mab[1]", "weight.mab[2]", "age.mr2[1]", "age.mr2[2]"} <= {n.name for n in found.numbers}


def test_an_interrupted_attack_is_taken_up(tmp_path: Path) -> None:
    calls: list[int] = []

    def stops(table: pa.Table, rows: int, seed: int) -> pd.DataFrame:
        calls.append(seed)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return deaf(table, rows, seed)

    folder = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        attribute(stops, state=folder)
    kept = sorted(folder.glob("*.npz"))
    assert len(kept) == 2 and stat.S_IMODE(kept[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(UsageError, match="parts of another attack"):
        attribute(stops, state=folder, seed=1)
    resumed = attribute(stops, state=folder)
    assert len(calls) == 4 and not folder.exists()
    whole = attribute(deaf)
    assert whole["weight.mab"].attack == resumed["weight.mab"].attack


def double(game: int, part: str) -> dict[str, np.ndarray]:
    return {"x": np.array([game * int(part)])}


@pytest.mark.slow
def test_parts_run_in_other_processes(tmp_path: Path) -> None:
    told: list[str] = []
    with open_state(tmp_path / "s", "a") as folder:
        save_part(folder, "1", {"x": np.array([99])})
        run_parts(2, double, ["1", "2", "3"], folder, workers=2, done=lambda what, _: told.append(what), what="part")
        assert [int(load_part(folder, part)["x"][0]) for part in "123"] == [99, 4, 6]
    assert told[0] == "part 1 of 3" and "left" in told[-1] and told[-1].startswith("part 3 of 3")


PLAIN_SCRIPT = """
import sys
import numpy as np
import pandas as pd
import sklar

print("begun")
rng = np.random.default_rng(0)
table = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "y": rng.random(60) > 0.5})
schema = sklar.Schema({"a": sklar.Real(-5, 5), "b": sklar.Real(-5, 5), "y": sklar.Boolean()})
found = sklar.lab.attack_method(
    "attribute", "tvine", table, schema, sensitive=["a"], levels=[1, 2], profile="quick",
    settings={"target": "y", "sensitive": ["a"], "families": "gaussian"},
    changes={"iterations": 2, "tables": 2, "reference": 50, "size": 50},
)
print(found.settings["levels"], sys.modules["__main__"].__file__.endswith("plain.py"))
"""


@pytest.mark.slow
def test_a_plain_script_without_a_main_guard_attacks_a_method(tmp_path: Path) -> None:
    """Two processes by default; neither runs the script again."""
    (tmp_path / "plain.py").write_text(PLAIN_SCRIPT)
    done = subprocess.run([sys.executable, tmp_path / "plain.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["begun", "['1', '2'] True"]


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("shadow", {"method": None}, "a method is a name"),
        ("shadow", {"method": "magic"}, "no method 'magic'"),
        ("shadow", {"targets": [5, 999]}, "999 is not in the table"),
        ("shadow", {"targets": []}, "none was given"),
        ("shadow", {"profile": "paper", "changes": {}}, "at least 505 real rows"),
        ("shadow", {"profile": "slow"}, "no profile 'slow'"),
        ("shadow", {"changes": {"runs": 3}}, "no parameter 'runs'"),
        ("shadow", {"changes": {"tables": 1}}, "tables must be"),
        ("shadow", {"features": ["magic"]}, "features are any of"),
        ("shadow", {"classifier": "oracle"}, "no classifier 'oracle'"),
        ("shadow", {"published": True, "features": "closest"}, "'closest', which is not published"),
        ("attribute", {"published": True}, "no option 'published'"),
        ("shadow", {"sensitive": "person"}, "identifier or ignored"),
        ("shadow", {"turbo": 1}, "no option 'turbo'"),
        ("shadow", {"method": 3}, "a method is a name"),
        ("copies", {}, "is not available for methods"),
        ("shadow", {"targets": 3}, "targets must be a list of rows"),
        ("shadow", {"targets": [1.5]}, "targets must be a list of rows"),
        ("shadow", {"features": 3}, "features must be a name or a list of names"),
        ("shadow", {"sensitive": 3}, "sensitive must be a name"),
        ("shadow", {"classifier": 3}, "classifier must be a word"),
        ("shadow", {"random_targets": -1}, "random_targets must be a whole number of at least 0"),
        ("shadow", {"workers": "2"}, "workers must be a whole number"),
        ("shadow", {"changes": 3}, "changes must be parameters"),
        ("shadow", {"epsilon": "1"}, "epsilon must be a number above 0"),
        ("shadow", {"state": 3}, "state must be the path"),
        ("shadow", {"levels": 3}, "levels must be a list of truncation levels"),
        ("shadow", {"levels": [0]}, "levels must be a list of truncation levels"),
        ("shadow", {"settings": 3}, "settings must be settings of the method"),
        ("shadow", {"holdout": REAL}, "no option 'holdout'"),
        ("shadow", {"seed": "x"}, "seed must be a whole number"),
        ("attribute", {"sensitive": "sex"}, "has no order"),
        ("attribute", {"profile": "paper", "changes": {}, "sensitive": "age"}, "at least 500 real rows"),
    ],
)
def test_bad_input_is_told(kind: str, options: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"method": deaf, **FAST, **options}
    if kind != "shadow" and "changes" not in options:
        given.pop("changes")
    with pytest.raises(UsageError, match=words):
        sklar.lab.attack_method(kind, given.pop("method"), REAL, SCHEMA, **given)


def test_a_folder_without_finished_parts_does_not_stand_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), open_state(tmp_path / "s", "a"):
        raise RuntimeError
    with pytest.raises(RuntimeError), open_state(tmp_path / "s", "b") as folder:
        save_part(folder, "p", {"x": np.zeros(1)})
        raise RuntimeError
    with pytest.raises(UsageError, match="parts of another attack"), open_state(tmp_path / "s", "a"):
        pass


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.npz").write_bytes(b"mine")
    with pytest.raises(UsageError, match="no attack was started there"), open_state(tmp_path, "a"):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["mine.npz"]
