"""Names on disk: the short stable word by which a model file calls each class it may hold, and nothing else it may."""

from __future__ import annotations

import importlib
from functools import cache

from sklar.errors import ModelFileError

CLASSES_BY_WORD: dict[str, str] = {
    "margin": "sklar.model.margins.margin:Margin",
    "axis": "sklar.model.axis:Scale",
    "independent": "sklar.model.independent:IndependentModel",
    "vine-model": "sklar.model.vine.model:VineModel",
    "vine-facts": "sklar.model.vine.model:VineFacts",
    "vine": "sklar.model.vine.vine:Vine",
    "vine-edge": "sklar.model.vine.vine:Edge",
    "independent-pair": "sklar.model.pairs.copula:IndependentPair",
    "gaussian-pair": "sklar.model.pairs.copula:GaussianPair",
    "checkerboard": "sklar.model.pairs.copula:Checkerboard",
    "class-pairs": "sklar.model.pairs.copula:ClassPairs",
    "calibration": "sklar.model.vine.calibration:Calibration",
    "partition": "sklar.model.vine.calibration:Partition",
    "soft-table": "sklar.model.vine.calibration:SoftTable",
    "latent-model": "sklar.model.latent.model:LatentNormalModel",
    "latent": "sklar.model.latent.scores:Latent",
    "classes": "sklar.model.latent.target:Classes",
    "class-normals": "sklar.model.latent.normals:ClassNormals",
    "kept": "sklar.model.kept:KeptModel",
    "linked": "sklar.model.linked:LinkedModel",
    "gaussian": "sklar.model.gaussian:GaussianModel",
    "gaussian-reordered": "sklar.model.gaussian:ReorderedModel",
    "gaussian-cells": "sklar.model.gaussian:MixtureModel",
    "onehot": "sklar.model.onehot.model:OneHotModel",
    "counts": "sklar.release.counts:Counts",
    "pair-counts": "sklar.release.counts:PairCounts",
    "interaction": "sklar.release.counts:Interaction",
    "scores": "sklar.release.scores:Scores",
    "contrasts": "sklar.release.sphere:Contrasts",
    "star-sums": "sklar.release.sphere:StarSums",
    "pair-sums": "sklar.release.sphere:PairSums",
    "taus": "sklar.release.taus:TauVector",
    "sampled-taus": "sklar.release.taus:SampledTaus",
    "block-means": "sklar.release.blocks:BlockMeans",
    "block-likelihoods": "sklar.release.blocks:BlockLikelihoods",
    "coefficients": "sklar.release.coefficients:Coefficients",
    "agreements": "sklar.release.agreements:Agreements",
    "distances": "sklar.release.distances:Distances",
    "discovery": "sklar.release.choices:Discovery",
    "noise": "sklar.accounting.noise:Noise",
    "prior": "sklar.schema.prior:PublicPrior",
    "prior-column": "sklar.schema.prior:PublicColumn",
    "rvine": "sklar.model.rvine.vine:RegularVine",
    "rvine-table": "sklar.model.rvine.table:VineTable",
    "rvine-split": "sklar.model.rvine.table:SplitVineTable",
    "shirley": "sklar.model.rvine.shirley:ShirleyModel",
    "shirley-column": "sklar.model.rvine.shirley:ShirleyColumn",
}
"""Word on disk to the class it stands for. Words stay for good; classes may move. Imported when a file names one."""

WORDS_BY_CLASS = {place: word for word, place in CLASSES_BY_WORD.items()}


def word_of(kind: type) -> str:
    """Return the word of a class; refused if it has none."""
    word = WORDS_BY_CLASS.get(f"{kind.__module__}:{kind.__qualname__}")
    if word is None:
        raise ModelFileError(f"a model cannot be saved: it holds a {kind.__name__}, which has no name on disk")
    return word


@cache
def class_of(word: str) -> type:
    """Return the class that a word stands for; any other word is refused, so that data never names what is imported."""
    if word not in CLASSES_BY_WORD:
        raise ModelFileError("the model file names a class that is not a model of this package")
    module, _, name = CLASSES_BY_WORD[word].partition(":")
    return getattr(importlib.import_module(module), name)
