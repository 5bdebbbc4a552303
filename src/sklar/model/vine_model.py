"""The fitted vine model: margins, a vine and its calibration; how rows are drawn from them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sklar.errors import UnsupportedConditionError
from sklar.model.calibration import Calibration, calibrate, cell_matrix, log_weights
from sklar.model.conditional import runs_of, simulate_inside
from sklar.model.margin import Margin
from sklar.model.rounding import round_rows, systematic
from sklar.model.scale import Scale, codes_at
from sklar.model.vine import Vine, sampling_order
from sklar.model.vine_sampling import simulate_vine

BLOCK = 50_000
LEAST_EFFECTIVE = 30.0
MOST_PARTICLES = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineFacts:
    """What `inspect` tells about a fit besides the trees.

    Attributes:
        rows: noisy (or public) number of rows.
        margin_error: expected total variation error of each margin from the known noise.
        strength: prior strength c of the calibration, or 0 when there was none.
        pairs: number of measured pair tables.
    """

    rows: float
    margin_error: tuple[float, ...]
    strength: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineModel:
    """A vine times calibration weights, over the base codes of the modelled columns.

    Attributes:
        margins: one per modelled column, in schema order.
        scales: the axis of each column.
        vine: the dependence on the u scale.
        calibration: weights that tilt the vine towards the released tables.
        facts: what to tell about the fit.
    """

    margins: tuple[Margin, ...]
    scales: tuple[Scale, ...]
    vine: Vine
    calibration: Calibration
    facts: VineFacts

    @property
    def rows_estimate(self) -> int:
        """Default size of a sample: the noisy (or public) number of rows."""
        return max(round(self.facts.rows), 1)

    def simulate(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Independent rows as base codes, shape (rows, columns), Fortran order.

        Vine particles are kept w / c times on average (c the ceiling): rejection sampling where the weight w is below
        c, and a random number of copies for the few heavier ones, so that the model is met without bias.
        """
        result = np.empty((rows, len(self.scales)), dtype=np.int32, order="F")
        filled = 0
        while filled < rows:
            size = int(np.clip((rows - filled) * self.calibration.ceiling * 1.1, 1_000, BLOCK))
            particles = simulate_vine(self.vine, size, rng)
            weights = np.exp(log_weights(self.calibration, self.scales, particles)) / self.calibration.ceiling
            copies = np.minimum(np.floor(weights + rng.random(size)), size).astype(np.int64)
            kept = rng.permutation(np.repeat(np.arange(size), copies))[: rows - filled]
            self._fill(result[filled : filled + len(kept)], particles, kept)
            filled += len(kept)
        return result

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Rows whose counts lie nearer to the model than those of independent rows would."""
        result = np.empty((rows, len(self.scales)), dtype=np.int32, order="F")
        most = self._pool_size(rows) // 5 if rows > 4_000 else rows
        pieces = max(-(-rows // max(most, 1)), 1)
        cuts = np.linspace(0, rows, pieces + 1).astype(int)
        for start, stop in itertools.pairwise(cuts):
            self._fill_rounded(result[start:stop], rng)
        return result

    def simulate_given(
        self, rows: int, allowed: Mapping[int, np.ndarray], rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """Rows with some columns inside given sets of base codes, and the effective sample size behind them.

        Raises:
            UnsupportedConditionError: the model gives the sets no mass, or too few particles to draw rows from.
        """
        result = np.empty((rows, len(self.scales)), dtype=np.int32, order="F")
        effective, start = 0.0, 0
        while start < rows:
            stop = min(start + 20_000, rows)
            codes, weights, size = self._conditioned(stop - start, allowed, rng)
            result[start:stop] = codes[systematic(weights, stop - start, rng)]
            effective, start = effective + size, stop
        return result, effective

    def _pool_size(self, rows: int) -> int:
        """Particles to round from: five a row, between 20,000 and 200,000, fewer when there are many tables."""
        affordable = 60_000_000 // max(len(self.calibration.tables), 1)
        return int(np.clip(5 * rows, 20_000, max(min(200_000, affordable), 20_000)))

    def _fill(self, target: np.ndarray, particles: np.ndarray, chosen: np.ndarray) -> None:
        for column, scale in enumerate(self.scales):
            target[:, column] = codes_at(scale, particles[chosen, column])

    def _fill_rounded(self, target: np.ndarray, rng: np.random.Generator) -> None:
        size = self._pool_size(len(target))
        particles = simulate_vine(self.vine, size, rng, stratified=True)
        parts, tables = self.calibration.partitions, self.calibration.tables
        cells = cell_matrix(self.calibration, self.scales, particles)
        # The stored tilt fits the model; a few more sweeps remove the Monte Carlo noise of these particles.
        _, weights = calibrate(parts, tables, cells, sweeps=20)
        offsets = np.concatenate([[0], np.cumsum([len(table.observed) for table in tables])]).astype(np.int64)
        chosen = round_rows(np.ascontiguousarray(cells.T), offsets, weights, len(target), rng)
        self._fill(target, particles, chosen)

    def _conditioned(
        self, rows: int, allowed: Mapping[int, np.ndarray], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Enough weighted particles inside the sets to draw `rows` rows from."""
        runs = {column: runs_of(self.scales[column], mask) for column, mask in allowed.items()}
        for column, run in runs.items():
            if not len(run.low):
                raise UnsupportedConditionError(
                    f"no row of the model has column '{self.margins[column].column}' inside the given set; "
                    "ask for values that the model gives some mass."
                )
        steps = sampling_order(self.vine, first=runs)
        codes: list[np.ndarray] = []
        weights: list[np.ndarray] = []
        size = int(np.clip(4 * rows, 5_000, 20_000))
        effective = 0.0
        for _ in range(max(min(MOST_PARTICLES, 40_000_000 // len(self.scales)) // size, 1)):
            particles, weight = simulate_inside(self.vine, steps, runs, size, rng)
            weight = weight * np.exp(log_weights(self.calibration, self.scales, particles))
            block = np.empty((size, len(self.scales)), dtype=np.int32, order="F")
            self._fill(block, particles, np.arange(size))
            for column, mask in allowed.items():
                weight[~np.asarray(mask, dtype=bool)[block[:, column]]] = 0.0
            used = weight > 0
            codes.append(block[used])
            weights.append(weight[used])
            effective = effective_size(np.concatenate(weights))
            if effective >= 2 * rows:
                break
        if effective < LEAST_EFFECTIVE:
            raise UnsupportedConditionError(
                f"too little of the model lies inside the given sets: the effective sample size is {effective:.1f}, "
                f"and {LEAST_EFFECTIVE:.0f} is needed. Give fewer columns or wider sets."
            )
        return np.concatenate(codes), np.concatenate(weights), effective


def effective_size(weights: np.ndarray) -> float:
    """Kish's effective sample size (sum w)^2 / sum w^2."""
    square = float(weights @ weights)
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0
