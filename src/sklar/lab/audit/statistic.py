"""What one fit says about which of two neighbouring tables it saw: a log-likelihood ratio over all its releases.

Tables of counts: the tables are public, so the exact counts x of the first and the change D towards the second are
known for every cell asked for. With noisy values y, a Gaussian cell adds D (y - x) / sigma^2 (up to a constant), a
Laplace cell (|y - x| - |y - x - D|) / scale, each with the scale that its release states: methods may choose scales as
they go. Sums and choices have no public exact value; how they change is learned from one half of the fits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sklar.accounting.noise import Noise
from sklar.arrays import Floats
from sklar.lab.audit.requests import Asked, Codes, exact_cells
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyPairs, NoisySums, Recorded
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """What one fit released, boiled down.

    Attributes:
        ratio: The log-likelihood ratio of its tables of counts, up to a constant where noise is Gaussian.
        information: Sum of D^2 / sigma^2 over Gaussian cells: the squared mu that its stated noise amounts to.
        residuals: By table of counts: the sum over cells of the squared residual over its variance by the stated noise,
            the variance this sum should have, and the number of cells.
        bits: Entropy of all noise on counts, roughly.
        scale: The smallest noise scale of a table of counts.
        moved: Number of cells that differ between the tables.
        sums: Values of noisy sums over their scale, by label.
        choices: Positions chosen, by label.
        laplace: Whether any noise was Laplace.
        print: Fingerprint of all released values.
    """

    ratio: float
    information: float
    residuals: Mapping[str, tuple[float, float, int]]
    bits: float
    scale: float
    moved: int
    sums: Mapping[str, Floats]
    choices: Mapping[str, tuple[int, ...]]
    laplace: bool
    print: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """Base codes of the two tables, and which of them the fits saw."""

    schema: Schema
    one: Codes
    other: Codes
    is_other: bool


def look(releases: Sequence[Recorded], asked: Sequence[tuple[Asked, ...] | None], side: Side) -> Seen:
    """Boil down the releases of one fit."""
    ratio = information = bits = 0.0
    moved, laplace, scale, parts = 0, False, math.inf, list[bytes]()
    sums: dict[str, Floats] = {}
    choices: dict[str, tuple[int, ...]] = {}
    residuals: dict[str, tuple[float, float, int]] = {}
    for at, (step, requests) in enumerate(zip(releases, asked, strict=True)):
        for place, release in enumerate(step.releases):
            label = f"{at} {step.label} {place}"
            if isinstance(release, NoisySums):
                sums[label] = release.values.ravel() / release.noise.scale
                laplace |= release.noise.kind == "laplace"
                parts.append(release.values.tobytes())
            elif isinstance(release, NoisyChoice):
                choices[label] = release.indices
            elif isinstance(release, NoisyCounts | NoisyPairs):
                assert requests is not None
                found = _counts(release, requests[place], side)
                ratio, information, moved = ratio + found[0], information + found[1], moved + found[3]
                residuals[label] = found[2]
                laplace |= release.noise.kind == "laplace"
                scale = min(scale, release.noise.scale)
                bits += release.counts.size * max(0.0, math.log2(4 * release.noise.scale))
                parts.append(release.counts.tobytes())
    return Seen(
        ratio=ratio, information=information, residuals=residuals, bits=bits, scale=scale, moved=moved, sums=sums,
        choices=choices, laplace=laplace, print=hash(tuple(parts)),
    )  # fmt: skip


def _counts(
    release: NoisyCounts | NoisyPairs, asked: Asked, side: Side
) -> tuple[float, float, tuple[float, float, int], int]:
    """Log-likelihood ratio, information, residuals, and cells that differ between the tables."""
    exact, change = _exact(asked, side, release.counts.size)
    noisy, scale = release.counts.ravel().astype(np.float64), release.noise.scale
    away = noisy - exact
    moved = np.flatnonzero(change)
    if release.noise.kind == "gaussian":
        ratio = float((change[moved] * away[moved]).sum()) / scale**2
        information = float((change[moved] ** 2).sum()) / scale**2
    else:
        ratio = float((np.abs(away[moved]) - np.abs(away[moved] - change[moved])).sum()) / scale
        information = 0.0
    residual = away - change if side.is_other else away
    variance, fourth = noise_moments(release.noise)
    spread = len(residual) * (fourth / variance**2 - 1)
    return ratio, information, (float((residual**2).sum()) / variance, spread, len(residual)), len(moved)


def _exact(asked: Asked, side: Side, size: int) -> tuple[Floats, Floats]:
    """Exact counts of the first table, and what the second one adds; the tables of a request one after the other."""
    exact, change, start = np.zeros(size), np.zeros(size), 0
    tables = [exact_cells(asked, codes, side.schema) for codes in (side.one, side.other)]
    lengths = _lengths(asked, side.schema)
    for one, other, length in zip(*tables, lengths, strict=True):
        counts = np.bincount(one, minlength=length)
        exact[start : start + length] = counts
        change[start : start + length] = np.bincount(other, minlength=length) - counts
        start += length
    return exact, change


def _lengths(asked: Asked, schema: Schema) -> list[int]:
    from sklar.release.door import PairTables, RecodedTable

    if isinstance(asked, PairTables):
        sizes = asked.shape
        return [sizes[i] * sizes[j] for i in range(len(sizes)) for j in range(i + 1, len(sizes))]
    shape = asked.shape if isinstance(asked, RecodedTable) else tuple(schema.size(name) for name in asked.columns)
    return [int(np.prod(shape))]


@lru_cache(maxsize=4096)
def noise_moments(noise: Noise) -> tuple[float, float]:
    """Second and fourth moment of integer noise, summed over its support."""
    reach = int(np.ceil(40 * noise.scale)) + 10
    k = np.arange(-reach, reach + 1, dtype=np.float64) if reach < 200_000 else np.linspace(-reach, reach, 400_001)
    log = -((k / noise.scale) ** 2) / 2 if noise.kind == "gaussian" else -np.abs(k) / noise.scale
    mass = np.exp(log)
    mass /= mass.sum()
    return float((mass * k**2).sum()), float((mass * k**4).sum())


def combined(training: Sequence[tuple[Seen, bool]], tested: Sequence[tuple[Seen, bool]]) -> tuple[Floats, Floats]:
    """The statistic of fits on the first and on the second table, with what had to be learned taken from `training`."""
    directions = _directions(training)
    odds = _odds(training)
    out: tuple[list[float], list[float]] = ([], [])
    for seen, is_other in tested:
        value, norm = seen.ratio, seen.information
        for label, direction in directions.items():
            if label in seen.sums and len(seen.sums[label]) == len(direction):
                value += float(direction @ seen.sums[label])
                norm += float(direction @ direction)
        value += sum(odds.get((label, picked), 0.0) for label, picked in seen.choices.items())
        # Divided by its spread under the stated noise, so that fits of different questions count alike.
        out[is_other].append(value / np.sqrt(norm) if norm > 0 and not seen.laplace else value)
    return np.array(out[0]), np.array(out[1])


def _directions(training: Sequence[tuple[Seen, bool]]) -> dict[str, Floats]:
    """How far sums move, by label, in units of their scale; with many coordinates only those that stand out."""
    out: dict[str, Floats] = {}
    labels = {label for seen, _ in training for label in seen.sums}
    for label in labels:
        groups = [[s.sums[label] for s, other in training if label in s.sums and other == flag] for flag in (0, 1)]
        sizes = {len(v) for group in groups for v in group}
        if len(sizes) != 1 or min(len(group) for group in groups) < 10:
            continue
        one, two = (np.array(group) for group in groups)
        direction = two.mean(axis=0) - one.mean(axis=0)
        error = np.sqrt(one.var(axis=0) / len(one) + two.var(axis=0) / len(two))
        out[label] = np.where(np.abs(direction) > 2.5 * error, direction, 0.0) if len(direction) > 8 else direction
    return out


def _odds(training: Sequence[tuple[Seen, bool]]) -> dict[tuple[str, tuple[int, ...]], float]:
    """Log-odds of each choice between the two tables, pulled to 0 where it is rare."""
    counts: dict[tuple[str, tuple[int, ...]], list[float]] = {}
    for seen, other in training:
        for item in seen.choices.items():
            counts.setdefault(item, [5.0, 5.0])[other] += 1.0
    return {item: float(np.log(two / one)) for item, (one, two) in counts.items()}
