"""Golden files: every method's model comes out as it did, its file stays readable, only listed classes are stored."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sklar
from sklar.accounting.noise import Noise
from sklar.errors import ModelFileError
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.registry import CLASSES_BY_WORD, class_of
from sklar.release.blocks import BlockLikelihoods
from sklar.release.charges import hash_request
from sklar.release.choices import Discovery
from sklar.release.scores import Scores
from sklar.release.taus import SampledTaus
from tests.golden.cases import CASES, fitted
from tests.golden.pins import FOLDER, PINS, circumstances, numbers, sample_bytes

FILES = FOLDER / "files"
SCORES = Scores(columns=("a", "b"), lookups=(np.arange(3, dtype=np.int32), np.arange(2, dtype=np.int32)))
UNPINNED: dict[str, Any] = {
    "sampled-taus": SampledTaus(columns=("a", "b"), lookups=(np.arange(3), np.arange(2)), rows=9, seed=1),
    "block-likelihoods": BlockLikelihoods(scores=SCORES, blocks=4, seed=1),
    "discovery": Discovery(column="a", noise=Noise(kind="gaussian", scale=2.0), threshold=9, floor=2),
    "noise": Noise(kind="laplace", scale=0.5),
}
"""What can be stored, but no golden case holds."""


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_of_a_fit_are_pinned(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitted anew with the scripted noise: the same numbers, to the last bit where nothing else is another.

    Another processor or library rounds differently, which may flip a choice between pairs, but not move a margin.
    """
    pins = json.loads(PINS.read_text())
    model, stored = fitted(name, monkeypatch), sklar.load(FILES / f"{name}.sklar")
    for one, other in zip(model.table_model.margins, stored.table_model.margins, strict=True):
        np.testing.assert_allclose(one.dense(), other.dense(), atol=1e-4)
    if pins["circumstances"] == circumstances():
        assert numbers(model)[1] == pins["cases"][name]["numbers"]
        assert sample_bytes(model) == pins["cases"][name]["sample"]


@pytest.mark.parametrize("name", CASES)
def test_a_stored_model_is_read_and_sampled(name: str) -> None:
    model = sklar.load(FILES / f"{name}.sklar")
    table = model.sample(50, seed=1)
    assert table.num_rows == 50
    assert tuple(table.column_names) == model.schema.names
    assert model.claim.guarantee is (name not in sklar_baselines())


def sklar_baselines() -> set[str]:
    return {name for name, case in CASES.items() if case.get("no_guarantee")}


def test_every_stored_class_has_a_word_and_every_word_a_class() -> None:
    words = {word for name in CASES for word in words_in(FILES / f"{name}.sklar")}
    assert words == set(CLASSES_BY_WORD) - set(UNPINNED)
    for word in CLASSES_BY_WORD:
        assert dataclasses.is_dataclass(class_of(word))


def words_in(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        trees = [
            archive.read(name) for name in ("model.json", "queries.json", "prior.json") if name in archive.namelist()
        ]
    return {word for tree in trees for word in _words(json.loads(tree))}


def _words(tree: Any) -> list[str]:
    if isinstance(tree, list):
        return [word for item in tree for word in _words(item)]
    if not isinstance(tree, dict):
        return []
    own = [tree["class"]] if "class" in tree else []
    return own + [word for item in tree.values() for word in _words(item)]


def test_a_class_without_a_word_cannot_be_stored() -> None:
    @dataclasses.dataclass(frozen=True)
    class Unlisted:
        x: float = 1.0

    with pytest.raises(ModelFileError, match="no name on disk"):
        encode(Unlisted(), ArrayPool(distinct=True).keep)


@pytest.mark.parametrize("word", UNPINNED)
def test_what_no_golden_case_holds_is_stored_and_read(word: str) -> None:
    value, pool = UNPINNED[word], ArrayPool(distinct=True)
    tree = json.loads(json.dumps(encode(value, pool.keep)))
    again = decode(tree, pool.arrays)
    assert tree["class"] == word and type(again) is type(value)
    assert hash_request(again) == hash_request(value)


def test_files_name_no_module() -> None:
    for name in CASES:
        with zipfile.ZipFile(FILES / f"{name}.sklar") as archive:
            assert b"sklar.model" not in archive.read("model.json")
