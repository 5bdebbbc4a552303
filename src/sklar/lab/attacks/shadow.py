"""Membership inference by shadow models: can an attacker who knows the method detect whether a person was in the table?

In each game the attacker has a reference sample of the population. It fits shadow models on samples of it, without
the target and with it (replacing another row, so that the number of rows reveals nothing), draws synthetic tables from
each, and trains a classifier on features of these tables. Then it classifies tables of models fitted on other rows,
with and without the target. Its advantage is Adv = P(says "in" | in) - P(says "in" | out). With access to the real
table it would look the target up. The privacy gain of publishing the synthetic table instead is
PG = Adv(real) - Adv(synthetic): 1 if the attacker learns nothing, 0 if as much as from the table. Under DP,
PG >= 2 - exp(epsilon). Reference: Stadler, Oprisanu, Troncoso (2022); Griesbauer et al. (2025), section 2.5 and
appendix H.
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
from sklar.lab.attacks.attribute import validate_sensitive_columns
from sklar.lab.attacks.classifiers import (
    ALL_FEATURES,
    ATTACK_TREES,
    CLOSEST,
    HISTOGRAM_CELLS,
    PUBLISHED_FEATURES,
    SELECTION_TREES,
    TABLE_FEATURES,
    classify_by_threshold,
    classify_tables,
    closest_features,
    require_classifier,
    table_features,
)
from sklar.lab.attacks.games import (
    Arrays,
    Game,
    Subject,
    describe_level,
    find_profile,
    load_part,
    open_game,
    open_state,
    run_parts,
)
from sklar.lab.attacks.result import AttackResult, Number, Progress, five_numbers
from sklar.lab.intervals import exact_estimate, privacy_gain_interval
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
        shadows: Shadow models without the target, and the same number with it (nShadows).
        tables: Synthetic tables drawn from each shadow model (nSynA).
        size: Rows that each model is fitted on (sizeRawT).
        synthetic: Rows of each synthetic table (sizeSynT).
        test_tables: Synthetic tables with, and without, the target that the attacker has to classify (nSynT).
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
    """The input of the second half of the attack; `folder` keeps the features from the first half."""

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
    """Run membership inference by shadow models.

    Args:
        subject: The method and the real rows.
        done: Called with the progress and the remaining time.
        profile: "paper" (parameters of Griesbauer et al. 2025, table 1) or "quick".
        sensitive: Columns at whose outlying quantiles targets are chosen.
        targets: Positions of target rows, instead of chosen ones.
        random_targets: Number of additional random targets.
        features: Any of naive, histogram, correlation, ensemble, closest; all by default.
        classifier: forest (the default), plain-forest, logistic, neighbors or svc.
        published: Use the attacker of Stadler et al. (2022), as TVineSynth does: its feature sets, without ours
            (closest), and the default random forest of scikit-learn (plain-forest).
        epsilon: Epsilon of the method's claim, for the bound 2 - exp(epsilon).
        state: A folder that keeps finished parts, so that an interrupted attack can be resumed.
        workers: Processes; by default 2, and 1 for functions and generators of your own, which then stay in this one.
        changes: Parameters of the profile to change, as {"iterations": 5}.
    """
    classifier = classifier or ("plain-forest" if published else "forest")
    require_classifier(classifier)
    if features is None:
        features = PUBLISHED_FEATURES if published else ALL_FEATURES
    chosen = (features,) if isinstance(features, str) else tuple(features)
    if not chosen or any(name not in ALL_FEATURES for name in chosen):
        raise UsageError(f"features are any of {', '.join(ALL_FEATURES)}; found {list(chosen)}.")
    if published and CLOSEST in chosen:
        raise UsageError(f"published=True is not available with the feature set '{CLOSEST}', which is not published.")
    sizes = find_profile(SHADOW_PROFILES, profile, changes)
    columns = validate_sensitive_columns(subject.real, sensitive) if sensitive else ()
    game = open_game(subject, sizes, columns, targets, random_targets)
    _require_rows(game)
    with open_state(state, game.fingerprint(chosen, classifier)) as folder:
        run_parts(
            game, play_part, game_parts(game), folder, workers=workers or 1, done=_report_half(done, 0.0),
            what="fits, part",
        )  # fmt: skip
        judging = Judging(game=game, folder=folder, features=chosen, classifier=classifier)
        judged = judge_parts(game)
        run_parts(
            judging, play_judge, judged, folder, workers=workers or 1, done=_report_half(done, 0.5), what="judging"
        )
        return _summarize(judging, {part: load_part(folder, part) for part in judged}, epsilon)


def _report_half(done: Progress, start: float) -> Progress:
    return lambda what, fraction: done(what, start + fraction / 2)


def _require_rows(game: Game) -> None:
    """Reject a table too small for the profile."""
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
    """Name the parts: for each iteration one without any target, and one for each target."""
    ends = [OUT, *(f"t{at}" for at in range(len(game.targets)))]
    return [f"{iteration:03d}-{end}" for iteration in range(game.profile.iterations) for end in ends]


def play_part(game: Game, part: str) -> Arrays:
    """Fit and draw all tables of one part; return features by role (training, test), level and set."""
    iteration, end = int(part[:3]), part[4:]
    target = None if end == OUT else game.targets[int(end[1:])].row
    samples, tested = draw_samples(game, iteration)
    rng = game.stream(1 + 1000 * iteration + (0 if target is None else 1 + int(end[1:])))
    profile, grid = game.profile, coarse_grid(game.real.schema, HISTOGRAM_CELLS)
    out: dict[str, list[npt.NDArray[Any]]] = {}
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
    """Draw the rows of the shadow models and of the tested model of one iteration, without the targets.

    The tested rows are outside the attacker's reference when there are enough rows.
    """
    rng, profile = game.stream(1 + 1000 * iteration + 999), game.profile
    free = np.setdiff1d(np.arange(game.raw.num_rows), [target.row for target in game.targets])
    order = rng.permutation(free)
    reference, tested = order[: profile.reference], order[-profile.size :]
    samples = [rng.choice(reference, profile.size, replace=False) for _ in range(profile.shadows)]
    return samples, tested


def features_of(arrays: Arrays, role: str, level: str, name: str, target: int) -> npt.NDArray[Any]:
    """Return the features of the tables of one part, as an attacker on this target sees them."""
    if name == "ensemble":
        return np.concatenate([arrays[f"{role}|{level}|{one}"] for one in TABLE_FEATURES], axis=1)
    found = arrays[f"{role}|{level}|{name}"]
    return found[:, target] if name == CLOSEST else found


def judge_parts(game: Game) -> list[str]:
    """Name the parts that classify: one for each game and target."""
    return [f"{i:03d}-j{t}" for i in range(game.profile.iterations) for t in range(len(game.targets))]


def play_judge(judging: Judging, part: str) -> Arrays:
    """Compute the privacy gain of one target in one game, by level and feature set, and a control.

    The control classifies the tables of another target. The last feature set, "best", is the one with the greatest
    advantage on the attacker's own shadow models.
    """
    game, i, t = judging.game, int(part[:3]), int(part[5:])
    ends = (OUT, f"t{t}", f"t{(t + 1) % len(game.targets)}")
    files = [load_part(judging.folder, f"{i:03d}-{end}") for end in ends]
    real = 1.0 - _twin_probability(game, t, i)
    gains, controls = [], []
    for level in game.generator.levels:
        found = [_rate_features(judging, files, t, i, level, name) for name in judging.features]
        # Ties go to the simplest set: the closest row.
        best = max(range(len(found)), key=lambda at: (found[at][3], judging.features[at] == CLOSEST))
        gains.append([real - (found[at][0] - found[at][1]) for at in (*range(len(found)), best)])
        controls.append([real - (found[at][2] - found[at][1]) for at in (*range(len(found)), best)])
    return {"gains": np.array(gains), "controls": np.array(controls)}


def _rate_features(
    judging: Judging, files: Sequence[Arrays], t: int, i: int, level: str, features: str
) -> tuple[float, float, float, float]:
    """Return how often the classifier says "in" for tables with the target, without it, and with another target.

    The last value is its two-fold cross-validated advantage on the shadow models.
    """
    out, own, other = files
    train = [features_of(part, "train", level, features, t) for part in (out, own)]
    tests = [features_of(part, "test", level, features, t) for part in (own, out, other)]
    seed = 1000 * i + t
    seen, unseen, otherwise = _classify(judging, features, train, tests, seed, ATTACK_TREES)
    middle = len(train[0]) // 2
    halves = [[x[:middle] for x in train], [x[middle:] for x in train]]
    tried = [_classify(judging, features, one, two, seed, SELECTION_TREES) for one, two in (halves, halves[::-1])]
    return seen, unseen, otherwise, float(np.mean([found - missed for missed, found in tried]))


def _classify(
    judging: Judging, features: str, train: Sequence[npt.NDArray[Any]], tests: list[npt.NDArray[Any]], seed: int,
    trees: int,
) -> list[float]:  # fmt: skip
    """Classify tables; distances always by a threshold, since a closer row can only be evidence for the target."""
    if features == CLOSEST:
        return classify_by_threshold(train[0], train[1], tests)
    labels = np.repeat([0, 1], [len(tables) for tables in train])
    return classify_tables(judging.classifier, np.concatenate(train), labels, tests, seed, trees)


def _twin_probability(game: Game, t: int, i: int) -> float:
    """Return the probability that a sample without the target has an equal row, which a lookup would mistake for it."""
    tested = draw_samples(game, i)[1]
    return 1.0 - (1.0 - len(tested) / game.raw.num_rows) ** game.targets[t].twins


def _summarize(judging: Judging, parts: Mapping[str, Arrays], epsilon: float | None) -> AttackResult:
    """Report the privacy gain of every level by the best feature set; the others are details."""
    game, names = judging.game, (*judging.features, BEST)
    numbers: list[Number] = []
    groups = _group_targets(game)
    by_level: dict[str, Any] = {}
    boxes: list[list[Any]] = []
    for at, level in enumerate(game.generator.levels):
        gains, controls = (
            {n: _collect_gains(game, parts, side, at, k) for k, n in enumerate(names)} for side in ("gains", "controls")
        )
        numbers += _report_gains(game, level, gains[BEST], controls[BEST])
        boxes += [[number.title.removeprefix("privacy gain, "), five_numbers(gains[BEST][rows])]
                  for number, rows in zip(numbers[-len(groups) :], groups.values(), strict=True)]  # fmt: skip
        by_level[level or "only"] = {name: _describe_targets(game, found) for name, found in gains.items()}
    bound = None if epsilon is None else 2.0 - math.exp(min(epsilon, 50.0))
    settings = {**asdict(game.profile), "features": list(judging.features), "classifier": judging.classifier,
                "levels": list(game.generator.levels)}  # fmt: skip
    missing = "No epsilon is claimed, so there is no bound on the privacy gain."
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


def _collect_gains(game: Game, parts: Mapping[str, Arrays], side: str, level: int, features: int) -> Gains:
    rows = range(len(game.targets))
    return np.array(
        [[parts[f"{i:03d}-j{t}"][side][level, features] for i in range(game.profile.iterations)] for t in rows]
    )


def _report_gains(game: Game, level: str, gains: Gains, controls: Gains) -> list[Number]:
    out: list[Number] = []
    mark, words = describe_level(level)
    for group, rows in _group_targets(game).items():
        out.append(
            Number(
                name=f"pg_{group}{mark}",
                title=f"privacy gain, {group} targets{words}",
                says="1 if synthetic tables do not reveal membership, 0 if they reveal as much as the real table.",
                attack=privacy_gain_interval(gains[rows]),
                baseline=exact_estimate(1.0),
                control=privacy_gain_interval(controls[rows]) if len(game.targets) > 1 else None,
                ideal=1.0,
                worse="lower",
                trials=int(gains[rows].size),
            )
        )
    return out


def _group_targets(game: Game) -> dict[str, list[int]]:
    """Return the positions of the targets of each group."""
    names = dict.fromkeys(target.group for target in game.targets)
    return {name: [at for at, target in enumerate(game.targets) if target.group == name] for name in names}


def _describe_targets(game: Game, gains: Gains) -> list[dict[str, Any]]:
    return [
        {"target": target.row, "group": target.group, "about": target.about, "gains": row.tolist(),
         "pg": privacy_gain_interval(row[None, :]).to_dict()}
        for target, row in zip(game.targets, gains, strict=True)
    ]  # fmt: skip
