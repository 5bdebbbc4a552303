"""The only place where noise is drawn: exact discrete samplers of OpenDP, fed by the system's entropy, never seeded.

OpenDP samples the discrete Gaussian and discrete Laplace distributions exactly, in rational arithmetic, so there is no
floating-point gap between the claim and the sampler (Canonne, Kamath and Steinke 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from sklar.accounting.noise import Noise
from sklar.arrays import Floats, Ints, usable_cores
from sklar.counting.whole_numbers import MAX_INT64_SUM, WholeNumbers
from sklar.errors import BudgetError, DoorError

CHUNK_CELLS = 4096
"""Cells noised by one call. Chunks run in threads: larger ones leave cores idle at the end, smaller ones cost calls."""
MAX_NOISE = 2**62
"""OpenDP saturates at 64 bits; a scale whose noise could reach this is refused before any row is read."""


def require_samplable(noise: Noise) -> None:
    """Refuse a noise scale so large that 64-bit integers could overflow."""
    # 64 standard deviations of a Gaussian, or 64 scales of a Laplace tail, have probability below 1e-27.
    if noise.scale * 64 > MAX_NOISE:
        raise BudgetError("the noise that this budget needs exceeds 64-bit integers; use a larger epsilon")


class NoiseSource(Protocol):
    """The Door's source of noise. The product has one, `SYSTEM`; tests pass others."""

    def add(self, exact_tables: Sequence[Ints], noises: Sequence[Noise], cells: Ints | None = None) -> list[Ints]:
        """Return the tables with integer noise on every entry, each table with its own kind and scale.

        One array may hold many tables, one after the other, that share one noise: `cells` has the size of each.
        """
        ...

    def pick(self, exact_scores: Floats, sensitivity: float, epsilon: float, picks: int) -> tuple[int, ...]:
        """Return the `picks` highest scores, each by an exponential mechanism with `epsilon`, without replacement."""
        ...


class SystemNoise:
    """OpenDP's exact samplers, fed by the system's entropy. The caller has charged and argued sensitivity."""

    def add(self, exact_tables: Sequence[Ints], noises: Sequence[Noise], cells: Ints | None = None) -> list[Ints]:
        """Add noise to chunks of cells in threads."""
        if cells is not None and int(cells.sum()) != sum(table.size for table in exact_tables):
            raise DoorError("the tables of pairs do not have the requested number of cells")
        parts = [
            (np.ascontiguousarray(table, dtype=np.int64).ravel()[start : start + CHUNK_CELLS], noise)
            for table, noise in zip(exact_tables, noises, strict=True)
            for start in range(0, table.size, CHUNK_CELLS)
        ]
        if sum(part.size for part, _ in parts) <= CHUNK_CELLS:  # starting threads would take longer
            noisy = [_add_to_chunk(*part) for part in parts]
        else:
            with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
                noisy = list(pool.map(lambda part: _add_to_chunk(*part), parts))
        flat = np.concatenate([np.empty(0, np.int64), *noisy])
        ends = np.cumsum([table.size for table in exact_tables])
        return [piece.reshape(t.shape) for piece, t in zip(np.split(flat, ends[:-1]), exact_tables, strict=True)]

    def pick(self, exact_scores: Floats, sensitivity: float, epsilon: float, picks: int) -> tuple[int, ...]:
        """Pick by one report of noisy maxima.

        Adding Gumbel noise of scale 2 * sensitivity / epsilon to all scores once and taking the highest k equals k
        exponential mechanisms in a row, each of epsilon (Durfee and Rogers 2019).
        """
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_noisy_top_k
        from opendp.measures import zero_concentrated_divergence
        from opendp.metrics import linf_distance

        _enable_opendp()
        if not 1 <= picks <= exact_scores.size:
            raise DoorError("the number of picks must lie between one and the number of candidates")
        measurement = make_noisy_top_k(
            vector_domain(atom_domain(T="f64", nan=False)),
            linf_distance(T="f64"),
            zero_concentrated_divergence(),
            k=picks,
            scale=2.0 * sensitivity / epsilon,
        )
        return tuple(int(i) for i in measurement([float(s) for s in exact_scores]))


def add_noise(
    source: NoiseSource, exact_numbers: Sequence[WholeNumbers], noises: Sequence[Noise], cells: Ints | None = None
) -> list[WholeNumbers]:
    """Add noise to each number, also to numbers beyond 64 bits.

    A number is x = 2 L a + b with -L <= b < L, L = 2^60. Noise z is added to b, and 2 L a comes back on top, which is
    x + z. So what is returned is distributed as x + z, and depends on a and b through it alone. |z| < 2^62 by
    `require_samplable`, and so b + z is below 2^63.
    """
    lower = [_take_lower_part(numbers) for numbers in exact_numbers]
    # Sensitivity: that of the numbers, which the caller argues; the noise is on x = 2 L a + b as a whole.
    noisy = source.add(lower, noises, cells)
    return [
        values if numbers.dtype != object else values.astype(object) + (numbers - ends)
        for numbers, ends, values in zip(exact_numbers, lower, noisy, strict=True)
    ]


def _take_lower_part(exact_numbers: WholeNumbers) -> Ints:
    if exact_numbers.dtype != object:
        return exact_numbers
    return ((exact_numbers + MAX_INT64_SUM) % (2 * MAX_INT64_SUM) - MAX_INT64_SUM).astype(np.int64)


SYSTEM = SystemNoise()
"""The only source of noise outside of tests."""


def _add_to_chunk(exact_values: Ints, noise: Noise) -> Ints:
    return np.array(_make_mechanism(noise.kind, float(noise.scale))(exact_values.tolist()), dtype=np.int64)


@lru_cache(maxsize=4096)
def _make_mechanism(kind: str, scale: float) -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance

    _enable_opendp()
    domain = vector_domain(atom_domain(T="i64"))
    if kind == "gaussian":
        return make_gaussian(domain, l2_distance(T="f64"), scale=scale)
    return make_laplace(domain, l1_distance(T="i64"), scale=scale)


def _enable_opendp() -> None:
    from opendp.mod import enable_features

    enable_features("contrib")
