"""Names on disk: the short stable word by which a model file calls each class it may hold, and nothing else it may."""

from __future__ import annotations

import importlib
from functools import cache

from sklar.errors import ModelFileError

STORED: dict[str, str] = {
    "margin": "sklar.model.margin:Margin",
    "axis": "sklar.model.scale:Scale",
    "independent": "sklar.model.independent_model:IndependentModel",
    "vine-model": "sklar.model.vine_model:VineModel",
    "vine-facts": "sklar.model.vine_model:VineFacts",
    "vine": "sklar.model.vine:Vine",
    "vine-edge": "sklar.model.vine:Edge",
    "independent-pair": "sklar.model.paircopula:IndependentPair",
    "gaussian-pair": "sklar.model.paircopula:GaussianPair",
    "checkerboard": "sklar.model.checkerboard:Checkerboard",
    "calibration": "sklar.model.calibration:Calibration",
    "partition": "sklar.model.calibration:Partition",
    "soft-table": "sklar.model.calibration:SoftTable",
    "latent-model": "sklar.model.small_model:SmallModel",
    "latent": "sklar.model.small_latent:Latent",
    "class-normals": "sklar.model.small_normals:ClassNormals",
    "gaussian": "sklar.model.gaussian_model:GaussianModel",
    "gaussian-reordered": "sklar.model.gaussian_reordered:ReorderedModel",
    "gaussian-cells": "sklar.model.gaussian_mixture:MixtureModel",
    "onehot": "sklar.model.gaussian_onehot:OneHotModel",
    "rvine": "sklar.model.disclosed_vine:DisclosedVine",
    "rvine-table": "sklar.model.disclosed_table:VineTable",
    "rvine-split": "sklar.model.disclosed_split:SplitVineTable",
    "shirley": "sklar.model.shirley_model:ShirleyModel",
    "shirley-column": "sklar.model.shirley_column:ShirleyColumn",
}
"""Word on disk to the class it stands for. Words stay for good; classes may move. Imported when a file asks for one."""

WORDS = {place: word for word, place in STORED.items()}


def word_of(kind: type) -> str:
    """The word of a class; refused if it has none."""
    word = WORDS.get(f"{kind.__module__}:{kind.__qualname__}")
    if word is None:
        raise ModelFileError(f"a model cannot be saved: it holds a {kind.__name__}, which has no name on disk")
    return word


@cache
def class_of(word: str) -> type:
    """The class that a word stands for; any other word is refused, so that data never names what is imported."""
    if word not in STORED:
        raise ModelFileError("the model file names a class that is not a model of this package")
    module, _, name = STORED[word].partition(":")
    return getattr(importlib.import_module(module), name)
