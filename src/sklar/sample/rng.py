"""Seeds and random generators for sampling, the only place where they are made. Privacy noise never comes from here."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from sklar.errors import UsageError
from sklar.given_numbers import describe_given, is_whole


def seed_entropy(seed: int | None) -> int:
    """Return the number that determines every stream: the seed itself, or fresh entropy of the system without one."""
    if seed is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if not is_whole(seed, 0):
        raise UsageError(f"seed must be a whole number of at least 0, or omitted; got {describe_given(seed)}.")
    return int(seed)


def generator(seed: int | None) -> np.random.Generator:
    """Return the generator of a whole sample."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed_entropy(seed))))


def substream(entropy: int, index: int) -> np.random.Generator:
    """Return the generator of block `index`; it depends on these two numbers only."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(index,))))


def substreams(seed: int | None, count: int) -> tuple[np.random.Generator, ...]:
    """Return `count` independent generators; the first ones do not depend on `count`."""
    entropy = seed_entropy(seed)
    return tuple(substream(entropy, index) for index in range(count))


def named_streams(entropy: int, offset: int = 0) -> Callable[[str], np.random.Generator]:
    """Return a function from names to generators: draws of one name do not affect another."""
    return lambda name: substream(entropy, offset + zlib.crc32(name.encode()))
