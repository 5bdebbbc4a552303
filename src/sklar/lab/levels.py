"""TVineSynth as its authors use it: choose a truncation level of one fit by utility and privacy.

The table is fitted once, and each level is that fit with fewer trees. U_t: a learner is trained on synthetic tables of
the level and tested on real rows that the fit did not see. P_t: attacks (MAB, WCAB, MR2 and MSE of attribute inference,
PG of membership inference), whose fits also serve all levels. PU_t = a P_t + (1 - a) U_t selects the level. Reference:
Griesbauer et al. (2025), steps 1 to 3 of section 2.2, section 2.4 and appendix E.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sklar.errors import UsageError
from sklar.export.atomic import make_folder
from sklar.given_numbers import is_number, whole_number
from sklar.lab.attacks.method import METHOD_ATTACKS, attack_method
from sklar.lab.attacks.release import Attack, write_attack_report
from sklar.lab.attacks.result import Progress, five_numbers
from sklar.lab.baselines.levels import at_level, candidate_levels, choose_level, privacy_utility
from sklar.lab.learning.features import Examples, select_examples, task_of
from sklar.lab.learning.learners import train_and_predict
from sklar.lab.learning.transfer import multiclass_auc, score_predictions
from sklar.lab.pictures import tradeoff, tradeoff_point
from sklar.lab.tables.reading import read_raw, read_table
from sklar.notebook import notebook_bar
from sklar.pipeline.fit.run import fit
from sklar.pipeline.model import Model
from sklar.report.charts.canvas import write_picture
from sklar.report.charts.plots import Tradeoff, tradeoff_chart
from sklar.report.page import NOTICE
from sklar.sample.rng import substreams
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

HOLDOUT_SHARE = 0.2
"""Share of the rows that test the learner if no hold-out is given, as in the paper's two tables."""
ATTACK_OF_MEASURE = {"mab": "attribute", "wcab": "attribute", "mr2": "attribute", "mse": "attribute", "pg": "shadow"}
"""Measures of privacy, and the attack that computes each."""
UTILITY_MEASURE = {"classification": "auc_01", "regression": "r2"}
"""U_t: AUC from 0/1 predictions, as in the paper (`auc` is from probabilities); R2 for numbers is ours."""
REPORT, PICTURE, MODEL = "levels.custodian.html", "privacy-utility.custodian.svg", "model.sklar"
Scores = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelChoice:
    """Utility and privacy at every level, and the selected level. Computed from real rows: not private.

    Attributes:
        levels: The candidate levels.
        utility: By measure and level, the scores of all synthetic tables; the first measure is U_t.
        real: These measures for the learner trained on real rows.
        attacks: The results of the attacks, level by level.
        risks: By measure and level: MAB and PG as medians over games, as in the paper, all others as in the attack.
        privacy: The measure of P_t.
        weight: The weight a of privacy.
        scores: PU_t of each level, by sensitive column; for membership inference, one for all of them.
        chosen: The selected level: the lowest of those with the largest PU_t of a column.
        model: The fit with all its trees.
    """

    levels: tuple[int, ...]
    utility: Mapping[str, Mapping[int, tuple[float, ...]]]
    real: Mapping[str, float]
    learner: str
    attacks: tuple[Attack, ...]
    risks: Scores
    privacy: str
    weight: float
    scores: Scores
    by_column: Mapping[str, int]
    chosen: int
    model: Model

    @property
    def released(self) -> Model:
        """Return the model truncated at the chosen level, without the other trees."""
        return at_level(self.model, self.chosen, drop=True)

    @property
    def sets(self) -> int:
        """Return the number of synthetic tables behind each utility."""
        return len(next(iter(self.utility[self.main].values())))

    @property
    def main(self) -> str:
        """Return the measure of U_t."""
        return next(iter(self.utility))

    @property
    def plot(self) -> Tradeoff:
        """Return the privacy-utility plot: a line of levels for each sensitive column."""
        points = [
            tradeoff_point(
                f"level {level}",
                utility=tuple(five_numbers(self.utility[self.main][level])[at] for at in (2, 1, 3)),
                risk=risks[level],
                group=name,
            )
            for name, risks in self.risks.items()
            if name.split(".")[-1] == self.privacy
            for level in self.levels
        ]
        better = "higher" if self.privacy in ("mse", "pg") else "lower"
        return tradeoff(points, utility=f"utility ({self.main})", risk=self.privacy.upper(), better_risk=better)

    @property
    def headings(self) -> list[str]:
        """Return the headings of `rows`."""
        return ["level", *self.utility, *self.risks, *(f"PU ({name})" for name in self.scores)]

    @property
    def rows(self) -> list[list[float]]:
        """Return one line for each level: medians of utility, risks, and PU_t."""
        measured = (*self.risks.values(), *self.scores.values())
        medians = {t: [float(np.median(found[t])) for found in self.utility.values()] for t in self.levels}
        return [[t, *medians[t], *(found[t] for found in measured)] for t in self.levels]

    @property
    def boxes(self) -> dict[str, list[tuple[str, list[float]]]]:
        """Return box plots of utility over synthetic tables."""
        return {
            f"{name} over {self.sets} synthetic tables": [(f"level {t}", five_numbers(found[t])) for t in self.levels]
            for name, found in self.utility.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        utility = {name: {str(t): list(x) for t, x in found.items()} for name, found in self.utility.items()}
        return {
            "notice": NOTICE, "chosen": self.chosen, "by_column": dict(self.by_column), "privacy": self.privacy,
            "weight": self.weight, "learner": self.learner, "real": dict(self.real),
            "levels": [dict(zip(self.headings, row, strict=True)) for row in self.rows], "utility": utility,
            "attacks": {attack.kind: attack.to_dict() for attack in self.attacks},
        }  # fmt: skip

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the report, readable by the owner only; the name must end in .custodian.html."""
        write_attack_report(self.attacks, path, self.plot, self)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the report, the privacy-utility plot and the truncated model to a folder."""
        place = make_folder(folder, mode=0o700)
        self.html(place / REPORT)
        write_picture(tradeoff_chart(self.plot), place / PICTURE, mode=0o600)
        self.released.save(place / MODEL, force=True)
        return place / REPORT, place / PICTURE, place / MODEL


def compare_levels(
    data: Any,
    schema: Schema | str | os.PathLike[str],
    target: str,
    sensitive: Sequence[str] | str,
    *,
    holdout: Any = None,
    candidates: Sequence[int] | None = None,
    attacks: Sequence[str] = ("attribute", "shadow"),
    privacy: str = "mab",
    weight: float = 0.5,
    learner: str = "forest",
    sets: int = 50,
    profile: str = "paper",
    published: bool = False,
    workers: int | None = None,
    state: str | os.PathLike[str] | None = None,
    seed: int = 0,
    read: ReadOptions | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LevelChoice:
    """Fit `tvine` once and choose a truncation level by utility and privacy. No DP guarantee; nothing is private.

    Args:
        data: The real table.
        schema: Public facts about the columns, or the path of a schema file.
        target: The response: root of the first tree, and predicted by the learner.
        sensitive: The columns that truncation protects and that are attacked.
        holdout: Real rows that test the learner; by default a fifth of the table, which the fit never sees.
        candidates: Levels to compare; by default 1, every fifth and the highest.
        attacks: "attribute" (MAB, WCAB, MR2, MSE), "shadow" (PG, by far the slowest) or both.
        privacy: The measure of P_t: "mab", "wcab", "mr2", "mse" or "pg".
        weight: The weight a of privacy in PU_t.
        learner: The learner that is trained on synthetic tables, as in `evaluate`.
        sets: Number of synthetic tables for each level, each with the number of fitted rows.
        profile: Sizes of the games: "paper" or "quick".
        published: Use only the published forms of `tvine` and of the attacker (see `attack_method`).
        workers: Processes of the attacks.
        state: Prefix of the folders that keep finished parts of attacks; the same call continues from them.
        seed: Fixes split, fits, samples and targets.
        read: How to read the tables.
        progress: Called with the current step and the fraction completed.
        options: Options of `tvine`, as threshold=0.5.
    """
    names = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    kinds = tuple(dict.fromkeys(attacks))
    _check_options(kinds, privacy, weight, sets)
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    report = progress or notebook_bar("comparing levels") or (lambda what, fraction: None)
    streams, reading = substreams(seed, 5), read or ReadOptions()
    report("fitting", 0.0)
    raw = read_raw(data, facts, reading)
    plain = ReadOptions(null_values=reading.null_values)
    train, test = _split(raw, streams[0]) if holdout is None else (raw, read_raw(holdout, facts, reading))
    settings: dict[str, Any] = {"target": target, "sensitive": names, "published": published, **options}
    model = fit(train, facts, method="tvine", no_guarantee=True, seed=seed, read=plain, **settings)
    chosen = candidate_levels(model) if candidates is None else tuple(dict.fromkeys(candidates))
    cut = {level: at_level(model, level) for level in chosen}
    tested = select_examples(read_table(test, facts, streams[1], role="hold-out", read=plain), target)
    trained = select_examples(read_table(train, facts, streams[2], role="real", read=plain), target)
    utility: dict[int, list[dict[str, float]]] = {}
    for at, (level, one) in enumerate(cut.items()):
        report(f"utility at level {level}", 0.05 + 0.35 * at / len(cut))
        utility[level] = _score_samples(one, tested, sets, train.num_rows, learner, streams[3])
    real = score_learner(learner, trained, tested, streams[4])
    found: list[Attack] = []
    for at, kind in enumerate(kinds):
        start, width = 0.4 + 0.6 * at / len(kinds), 0.6 / len(kinds)
        more: dict[str, Any] = {"published": published} if kind == "shadow" else {}
        more |= {} if state is None else {"state": f"{os.fspath(state)}.{kind}"}
        found.append(
            attack_method(
                kind, "tvine", train, facts, settings=settings, levels=list(chosen), sensitive=list(names), seed=seed,
                profile=profile, workers=workers, read=plain,
                progress=lambda what, done, start=start, width=width: report(what, start + width * done), **more,
            )
        )  # fmt: skip
    main = UTILITY_MEASURE[task_of(facts, target)]
    measures = (main, *(name for name in real if name != main))
    by_measure = {name: {t: tuple(one[name] for one in utility[t]) for t in chosen} for name in measures}
    risks = {key: value for attack in found for key, value in collect_risks(attack, names, chosen).items()}
    return _choose_level(
        risks, privacy, weight, levels=chosen, utility=by_measure, real={name: real[name] for name in measures},
        learner=learner, attacks=tuple(found), model=model,
    )  # fmt: skip


def _check_options(attacks: Sequence[str], privacy: str, weight: float, sets: int) -> None:
    unknown = [kind for kind in attacks if kind not in METHOD_ATTACKS]
    if unknown or not attacks:
        raise UsageError(f"attacks are any of {', '.join(METHOD_ATTACKS)}; found {list(attacks)}.")
    if privacy not in ATTACK_OF_MEASURE:
        raise UsageError(f"privacy must be one of {', '.join(ATTACK_OF_MEASURE)}; found {privacy!r}.")
    if ATTACK_OF_MEASURE[privacy] not in attacks:
        raise UsageError(f"privacy='{privacy}' needs the attack '{ATTACK_OF_MEASURE[privacy]}'; add it to attacks.")
    whole_number(sets, "sets")
    if not is_number(weight) or not 0 <= weight <= 1:
        raise UsageError(f"the weight of privacy must be between 0 and 1; found {weight!r}.")


def _split(raw: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Split into rows to fit and rows to test on."""
    order = rng.permutation(raw.num_rows)
    held = round(HOLDOUT_SHARE * raw.num_rows)
    return raw.take(np.sort(order[held:])), raw.take(np.sort(order[:held]))


def _score_samples(
    model: Model, test: Examples, sets: int, rows: int, learner: str, rng: np.random.Generator
) -> list[dict[str, float]]:
    """Score the learner on every synthetic table of a model."""
    drawn = model.sample(sets * rows, seed=int(rng.integers(2**31)), iid=True)
    table = select_examples(read_table(drawn, model.schema, rng, role="synthetic"), test.target)
    parts = np.array_split(np.arange(len(table.truth)), sets)  # nearly equal: rows without a target are dropped
    return [score_learner(learner, table.take(part), test, rng) for part in parts]


def score_learner(learner: str, train: Examples, test: Examples, rng: np.random.Generator) -> dict[str, float]:
    """Score a classifier (with AUC from 0/1 predictions and from probabilities) or a regression."""
    predicted = train_and_predict(learner, train, test, rng)
    found = score_predictions(test.truth, predicted)
    if predicted.chances is None:
        return found
    guessed = np.eye(predicted.chances.shape[1])[predicted.guess]
    return {"auc_01": multiclass_auc(test.truth, guessed), **found}


def collect_risks(attack: Attack, sensitive: Sequence[str], chosen: Sequence[int]) -> dict[str, dict[int, float]]:
    """Return the results of an attack by measure and level."""
    if attack.kind == "shadow":
        by_level = attack.details["levels"]
        gains = {t: [gain for target in by_level[str(t)]["best"] for gain in target["gains"]] for t in chosen}
        return {"pg": {t: float(np.median(values)) for t, values in gains.items()}}
    out: dict[str, dict[int, float]] = {}
    for name in sensitive:
        games = attack.details[name]["levels"]
        out[f"{name}.mab"] = {t: float(np.median(games[str(t)]["mab_by_game"])) for t in chosen}
        for measure in ("wcab", "mr2", "mse"):
            out[f"{name}.{measure}"] = {t: attack[f"{name}.{measure}[{t}]"].attack.value for t in chosen}
    return out


def _choose_level(risks: Scores, privacy: str, weight: float, **found: Any) -> LevelChoice:
    """Choose the level with the largest PU_t for each column, and the lowest of these, which protects all columns."""
    better = {"mse": lambda x: x, "pg": lambda x: -abs(1 - x)}.get(privacy, lambda x: -x)
    useful = {t: float(np.median(x)) for t, x in next(iter(found["utility"].values())).items()}
    taken = {name.rpartition(".")[0] or "all": r for name, r in risks.items() if name.split(".")[-1] == privacy}
    private = {name: {t: better(x) for t, x in by_level.items()} for name, by_level in taken.items()}
    picked = {name: choose_level(one, useful, weight=weight) for name, one in private.items()}
    return LevelChoice(
        risks=risks, privacy=privacy, weight=weight, by_column=picked, chosen=min(picked.values()),
        scores={name: privacy_utility(one, useful, weight=weight) for name, one in private.items()}, **found,
    )  # fmt: skip
