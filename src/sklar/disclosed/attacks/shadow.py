"""Membership inference by shadow models: can an attacker who knows the method tell whether a person was in the table?

In each game the attacker has a reference sample of the population. It fits shadow models on samples of it, without
the target and with it (in the place of another row, so that the number of rows tells nothing), draws synthetic tables
from each, and trains a classifier on features of these tables. Then it judges tables of models fitted on other rows,
with and without the target. Its advantage is Adv = P(says "in" | in) - P(says "in" | out). With the real table at hand
it would look the target up; PG = Adv(real) - Adv(synthetic) is what publishing the synthetic table instead gains: 1 if
the attacker learns nothing, 0 if as much as from the table. Under DP, PG >= 2 - exp(epsilon). Reference: Stadler,
Oprisanu, Troncoso (2022); Griesbauer et al. (2025), section 2.5 and appendix H.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.disclosed.attacks.generator import Generator
from sklar.disclosed.attacks.parts import Arrays
from sklar.disclosed.attacks.profiles import ShadowProfile
from sklar.disclosed.attacks.set_features import CLOSEST, TABLE_SETS, FeatureMaker, closest_features, table_features
from sklar.disclosed.attacks.targets import Target
from sklar.disclosed.metrics.reading import read_table
from sklar.disclosed.metrics.table import ExactTable
from sklar.errors import UsageError
from sklar.schema import Schema

Rows = npt.NDArray[np.int64]
Stream = Callable[[int, int], np.random.Generator]
"""(seed, place) -> a generator of its own; a function of a module."""
OUT = "out"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShadowGame:
    """Everything a game needs; it is sent to other processes.

    Attributes:
        schema: The public facts.
        real: The real rows as codes and numbers.
        raw: The real rows as an Arrow table, as a generator gets them.
        generator: The method under attack.
        targets: Whom the games are about.
        profile: Sizes and numbers.
        maker: How tables become features.
        seed: Fixes samples and draws.
        stream: Where generators come from.
    """

    schema: Schema
    real: ExactTable
    raw: Any
    generator: Generator
    targets: tuple[Target, ...]
    profile: ShadowProfile
    maker: FeatureMaker
    seed: int
    stream: Stream


def require_rows(rows: int, targets: int, profile: ShadowProfile) -> None:
    """Refuse a table too small for the profile."""
    needed = max(profile.reference, profile.size) + targets
    if profile.size > profile.reference:
        raise UsageError("a profile needs a reference at least as large as its tables: raise reference or lower size.")
    if rows < needed:
        raise UsageError(
            f"the attack needs at least {needed:,} real rows: samples of {max(profile.reference, profile.size):,} "
            f"and {targets} targets; there are {rows:,}. Use the profile 'quick', or a smaller reference and size."
        )


def game_parts(game: ShadowGame) -> list[str]:
    """Names of the parts: for each iteration one without any target, and one for each target."""
    ends = [OUT, *(f"t{at}" for at in range(len(game.targets)))]
    return [f"{iteration:03d}-{end}" for iteration in range(game.profile.iterations) for end in ends]


def play_part(game: ShadowGame, part: str) -> Arrays:
    """Fit and draw all tables of one part; features by level and set, for training and for the test."""
    iteration, end = int(part[:3]), part[4:]
    target = None if end == OUT else game.targets[int(end[1:])].row
    samples, tested = draw_samples(game, iteration)
    rng = game.stream(game.seed, 1 + 1000 * iteration + (0 if target is None else 1 + int(end[1:])))
    profile, out = game.profile, dict[str, list[npt.NDArray[Any]]]()
    people = np.array([target.row for target in game.targets])
    jobs = [*(("train", rows, profile.tables) for rows in samples), ("test", tested, profile.test_tables)]
    for role, rows, tables in jobs:
        used = rows if target is None else np.append(rows[:-1], target)
        fitted = game.generator.fit(game.raw.take(used), int(rng.integers(2**31)))
        for level in game.generator.levels:
            drawn = fitted.generate(level, tables * profile.synthetic, int(rng.integers(2**31)))
            table = read_table(drawn, game.schema, rng, role="synthetic")
            found = table_features(table, tables, game.maker)
            found[CLOSEST] = closest_features(table, tables, game.real, people)
            for name, values in found.items():
                out.setdefault(f"{role}|{level}|{name}", []).append(values.astype(np.float32))
    return {key: np.concatenate(arrays) for key, arrays in out.items()}


def draw_samples(game: ShadowGame, iteration: int) -> tuple[list[Rows], Rows]:
    """Rows of the shadow models and of the tested model of one iteration; no target is among them.

    The tested rows are outside the attacker's reference as far as there are enough rows.
    """
    rng, profile = game.stream(game.seed, 1 + 1000 * iteration + 999), game.profile
    free = np.setdiff1d(np.arange(game.raw.num_rows), [target.row for target in game.targets])
    order = rng.permutation(free)
    reference, tested = order[: profile.reference], order[-profile.size :]
    samples = [rng.choice(reference, profile.size, replace=False) for _ in range(profile.shadows)]
    return samples, tested


def features_of(arrays: Arrays, role: str, level: str, name: str, target: int) -> npt.NDArray[Any]:
    """The features of the tables of one part, as an attacker on this target sees them."""
    if name == "ensemble":
        return np.concatenate([arrays[f"{role}|{level}|{one}"] for one in TABLE_SETS], axis=1)
    found = arrays[f"{role}|{level}|{name}"]
    return found[:, target] if name == CLOSEST else found
