"""From the tables of shadow games to privacy gains: classify, and sum up by target, level and feature set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.disclosed.attacks.classifiers import TREES, judge
from sklar.disclosed.attacks.parts import Arrays, load_part
from sklar.disclosed.attacks.result import AttackResult, Number
from sklar.disclosed.attacks.set_features import CLOSEST
from sklar.disclosed.attacks.shadow import OUT, ShadowGame, draw_samples, features_of
from sklar.disclosed.attacks.threshold import judge_by_threshold
from sklar.disclosed.intervals import exactly, privacy_gain_interval

Gains = npt.NDArray[np.float64]
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


def _labels(groups: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
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
