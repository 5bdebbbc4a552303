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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.errors import UsageError
from sklar.lab.attacks.attribute import sensitive_columns
from sklar.lab.attacks.classifiers import (
    CELLS,
    CLOSEST,
    FEW_TREES,
    PUBLISHED_SETS,
    SETS,
    TABLE_SETS,
    TREES,
    closest_features,
    judge,
    judge_by_threshold,
    require_classifier,
    table_features,
)
from sklar.lab.attacks.games import (
    Arrays,
    Game,
    Subject,
    find_profile,
    level_words,
    load_part,
    open_game,
    open_state,
    run_parts,
)
from sklar.lab.attacks.result import AttackResult, Number, Progress, five_numbers
from sklar.lab.intervals import exactly, privacy_gain_interval
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import coarse_grid

OUT, BEST = "out", "best"
Gains = Floats
"""Privacy gains by target and iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowProfile:
    """Parameters of membership inference by shadow models (Griesbauer et al. 2025, table 1, in brackets).

    Attributes:
        iterations: Games (nIter).
        reference: Real rows that the attacker has to train on (sizeRawA).
        shadows: Shadow models without the target, and as many with it (nShadows).
        tables: Synthetic tables drawn from each shadow model (nSynA).
        size: Rows that each model is fitted on (sizeRawT).
        synthetic: Rows of each synthetic table (sizeSynT).
        test_tables: Synthetic tables with, and without, the target that the attacker has to judge (nSynT).
    """

    iterations: int = 10
    reference: int = 500
    shadows: int = 10
    tables: int = 10
    size: int = 400
    synthetic: int = 400
    test_tables: int = 50


SHADOW_PROFILES: dict[str, ShadowProfile] = {
    "paper": ShadowProfile(),
    "quick": ShadowProfile(iterations=4, reference=250, shadows=4, tables=5, size=200, synthetic=200, test_tables=20),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judging:
    """What the second half of the attack needs; `folder` keeps the tables of the first."""

    game: Game
    folder: Path
    features: tuple[str, ...]
    classifier: str


def shadow_attack(
    subject: Subject,
    done: Progress,
    *,
    profile: str = "paper",
    sensitive: Sequence[str] | str | None = None,
    targets: Sequence[int] | None = None,
    random_targets: int = 5,
    features: Sequence[str] | str | None = None,
    classifier: str | None = None,
    published: bool = False,
    epsilon: float | None = None,
    state: str | PathLike[str] | None = None,
    workers: int | None = None,
    changes: Mapping[str, int] | None = None,
) -> AttackResult:
    """Membership inference by shadow models.

    Args:
        subject: The method and the real rows.
        done: Told how far it is, and the time left.
        profile: "paper" (parameters of Griesbauer et al. 2025, table 1) or "quick".
        sensitive: Columns at whose outlying quantiles targets are taken.
        targets: Places of target rows instead.
        random_targets: Targets drawn at random besides.
        features: Any of naive, histogram, correlation, ensemble, closest; all by default.
        classifier: forest (the default), plain-forest, logistic, neighbors or svc.
        published: The attacker of Stadler et al. (2022), as TVineSynth has it: its own feature sets, without ours
            (closest), and a random forest as scikit-learn makes it (plain-forest).
        epsilon: What the method claims, for the bound 2 - exp(epsilon).
        state: A folder that keeps finished parts, so that the same attack can be taken up after an interrupt.
        workers: Processes; by default 2, and 1 for functions and generators of your own, which then stay in this one.
        changes: Parameters of the profile to change, as {"iterations": 5}.
    """
    classifier = classifier or ("plain-forest" if published else "forest")
    require_classifier(classifier)
    chosen = (
        (PUBLISHED_SETS if published else SETS)
        if features is None
        else (features,)
        if isinstance(features, str)
        else tuple(features)
    )
    if not chosen or any(name not in SETS for name in chosen):
        raise UsageError(f"features are any of {', '.join(SETS)}; found {list(chosen)}.")
    if published and CLOSEST in chosen:
        raise UsageError(f"the feature set '{CLOSEST}' is ours, and published=True is the published attacker.")
    sizes = find_profile(SHADOW_PROFILES, profile, changes)
    columns = sensitive_columns(subject.real, sensitive) if sensitive else ()
    game = open_game(subject, sizes, columns, targets, random_targets)
    _require_rows(game)
    with open_state(state, game.fingerprint(chosen, classifier)) as folder:
        run_parts(
            game, play_part, game_parts(game), folder, workers=workers or 1, done=_half(done, 0.0), what="fits, part"
        )
        judging = Judging(game=game, folder=folder, features=chosen, classifier=classifier)
        judged = judge_parts(game)
        run_parts(judging, play_judge, judged, folder, workers=workers or 1, done=_half(done, 0.5), what="judging")
        return _result(judging, {part: load_part(folder, part) for part in judged}, epsilon)


def _half(done: Progress, start: float) -> Progress:
    return lambda what, fraction: done(what, start + fraction / 2)


def _require_rows(game: Game) -> None:
    """Refuse a table too small for the profile."""
    size, reference, rows = game.profile.size, game.profile.reference, game.real.rows
    if size > reference:
        raise UsageError("a profile needs a reference at least as large as its tables: raise reference or lower size.")
    if rows < reference + len(game.targets):
        raise UsageError(
            f"the attack needs at least {reference + len(game.targets):,} real rows: samples of {reference:,} and "
            f"{len(game.targets)} targets; there are {rows:,}. Use the profile 'quick', or a smaller reference and "
            "size."
        )


def game_parts(game: Game) -> list[str]:
    """Names of the parts: for each iteration one without any target, and one for each target."""
    ends = [OUT, *(f"t{at}" for at in range(len(game.targets)))]
    return [f"{iteration:03d}-{end}" for iteration in range(game.profile.iterations) for end in ends]


def play_part(game: Game, part: str) -> Arrays:
    """Fit and draw all tables of one part; features by level and set, for training and for the test."""
    iteration, end = int(part[:3]), part[4:]
    target = None if end == OUT else game.targets[int(end[1:])].row
    samples, tested = draw_samples(game, iteration)
    rng = game.stream(1 + 1000 * iteration + (0 if target is None else 1 + int(end[1:])))
    profile, grid, out = game.profile, coarse_grid(game.real.schema, CELLS), dict[str, list[npt.NDArray[Any]]]()
    people = np.array([target.row for target in game.targets])
    jobs = [*(("train", rows, profile.tables) for rows in samples), ("test", tested, profile.test_tables)]
    for role, rows, tables in jobs:
        used = rows if target is None else np.append(rows[:-1], target)
        fitted = game.generator.fit(game.raw.take(used), int(rng.integers(2**31)))
        for level in game.generator.levels:
            drawn = fitted.generate(level, tables * profile.synthetic, int(rng.integers(2**31)))
            table = read_table(drawn, game.real.schema, rng, role="synthetic")
            found = table_features(table, tables, grid, game.layout)
            found[CLOSEST] = closest_features(table, tables, game.real, people)
            for name, values in found.items():
                out.setdefault(f"{role}|{level}|{name}", []).append(values.astype(np.float32))
    return {key: np.concatenate(arrays) for key, arrays in out.items()}


def draw_samples(game: Game, iteration: int) -> tuple[list[Ints], Ints]:
    """Rows of the shadow models and of the tested model of one iteration; no target is among them.

    The tested rows are outside the attacker's reference as far as there are enough rows.
    """
    rng, profile = game.stream(1 + 1000 * iteration + 999), game.profile
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


def judge_parts(game: Game) -> list[str]:
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
    labels = np.repeat([0, 1], [len(tables) for tables in train])
    return judge(judging.classifier, np.concatenate(train), labels, tests, seed, trees)


def _twin_chance(game: Game, t: int, i: int) -> float:
    """Chance that an equal row is in a sample without the target, which a lookup would take for the target."""
    twins, tested = game.targets[t].twins, draw_samples(game, i)[1]
    if not twins:
        return 0.0
    return 1.0 - (1.0 - len(tested) / game.raw.num_rows) ** twins


def _result(judging: Judging, parts: Mapping[str, Arrays], epsilon: float | None) -> AttackResult:
    """Numbers for every level by the best feature set; the others are details."""
    game, names = judging.game, (*judging.features, BEST)
    numbers: list[Number] = []
    groups = _groups(game)
    by_level: dict[str, Any] = {}
    boxes: list[list[Any]] = []
    for at, level in enumerate(game.generator.levels):
        gains, controls = (
            {n: _collect(game, parts, side, at, k) for k, n in enumerate(names)} for side in ("gains", "controls")
        )
        numbers += _numbers(game, level, gains[BEST], controls[BEST])
        boxes += [[number.title.removeprefix("privacy gain, "), five_numbers(gains[BEST][rows])]
                  for number, rows in zip(numbers[-len(groups) :], groups.values(), strict=True)]  # fmt: skip
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
        details={
            "dp_bound": bound,
            "levels": by_level,
            "boxes": [{"title": "privacy gain (PG) over games and targets", "boxes": boxes}],
        },
    )


def _collect(game: Game, parts: Mapping[str, Arrays], side: str, level: int, features: int) -> Gains:
    rows = range(len(game.targets))
    return np.array(
        [[parts[f"{i:03d}-j{t}"][side][level, features] for i in range(game.profile.iterations)] for t in rows]
    )


def _numbers(game: Game, level: str, gains: Gains, controls: Gains) -> list[Number]:
    out: list[Number] = []
    mark, words = level_words(level)
    for group, rows in _groups(game).items():
        out.append(
            Number(
                name=f"pg_{group}{mark}",
                title=f"privacy gain, {group} targets{words}",
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


def _groups(game: Game) -> dict[str, list[int]]:
    """Places of the targets of each group."""
    names = dict.fromkeys(target.group for target in game.targets)
    return {name: [at for at, target in enumerate(game.targets) if target.group == name] for name in names}


def _by_target(game: Game, gains: Gains) -> list[dict[str, Any]]:
    return [
        {"target": target.row, "group": target.group, "about": target.about, "gains": row.tolist(),
         "pg": privacy_gain_interval(row[None, :]).to_dict()}
        for target, row in zip(game.targets, gains, strict=True)
    ]  # fmt: skip
