"""What a model was told of several columns, as linear functions of rows: counts of cells and sums of products.

Each released number is the sum over rows of a known function, with known noise; which function, a replay tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from sklar.arrays import Floats
from sklar.inference.fitted import Fitted
from sklar.inference.mechanism.sums import CodeTable, contrast_weights, sphere_points
from sklar.inference.released_tables import ReleasedTable, design_of, released_tables
from sklar.model.pairs.interactions import centred
from sklar.release.features import Feature, PairSums, StarSums
from sklar.release.values import NoisySums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SummedProduct:
    """One sum over rows of the product of two coordinates of a row's point on a sphere, or of one and a contrast.

    Attributes:
        places: Of the two scores; of the contrast and the score.
    """

    feature: PairSums | StarSums
    places: tuple[int, int]

    def values(self, codes: CodeTable) -> Floats:
        """The product in each row."""
        points, (first, second) = sphere_points(self.feature.scores, codes), self.places
        if isinstance(self.feature, StarSums):
            return contrast_weights(self.feature.contrasts, codes)[first] * points[:, second]
        return points[:, first] * points[:, second]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linear:
    """Released numbers about several columns.

    Attributes:
        columns: Which.
        of: A table's cells, or a product that is summed.
        values: The numbers, with noise.
        sigma: Standard deviation of the noise on each.
    """

    columns: tuple[str, ...]
    of: ReleasedTable | SummedProduct
    values: Floats
    sigma: float

    @property
    def turn(self) -> Floats:
        """What was released of the cells: all, or what is left of interactions without their margins."""
        whole = np.eye(self.values.size)
        if isinstance(self.of, ReleasedTable) and self.of.interaction:
            return np.stack([centred(line.reshape(self.of.observed.shape)).ravel() for line in whole])
        return whole

    def functions(self, codes: CodeTable) -> Any:
        """The functions that are summed, at each row (line), sparse."""
        if isinstance(self.of, SummedProduct):
            return sparse.csr_array(self.of.values(codes)[:, None])
        place = np.zeros(codes.rows, dtype=np.int64)
        for name, lookup, size in zip(self.columns, self.of.lookups, self.of.observed.shape, strict=True):
            place = place * size + lookup[codes.columns[name]]
        shape = (codes.rows, self.values.size)
        return sparse.csr_array((np.ones(codes.rows), (np.arange(codes.rows), place)), shape=shape)


def listen(fitted: Fitted) -> tuple[Linear, ...]:
    """All linear functions of several columns that the releases tell."""
    design, names = design_of(fitted), fitted.schema.modelled
    tables = [table for table in released_tables(fitted.schema, design, fitted.recorded) if len(table.columns) > 1]
    heard = [
        Linear(columns=tuple(names[j] for j in t.columns), of=t, values=t.told(t.observed).ravel(), sigma=t.sigma)
        for t in tables
    ]
    for place, feature in design.features.items():
        (release,) = fitted.recorded[place].releases
        if isinstance(release, NoisySums):
            heard += _products(feature, release)
    return tuple(heard)


def _products(feature: Feature, release: NoisySums) -> Iterator[Linear]:
    """Products that are summed over all rows, each on its own; other features are not linear, or of one column."""
    sigma = release.noise.std_on(release.resolution)
    told: list[tuple[tuple[str, str], tuple[int, int], float]] = []
    if isinstance(feature, PairSums) and feature.contrasts is None:
        names = feature.scores.columns
        pairs = combinations(range(feature.scores.count), 2)
        told = [((names[i], names[j]), (i, j), x) for (i, j), x in zip(pairs, release.values, strict=True)]
    elif isinstance(feature, StarSums):
        lines, target = release.values.reshape(len(feature.contrasts.lookups), -1), feature.contrasts.column
        named = list(enumerate(feature.scores.columns))
        told = [((name, target), (i, j), line[j]) for i, line in enumerate(lines) for j, name in named]
    for columns, places, value in told:
        if columns[0] != columns[1]:
            assert isinstance(feature, PairSums | StarSums)
            product = SummedProduct(feature=feature, places=places)
            yield Linear(columns=columns, of=product, values=np.array([value]), sigma=sigma)
