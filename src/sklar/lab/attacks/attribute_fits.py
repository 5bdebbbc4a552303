"""Attribute inference from repeated fits: what a method, not one table, reveals about a sensitive column.

In each game the method is fitted on a reference sample of the real rows and draws synthetic tables. On each table the
sensitive column is regressed on all others (see `regression`). MAB is the mean absolute coefficient over all tables of
all games, WCAB the greatest, MR2 the mean adjusted R2, each per level from the same fits. MSE is the squared error of
guesses about target rows, compared with an attacker who has bootstraps of the real table. Reference: Griesbauer et al.
(2025), definition 2.2 and appendix H.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.errors import UsageError
from sklar.lab.attacks.attribute import validate_sensitive_columns
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
from sklar.lab.attacks.regression import guess_errors, impute_mean, make_predictors, regress, standardize_columns
from sklar.lab.attacks.result import AttackResult, Number, Progress, five_numbers
from sklar.lab.intervals import Estimate, exact_estimate, student_mean
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable, ordered_values

BASELINE_TABLES = 10
"""Tables per game on which the baseline (a shuffled sensitive column) is regressed: more reduce its variance and cost
time."""
TITLES = {
    "mab": (
        "mean absolute coefficient (MAB)",
        "How much the other columns reveal about the sensitive column; the intercept is left out.",
    ),
    "wcab": (
        "greatest absolute coefficient (WCAB)",
        "The largest coefficient in all tables; the interval is the range over games.",
    ),
    "mr2": ("mean adjusted R2 (MR2)", "Share of the variance of the sensitive column that the other columns explain."),
    "mse": (
        "mean squared error of guesses (MSE)",
        "Error of guesses about the targets, in units of the variance of the sensitive column.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeProfile:
    """Parameters of attribute inference from fits (Griesbauer et al. 2025, table 1, in brackets).

    Attributes:
        iterations: Games (nIter).
        reference: Real rows that the method is fitted on (sizeRawT).
        size: Rows of each synthetic table and each bootstrap (sizeSynT, bootstrapSize).
        tables: Synthetic tables and bootstraps of a game (nSynT).
    """

    iterations: int = 10
    reference: int = 500
    size: int = 500
    tables: int = 50


ATTRIBUTE_PROFILES: dict[str, AttributeProfile] = {
    "paper": AttributeProfile(),
    "quick": AttributeProfile(iterations=4, reference=250, size=250, tables=10),
}


def attribute_attack(
    subject: Subject,
    done: Progress,
    *,
    profile: str = "paper",
    sensitive: Sequence[str] | str | None = None,
    targets: Sequence[int] | None = None,
    random_targets: int = 5,
    state: str | PathLike[str] | None = None,
    workers: int | None = None,
    changes: Mapping[str, int] | None = None,
) -> AttackResult:
    """Run attribute inference on fits to reference samples; the arguments are those of `shadow_attack`."""
    columns = validate_sensitive_columns(subject.real, sensitive)
    labels = [name for name in columns if not subject.real.schema[name].ordered]
    if labels:
        raise UsageError(f"the column '{labels[0]}' has no order to regress on; attack a synthetic table instead.")
    sizes = find_profile(ATTRIBUTE_PROFILES, profile, changes)
    if subject.real.rows < sizes.reference:
        raise UsageError(
            f"the attack needs at least {sizes.reference:,} real rows; there are {subject.real.rows:,}. Use the "
            "profile 'quick', or a smaller reference."
        )
    game = open_game(subject, sizes, columns, targets, random_targets)
    parts = [f"{iteration:03d}-fit" for iteration in range(sizes.iterations)]
    with open_state(state, game.fingerprint()) as folder:
        run_parts(game, play_attribute, parts, folder, workers=workers or 1, done=done, what="game")
        return _summarize(game, [load_part(folder, part) for part in parts])


def play_attribute(game: Game, part: str) -> Arrays:
    """Fit once and run the regressions on its tables, for all levels and sensitive columns."""
    profile, rng = game.profile, game.stream(1 + int(part[:3]))
    order = rng.permutation(game.real.rows)
    reference, rest = order[: profile.reference], order[profile.reference :]
    fitted = game.generator.fit(game.raw.take(reference), int(rng.integers(2**31)))
    out: dict[str, npt.NDArray[Any]] = {}
    for level in game.generator.levels:
        drawn = fitted.generate(level, profile.tables * profile.size, int(rng.integers(2**31)))
        table = read_table(drawn, game.real.schema, rng, role="synthetic")
        for name in game.sensitive:
            out.update(_regress_tables(game, table, name, f"{level}|{name}", rng))
    for name in game.sensitive:
        # Bootstraps of the real reference, and of real rows that the fit did not see.
        for role, rows in (("real", reference), ("control", rest if len(rest) >= profile.size // 4 else order)):
            boots = game.real.take(rng.choice(rows, profile.tables * profile.size))
            out.update(_regress_tables(game, boots, name, f"{role}||{name}", rng))
    return out


def _regress_tables(game: Game, table: ExactTable, name: str, key: str, rng: np.random.Generator) -> Arrays:
    """Return coefficients, adjusted R2 and squared errors of each table, and the baseline on shuffled columns."""
    size, tables = game.profile.size, game.profile.tables
    x, y = make_predictors(table, game.layout, name), impute_mean(ordered_values(table, name))
    slices = [slice(i * size, (i + 1) * size) for i in range(tables)]
    chunks = [(standardize_columns(x[s]), standardize_columns(y[s])) for s in slices]
    fits = [regress(*chunk) for chunk in chunks]
    blind = [regress(a, rng.permutation(b)) for a, b in chunks[:BASELINE_TABLES]]
    people = game.real.take(np.array([target.row for target in game.targets], dtype=np.int64))
    parts = [table.take(np.arange(s.start, s.stop)) for s in slices]
    errors = guess_errors(parts, people, game.real, game.layout, name) if game.targets else np.empty((0, 0))
    return {
        f"{key}|coefficients": np.array([fit.coefficients for fit in fits]),
        f"{key}|r2": np.array([fit.adjusted for fit in fits]),
        f"{key}|blind": np.array([fit.coefficients for fit in blind]),
        f"{key}|blind_r2": np.array([fit.adjusted for fit in blind]),
        f"{key}|errors": errors,
    }


def _summarize(game: Game, games: list[Arrays]) -> AttackResult:
    """Report the measures of every level and sensitive column."""
    numbers: list[Number] = []
    details: dict[str, Any] = {"features": {name: list(game.layout.features(name)) for name in game.sensitive}}
    details["boxes"] = [box for name in game.sensitive for box in _box_plots(game, games, name)]
    for name in game.sensitive:
        real, control = _measure_games(games, f"real||{name}"), _measure_games(games, f"control||{name}")
        details[name] = {"real": {key: x.to_dict() for key, x in real.items()}, "levels": {}}
        for level in game.generator.levels:
            found = _measure_games(games, f"{level}|{name}")
            blind = _measure_games(games, f"{level}|{name}", "blind", "blind_r2")
            blind["mse"] = exact_estimate(1.0)
            for key, estimate in found.items():
                (title, says), (mark, words) = TITLES[key], describe_level(level)
                numbers.append(
                    Number(
                        name=f"{name}.{key}{mark}",
                        title=f"{title} of '{name}'{words}",
                        says=says,
                        attack=estimate,
                        baseline=blind[key],
                        control=control.get(key),
                        worse="lower" if key == "mse" else "higher",
                    )
                )
            details[name]["levels"][level or "only"] = _describe_games(game, games, f"{level}|{name}")
    return AttackResult(
        kind="attribute",
        title="Attribute inference from fits",
        numbers=tuple(numbers),
        settings={**asdict(game.profile), "sensitive": list(game.sensitive), "levels": list(game.generator.levels)},
        details=details,
    )


def _box_plots(game: Game, games: list[Arrays], name: str) -> list[dict[str, Any]]:
    """Return box plots of MAB over games by level, and of each coefficient over all tables of all games."""
    by_level = {
        f"level {level}" if level else "all": np.concatenate([g[f"{level}|{name}|coefficients"] for g in games])
        for level in game.generator.levels
    }
    mabs = [
        [called, five_numbers(np.abs(found).reshape(len(games), -1).mean(axis=1))] for called, found in by_level.items()
    ]
    features = game.layout.features(name)
    return [
        {"title": f"MAB of '{name}' over games", "boxes": mabs},
        *(
            {
                "title": f"coefficients for '{name}' over tables and games, {called}",
                "boxes": [[feature, five_numbers(found[:, at])] for at, feature in enumerate(features)],
            }
            for called, found in by_level.items()
        ),
    ]


def _measure_games(games: list[Arrays], key: str, what: str = "coefficients", r2: str = "r2") -> dict[str, Estimate]:
    """Estimate the measures over all games; each game counts once in the intervals."""
    sizes = [np.abs(game[f"{key}|{what}"]) for game in games]
    tops = [float(size.max()) for size in sizes]
    out = {
        "mab": student_mean([float(size.mean()) for size in sizes]),
        "wcab": Estimate(value=max(tops), low=min(tops), high=max(tops)),
        "mr2": student_mean([float(game[f"{key}|{r2}"].mean()) for game in games]),
    }
    errors = [game[f"{key}|errors"] for game in games]
    if what == "coefficients" and errors[0].size:
        out["mse"] = student_mean([float(error.mean()) for error in errors])
    return out


def _describe_games(game: Game, games: list[Arrays], key: str) -> dict[str, Any]:
    """Return MAB and WCAB of each game, mean coefficients, and errors of each target."""
    sizes = [np.abs(g[f"{key}|coefficients"]) for g in games]
    errors = np.mean([g[f"{key}|errors"].mean(axis=0) for g in games], axis=0) if game.targets else []
    return {
        "mab_by_game": [float(size.mean()) for size in sizes],
        "wcab_by_game": [float(size.max()) for size in sizes],
        "mean_coefficients": np.mean([g[f"{key}|coefficients"].mean(axis=0) for g in games], axis=0).tolist(),
        "mse_by_target": [
            {"target": target.row, "group": target.group, "about": target.about, "mse": float(error)}
            for target, error in zip(game.targets, errors, strict=True)
        ],
    }
