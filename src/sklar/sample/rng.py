"""Seeds and random generators for sampling, the only place where they are made. Privacy noise never comes from here."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from sklar.errors import UsageError
from sklar.given_numbers import is_whole, shown


def seed_entropy(seed: int | None) -> int:
    """The number that fixes every stream: the seed itself, or fresh entropy of the system if there is none."""
    if seed is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if not is_whole(seed, 0):
        raise UsageError(f"seed must be a whole number of at least 0, or left out; found {shown(seed)}.")
    return int(seed)


def generator(seed: int | None) -> np.random.Generator:
    """The generator of a whole sample."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed_entropy(seed))))


def substream(entropy: int, index: int) -> np.random.Generator:
    """The generator of block `index`: it depends on these two numbers only, not on which worker asks, or when."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(index,))))


def substreams(seed: int | None, count: int) -> tuple[np.random.Generator, ...]:
    """`count` independent generators; the first ones stay the same when more are asked for."""
    entropy = seed_entropy(seed)
    return tuple(substream(entropy, index) for index in range(count))


def named_streams(entropy: int, offset: int = 0) -> Callable[[str], np.random.Generator]:
    """A generator for each purpose, by its name: what one purpose draws does not move another."""
    return lambda name: substream(entropy, offset + zlib.crc32(name.encode()))
