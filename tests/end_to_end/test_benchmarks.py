"""The benchmarks need no folder outside the repository: their tables are made, or fetched and checked, and judged by
metrics that are told apart from ours by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from benchmarks import metrics, nist, plausibility, yardstick
from benchmarks.data import prepare, sources
from benchmarks.data.__main__ import main as fetch_named
from benchmarks.data.made_up import CENSUS, DOMAIN, SHAPES, census, gauss8, gaussian_dependence, tail6
from benchmarks.data.r_stream import RStream
from benchmarks.data.simulated import parameters, simulated
from benchmarks.tables import APPENDIX_N, Split, facts, load, support2_schema

ROOT = Path(__file__).parents[2]
OUTSIDE = ("../" + "shared", "/work/" + "shared", '"shared"' + " /", "SKLAR_" + "BENCH", "harness" + ".py")

EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""Git's hash of an empty file."""


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("folder", ["benchmarks", "tests"])
def test_no_file_names_a_folder_outside_the_repository(folder):
    paths = [path for end in ("py", "md", "toml", "txt") for path in (ROOT / folder).rglob(f"*.{end}")]
    named = [path for path in paths if ".venvs" not in path.parts for word in OUTSIDE if word in path.read_text()]
    assert len(paths) > 50 or folder == "benchmarks"
    assert named == []


def test_no_table_is_part_of_the_repository():
    ends = (".csv", ".data", ".parquet", ".zip", ".xlsx")
    assert [path.name for path in (ROOT / "benchmarks").rglob("*") if path.name.endswith(ends) and _kept(path)] == []


def _kept(path):
    return "files" not in path.parts and ".venvs" not in path.parts


def test_the_stream_is_that_of_r():
    """set.seed(123); sample(10); set.seed(42); sample(10); set.seed(123); rnorm(3), as any R prints them."""
    assert (RStream(123).sample(10, 10) + 1).tolist() == [3, 10, 2, 8, 6, 9, 1, 7, 5, 4]
    assert (RStream(42).sample(10, 10) + 1).tolist() == [1, 5, 10, 8, 2, 4, 6, 9, 7, 3]
    assert RStream(123).normal(3) == pytest.approx([-0.56047565, -0.23017749, 1.55870831], abs=1e-8)


def test_the_simulated_rows_are_the_published_ones():
    train, test = simulated("train"), simulated("test")
    assert (train.shape, test.shape) == ((1000, 21), (250, 21))
    published = [-2.75989710999199, 9.21014528602249, 19.4864757312247, 14.2158060800736, 1.44148136343931]
    assert train.iloc[0, :5].tolist() == pytest.approx(published, abs=1e-5)
    unseen = [-0.291054889842339, 5.1935269401442, 24.4919390591117, 11.1789273713529]
    assert test.iloc[0, :4].tolist() == pytest.approx(unseen, abs=1e-5)
    assert train["Y"].mean() == test["Y"].mean() == 0.5


def test_the_simulated_table_has_three_independent_blocks():
    for y in (0, 1):
        _, cov = parameters(y)
        outside = [(slice(0, 5), slice(5, 20)), (slice(5, 10), slice(10, 20))]
        assert all((cov[place] == 0).all() for place in outside)
        assert np.linalg.eigvalsh(cov).min() > 0 and (cov == cov.T).all()
    (zero, first), (one, second) = parameters(0), parameters(1)
    assert (zero[:10] == one[:10]).all() and (first[:10, :10] == second[:10, :10]).all()
    assert (zero[10:] != one[10:]).all()


def test_support2_is_prepared_as_its_authors_did():
    rng = np.random.default_rng(0)
    raw = pd.DataFrame(rng.normal(size=(60, 28)), columns=[*prepare.SUPPORT2, "death", "adls"])
    raw["death"] = rng.integers(0, 2, 60)
    raw.loc[[3, 4], "adls"] = np.nan
    raw.loc[7, "crea"] = np.nan
    train, test = prepare.prepare_support2(raw)
    assert (len(train), len(test)) == (46, 11)
    assert list(train) == [*prepare.SUPPORT2, "Y"]
    whole = raw.drop(index=[3, 4, 7])
    assert sorted([*train["ph"], *test["ph"]]) == sorted(whole["ph"])
    assert test["ph"].tolist() == whole["ph"].iloc[RStream(3527).sample(57, 11)].tolist()
    assert set(APPENDIX_N) == set(prepare.SUPPORT2)
    assert support2_schema(train)["scoma"].upper == 15


def test_adult_and_compas_are_prepared_from_their_raw_columns():
    raw = pd.DataFrame([[39, "State-gov", 77516, *["x"] * 11, "<=50K"], [50, "?", 83311, *["y"] * 11, ">50K"]])
    adult = prepare.prepare_adult(raw.set_axis(prepare.ADULT, axis=1))
    assert "fnlwgt" not in adult and adult["salary"].tolist() == [0, 1]
    lines = {name: ["a", "b", "c"] for name in prepare.COMPAS} | {
        "days_b_screening_arrest": [-1.0, np.nan, 3.0],
        "score_text": ["Low", "Low", np.nan],
    }
    compas = prepare.prepare_compas(pd.DataFrame(lines))
    assert compas["days_b_screening_arrest"].tolist() == [-1] and "charge_degree" in compas


def test_another_file_is_refused(empty_folder):
    (empty_folder / "hmeq.csv").write_text("BAD\n1\n")
    with pytest.raises(SystemExit, match="another file"):
        sources.find("hmeq")


def test_a_file_known_by_gits_hash_is_checked_and_named_where_it_cannot_be_had(empty_folder, monkeypatch, capsys):
    empty = sources.Source(publisher="https://x.y", address="https://x.y/z", file="z.csv", git_blob=EMPTY_BLOB)
    monkeypatch.setitem(sources.SOURCES, "texas", empty)
    (empty_folder / "z.csv").write_bytes(b"")
    assert fetch_named(["texas"]) == 0
    (empty_folder / "z.csv").write_bytes(b"more")
    assert fetch_named(["texas"]) == 1 and "git names it" in capsys.readouterr().err
    assert fetch_named(["support2-privpgd"]) == 1
    assert "T-Vine-Synth/HEAD/data/synthdata_utility_competitors/synth_data_PrivPGD" in capsys.readouterr().err
    assert fetch_named(["texsa"]) == 2


def test_a_folder_of_ones_own_is_not_written_to(empty_folder):
    with pytest.raises(SystemExit, match="SKLAR_DATA has no raw_support2"):
        sources.find("support2")
    assert list(empty_folder.iterdir()) == []


@pytest.mark.parametrize("name", sources.SOURCES)
def test_every_source_has_an_address_and_a_checksum(name):
    source = sources.SOURCES[name]
    assert source.address.startswith("http") and source.publisher.startswith("http")
    sums = [source.sha256, source.prepared and source.prepared[1]]
    assert all(text is None or len(text) == 64 for text in sums)
    assert any(sums) or len(source.git_blob) == 40


def test_a_prepared_table_must_be_the_expected_one():
    with pytest.raises(SystemExit, match="not the expected one"):
        prepare._as_published("adult", pd.DataFrame({"age": [1]}))


def test_generated_tables_follow_their_definitions():
    assert gauss8(100).shape == (100, 8) and tail6(100).shape == (100, 6)
    for shape in SHAPES:
        codes = gaussian_dependence(4_000, 3, 0, shape)
        assert codes.min() >= 0 and codes.max() < DOMAIN
    uniform, zipf = (gaussian_dependence(20_000, 2, 0, shape)[:, 0] for shape in ("uniform", "zipf"))
    assert abs(uniform.mean() - 499.5) < 20  # ten standard errors
    assert abs((zipf == 0).mean() - 1 / np.sum(1 / np.arange(1, DOMAIN + 1))) < 0.03
    for name, (_, sizes) in CENSUS.items():
        made = census(name, 5_000)
        assert list(made) == list(sizes) and (made.max() < pd.Series(sizes)).all() and made.min().min() == 0


def test_total_variation_by_hand():
    one, two = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}), pd.DataFrame({"a": [0, 1], "b": [0, 1]})
    assert metrics.tvd(one, two, ["a"]) == 0.0
    assert metrics.tvd(one, two, ["a", "b"]) == pytest.approx(0.5)


def test_a_table_has_no_distance_from_itself():
    split = small_split()
    found = metrics.all_scores(split, split.frame)
    assert all(found[name] == 0 for name in ("tvd1", "tvd2", "tvd3", "ks", "rho_delta", "range_rel", "mean_err"))
    assert found["auc_synth"] == found["auc_real"] > 0.7


def test_codes_are_cells_of_the_public_grid():
    schema = sklar.Schema({"w": sklar.Category(["x", "y"]), "i": sklar.Integer(0, 3), "r": sklar.Real(0, 1)})
    frame = pd.DataFrame({"w": ["y", "?"], "i": [3.0, -5.0], "r": [1.0, 0.5]})
    assert metrics.codes(frame, schema).to_numpy().tolist() == [[1, 3, 31], [0, 0, 16]]


@pytest.mark.parametrize("name", ["sim20", "gauss8", "tail6"])
def test_simulated_tables_load_without_any_file(name):
    split = load(name, seed=1)
    assert len(split.test) == (len(split.frame) + len(split.test)) // 5
    assert list(split.frame) == list(split.schema.modelled)


@pytest.mark.slow
def test_the_yardstick_runs_without_any_file(monkeypatch):
    monkeypatch.setattr(yardstick, "load", lambda table, seed: small_split(seed))
    found = yardstick.score("small", yardstick.maker("independent", 1.0, 1e-9, {}), seeds=[0, 1])
    assert 0 < found["tvd2"] < 1 and 0 <= found["auc_synth"] <= 1 and found["seconds"] > 0


def test_what_cannot_be_believed_is_seen():
    trial = plausibility.lognormals(rows=500)
    same = trial.look(trial.frame, trial.frame)
    assert not any(same.values())
    wild = trial.frame.assign(x0=np.where(np.arange(500) < 10, 100.0, trial.frame["x0"]))
    found = trial.look(trial.frame, wild)
    assert found["wild tails"] == found["sd off by 18%, of 8"] == 1 and found["mean error, sd"] > 0


def small_split(seed: int = 0) -> Split:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(600, 2)).clip(-4, 4)
    frame = pd.DataFrame({"a": x[:, 0], "b": (x[:, 0] + x[:, 1]).clip(-6, 6), "y": (x[:, 0] > 0).astype(str)})
    numbers = {"a": sklar.Real(-4, 4), "b": sklar.Real(-6, 6)}
    return Split(frame=frame[:400], test=frame[400:], schema=facts(frame, numbers), target="y")


@pytest.mark.slow
def test_scripted_noise_is_the_same_for_the_same_tables_and_changes_are_paired(monkeypatch):
    monkeypatch.setattr(yardstick, "load", lambda table, seed: small_split(seed))
    make = yardstick.maker("independent", 1.0, 1e-9, {}, scripted=True)
    keys = [{"table": "small", "epsilon": 1.0, "seed": seed} for seed in (0, 1)]
    runs = [pd.DataFrame([{**key, **yardstick.one_run("small", make, key["seed"])} for key in keys]) for _ in range(2)]
    moved = yardstick.changes(runs[0], runs[1]).set_index("metric").drop(index="seconds")
    assert (moved["change"] == 0).all()
    assert (moved["runs"] == 2).all()
    shifted = runs[1].assign(tvd2=runs[1]["tvd2"] * 2)
    assert np.isclose(yardstick.changes(runs[0], shifted).set_index("metric")["percent"]["tvd2"], -50)


def test_the_k_marginal_score_is_1000_for_the_rows_themselves_and_counts_within_areas() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "PUMA": rng.choice(["01", "02"], 4_000),
        "AGEP": rng.integers(0, 90, 4_000).astype(str),
        "SEX": rng.choice(["1", "2"], 4_000),
        "POVPIP": rng.choice([nist.MISSING, "501", "100", "250"], 4_000),
    })  # fmt: skip
    assert nist.k_marginal(frame, frame) == 1000
    assert nist.k_marginal(frame, nist.to_texts(nist.to_types(frame))) == 1000
    other = frame.assign(PUMA=rng.permutation(frame["PUMA"]))
    # By chance alone a permuted area is within some per cent; rows of one area only miss the other half.
    assert 850 < nist.k_marginal(frame, other) < 990
    assert nist.k_marginal(frame, frame[frame["PUMA"] == "01"]) == pytest.approx(500, abs=30)
