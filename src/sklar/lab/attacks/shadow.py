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

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.lab.attacks.classifiers import (
    CLOSEST,
    TABLE_SETS,
    TREES,
    FeatureMaker,
    closest_features,
    judge,
    judge_by_threshold,
    table_features,
)
from sklar.lab.attacks.games import Generator, ShadowProfile, Target
from sklar.lab.attacks.parts import Arrays, load_part
from sklar.lab.attacks.result import AttackResult, Number
from sklar.lab.intervals import exactly, privacy_gain_interval
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable
from sklar.schema import Schema

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


def draw_samples(game: ShadowGame, iteration: int) -> tuple[list[Ints], Ints]:
    """Ints of the shadow models and of the tested model of one iteration; no target is among them.

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


Gains = Floats
"""Privacy gains by target and iteration."""
BEST = "best"
SIDES = ("gains", "controls")
FEW_TREES = 12
"""Of the forests that only choose a feature set."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judging:
    """What the second half of the attack needs; `folder` keeps the tables of the first."""

    game: ShadowGame
    folder: Path
    features: tuple[str, ...]
    classifier: str


def judge_parts(game: ShadowGame) -> list[str]:
    """One part for each game and target."""
    return [f"{i:03d}-j{t}" for i in range(game.profile.iterations) for t in range(len(game.targets))]


def play_judge(judging: Judging, part: str) -> Arrays:
    """Privacy gain of one target in one game, by level and feature set, and of another target's tables for control.

    The last feature set, "best", is the one that works best among the attacker's own shadow models.
    """
    game, i, t = judging.game, int(part[:3]), int(part[5:])
    ends = (OUT, f"t{t}", f"t{(t + 1) % len(game.targets)}")
    files = [load_part(judging.folder, f"{i:03d}-{end}") for end in ends]
    real = 1.0 - _twin_chance(game, t, i)
    gains, controls = [], []
    for level in game.generator.levels:
        found = [_said_in(judging, files, t, i, level, name) for name in judging.features]
        # Of equals the plainest: what is closest to the target.
        best = max(range(len(found)), key=lambda at: (found[at][3], judging.features[at] == CLOSEST))
        gains.append([real - (found[at][0] - found[at][1]) for at in (*range(len(found)), best)])
        controls.append([real - (found[at][2] - found[at][1]) for at in (*range(len(found)), best)])
    return {"gains": np.array(gains), "controls": np.array(controls)}


def _said_in(
    judging: Judging, files: Sequence[Arrays], t: int, i: int, level: str, features: str
) -> tuple[float, float, float, float]:
    """How often the classifier of a target says "in": for tables with it, without it, and with another target.

    Last, its advantage when trained on one half of the shadow models and tried on the other, mean of both ways round.
    """
    out, own, other = files
    train = [features_of(part, "train", level, features, t) for part in (out, own)]
    tests = [features_of(part, "test", level, features, t) for part in (own, out, other)]
    seen, unseen, otherwise = _judge(judging, features, train, tests, 1000 * i + t, TREES)
    middle = len(train[0]) // 2
    halves = [[x[:middle] for x in train], [x[middle:] for x in train]]
    tried = [_judge(judging, features, one, two, 1000 * i + t, FEW_TREES) for one, two in (halves, halves[::-1])]
    return seen, unseen, otherwise, float(np.mean([found - missed for missed, found in tried]))


def _judge(
    judging: Judging, features: str, train: Sequence[npt.NDArray[Any]], tests: list[npt.NDArray[Any]], seed: int,
    trees: int,
) -> list[float]:  # fmt: skip
    """Distances by a threshold, whatever the classifier: a closer row only ever speaks for the target."""
    if features == CLOSEST:
        return judge_by_threshold(train[0], train[1], tests)
    return judge(judging.classifier, np.concatenate(train), _labels(train), tests, seed, trees)


def _labels(groups: Sequence[npt.NDArray[Any]]) -> Ints:
    return np.repeat([0, 1], [len(x) for x in groups])


def _twin_chance(game: ShadowGame, t: int, i: int) -> float:
    """Chance that an equal row is in a sample without the target, which a lookup would take for the target."""
    twins, tested = game.targets[t].twins, draw_samples(game, i)[1]
    if not twins:
        return 0.0
    return 1.0 - (1.0 - len(tested) / game.raw.num_rows) ** twins


def shadow_result(judging: Judging, parts: Mapping[str, Arrays], epsilon: float | None) -> AttackResult:
    """Numbers for every level by the best feature set; the others are details."""
    game, names = judging.game, (*judging.features, BEST)
    numbers: list[Number] = []
    by_level: dict[str, Any] = {}
    for at, level in enumerate(game.generator.levels):
        gains, controls = ({n: _collect(game, parts, side, at, k) for k, n in enumerate(names)} for side in SIDES)
        numbers += _numbers(game, level, gains[BEST], controls[BEST])
        by_level[level or "only"] = {name: _by_target(game, found) for name, found in gains.items()}
    bound = None if epsilon is None else 2.0 - math.exp(min(epsilon, 50.0))
    settings = {**asdict(game.profile), "features": list(judging.features), "classifier": judging.classifier,
                "levels": list(game.generator.levels)}  # fmt: skip
    missing = "No epsilon is claimed, so no bound on the privacy gain follows from it."
    return AttackResult(
        kind="shadow",
        title="Membership inference by shadow models",
        numbers=tuple(numbers),
        missing=() if bound is not None else (missing,),
        settings=settings,
        details={"dp_bound": bound, "levels": by_level},
    )


def _collect(game: ShadowGame, parts: Mapping[str, Arrays], side: str, level: int, features: int) -> Gains:
    rows = range(len(game.targets))
    return np.array(
        [[parts[f"{i:03d}-j{t}"][side][level, features] for i in range(game.profile.iterations)] for t in rows]
    )


def level_name(name: str, level: str) -> str:
    """A number's name with the level it belongs to."""
    return f"{name}[{level}]" if level else name


def _numbers(game: ShadowGame, level: str, gains: Gains, controls: Gains) -> list[Number]:
    groups = list(dict.fromkeys(target.group for target in game.targets))
    out: list[Number] = []
    for group in groups:
        rows = [at for at, target in enumerate(game.targets) if target.group == group]
        out.append(
            Number(
                name=level_name(f"pg_{group}", level),
                title=f"privacy gain, {group} targets{f', level {level}' if level else ''}",
                says="1 if synthetic tables do not tell who was in the table, 0 if they tell as much as the table.",
                attack=privacy_gain_interval(gains[rows]),
                baseline=exactly(1.0),
                control=privacy_gain_interval(controls[rows]) if len(game.targets) > 1 else None,
                ideal=1.0,
                worse="lower",
                trials=int(gains[rows].size),
            )
        )
    return out


def _by_target(game: ShadowGame, gains: Gains) -> list[dict[str, Any]]:
    return [
        {"target": target.row, "group": target.group, "about": target.about, "gains": row.tolist(),
         "pg": privacy_gain_interval(row[None, :]).to_dict()}
        for target, row in zip(game.targets, gains, strict=True)
    ]  # fmt: skip
