"""TVineSynth as its authors use it: utility and privacy at every truncation level of one fit, and the level to take.

The table is fitted once, and each level is that fit with fewer trees. U_t: a learner is trained on synthetic tables of
the level and tested on real rows that the fit did not see. P_t: attacks play their games (MAB, WCAB, MR2 and MSE of
attribute inference, PG of membership inference), every fit of which serves all levels. PU_t = a P_t + (1 - a) U_t picks
the level. Reference: Griesbauer et al. (2025), steps 1 to 3 of section 2.2, section 2.4 and appendix E.
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
from sklar.lab.learning.features import Examples, examples, task_of
from sklar.lab.learning.learners import learn
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

HELD_OUT = 0.2
"""Share of the rows that test the learner where no hold-out is given, as in the paper's two tables."""
PRIVACY = {"mab": "attribute", "wcab": "attribute", "mr2": "attribute", "mse": "attribute", "pg": "shadow"}
"""What privacy can be measured by, and the attack that does."""
MAIN = {"classification": "auc_01", "regression": "r2"}
"""U_t: AUC from 0/1 predictions, as the paper has it (`auc` is from probabilities); R2 of numbers is ours."""
REPORT, PICTURE, MODEL = "levels.custodian.html", "privacy-utility.custodian.svg", "model.sklar"
Scores = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelChoice:
    """Utility and privacy at every level, and the level they pick. Computed from real rows: not private.

    Attributes:
        levels: The candidate levels.
        utility: By measure and level, what each synthetic table scores; the first measure is U_t.
        real: The same measures of the learner trained on real rows.
        attacks: What the attacks found, level by level.
        risks: By measure and level: MAB and PG as medians over games, as in the paper, all others as the attack has
            them.
        privacy: What P_t is made of.
        weight: a, what privacy counts for.
        scores: PU_t of each level, by sensitive column; of membership inference, for all of them.
        chosen: The level to take: of those that the columns' PU_t pick, the lowest.
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
        """The model cut at the chosen level; the trees beyond are not in it."""
        return at_level(self.model, self.chosen, drop=True)

    @property
    def sets(self) -> int:
        """Synthetic tables behind each utility."""
        return len(next(iter(self.utility[self.main].values())))

    @property
    def main(self) -> str:
        """The measure of U_t."""
        return next(iter(self.utility))

    @property
    def plot(self) -> Tradeoff:
        """The privacy-utility plot: a line of levels for each sensitive column."""
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
        """What stands above the columns of `rows`."""
        return ["level", *self.utility, *self.risks, *(f"PU ({name})" for name in self.scores)]

    @property
    def rows(self) -> list[list[float]]:
        """One line for each level: medians of utility, risks, and PU_t."""
        return [
            [
                level,
                *(float(np.median(found[level])) for found in self.utility.values()),
                *(found[level] for found in (*self.risks.values(), *self.scores.values())),
            ]
            for level in self.levels
        ]

    @property
    def boxes(self) -> dict[str, list[tuple[str, list[float]]]]:
        """Box plots of utility over synthetic tables."""
        return {
            f"{name} over {self.sets} synthetic tables": [(f"level {t}", five_numbers(found[t])) for t in self.levels]
            for name, found in self.utility.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "notice": NOTICE,
            "chosen": self.chosen,
            "by_column": dict(self.by_column),
            "privacy": self.privacy,
            "weight": self.weight,
            "learner": self.learner,
            "real": dict(self.real),
            "levels": [dict(zip(self.headings, row, strict=True)) for row in self.rows],
            "utility": {
                name: {str(level): list(values) for level, values in found.items()}
                for name, found in self.utility.items()
            },
            "attacks": {attack.kind: attack.to_dict() for attack in self.attacks},
        }

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the report, readable by the owner only; the name must end in .custodian.html."""
        write_attack_report(self.attacks, path, self.plot, self)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Report, privacy-utility plot and the model cut at the chosen level into a folder."""
        place = make_folder(folder, mode=0o700)
        self.html(place / REPORT)
        write_picture(tradeoff_chart(self.plot), place / PICTURE, mode=0o600)
        self.released.save(place / MODEL, force=True)
        return place / REPORT, place / PICTURE, place / MODEL


def levels(
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
    """Fit `tvine` once, and weigh its truncation levels by utility and privacy. No DP guarantee; nothing is private.

    Args:
        data: The real table.
        schema: Public facts about the columns, or the path of a schema file.
        target: The response: root of the first tree, and what the learner predicts.
        sensitive: The columns that truncation is to protect, and that are attacked.
        holdout: Real rows that test the learner; by default a fifth of the table, which the fit never sees.
        candidates: Levels to look at; by default 1, every fifth and the highest.
        attacks: "attribute" (MAB, WCAB, MR2, MSE), "shadow" (PG, which takes by far the longest) or both.
        privacy: What P_t is: "mab", "wcab", "mr2", "mse" or "pg".
        weight: a of PU_t, what privacy counts for.
        learner: What is trained on synthetic tables, as in `evaluate`.
        sets: Synthetic tables, of as many rows as were fitted, for each level.
        profile: Sizes of the games: "paper" or "quick".
        published: The published forms of `tvine` and of the attacker alone (see `attack_method`).
        workers: Processes of the attacks.
        state: Keeps the finished parts of an attack in folders that begin with this path; the same call goes on there.
        seed: Fixes split, fits, samples and targets.
        read: How to read the tables.
        progress: Told what is being computed, and the fraction that is done.
        options: Options of `tvine`, as threshold=0.5.
    """
    names = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    kinds = tuple(dict.fromkeys(attacks))
    _check(kinds, privacy, weight, sets)
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    tell = progress or notebook_bar("weighing levels") or (lambda what, fraction: None)
    streams, reading = substreams(seed, 5), read or ReadOptions()
    tell("fitting", 0.0)
    raw = read_raw(data, facts, reading)
    plain = ReadOptions(null_values=reading.null_values)
    train, test = _split(raw, streams[0]) if holdout is None else (raw, read_raw(holdout, facts, reading))
    settings: dict[str, Any] = {"target": target, "sensitive": names, "published": published, **options}
    model = fit(train, facts, method="tvine", no_guarantee=True, seed=seed, read=plain, **settings)
    chosen = candidate_levels(model) if candidates is None else tuple(dict.fromkeys(candidates))
    cut = {level: at_level(model, level) for level in chosen}
    tested = examples(read_table(test, facts, streams[1], role="hold-out", read=plain), target)
    trained = examples(read_table(train, facts, streams[2], role="real", read=plain), target)
    utility: dict[int, list[dict[str, float]]] = {}
    for at, (level, one) in enumerate(cut.items()):
        tell(f"utility at level {level}", 0.05 + 0.35 * at / len(cut))
        utility[level] = _learn_from(one, tested, sets, train.num_rows, learner, streams[3])
    real = score(learner, trained, tested, streams[4])
    found: list[Attack] = []
    for at, kind in enumerate(kinds):
        start, width = 0.4 + 0.6 * at / len(kinds), 0.6 / len(kinds)
        more: dict[str, Any] = {"published": published} if kind == "shadow" else {}
        more |= {} if state is None else {"state": f"{os.fspath(state)}.{kind}"}
        found.append(
            attack_method(
                kind, "tvine", train, facts, settings=settings, levels=list(chosen), sensitive=list(names), seed=seed,
                profile=profile, workers=workers, read=plain,
                progress=lambda what, done, start=start, width=width: tell(what, start + width * done), **more,
            )
        )  # fmt: skip
    measures = (MAIN[task_of(facts, target)], *(name for name in real if name != MAIN[task_of(facts, target)]))
    by_measure = {name: {t: tuple(one[name] for one in utility[t]) for t in chosen} for name in measures}
    risks = {key: value for attack in found for key, value in risks_of(attack, names, chosen).items()}
    return _choose(
        risks, privacy, weight, levels=chosen, utility=by_measure, real={name: real[name] for name in measures},
        learner=learner, attacks=tuple(found), model=model,
    )  # fmt: skip


def _check(attacks: Sequence[str], privacy: str, weight: float, sets: int) -> None:
    unknown = [kind for kind in attacks if kind not in METHOD_ATTACKS]
    if unknown or not attacks:
        raise UsageError(f"attacks are any of {', '.join(METHOD_ATTACKS)}; found {list(attacks)}.")
    if privacy not in PRIVACY:
        raise UsageError(f"privacy is one of {', '.join(PRIVACY)}; found {privacy!r}.")
    if PRIVACY[privacy] not in attacks:
        raise UsageError(f"privacy by '{privacy}' comes from the attack '{PRIVACY[privacy]}'; name that one, too.")
    whole_number(sets, "sets")
    if not is_number(weight) or not 0 <= weight <= 1:
        raise UsageError(f"the weight of privacy lies between 0 and 1; found {weight!r}.")


def _split(raw: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Rows to fit, and rows to test on."""
    order = rng.permutation(raw.num_rows)
    held = round(HELD_OUT * raw.num_rows)
    return raw.take(np.sort(order[held:])), raw.take(np.sort(order[:held]))


def _learn_from(
    model: Model, test: Examples, sets: int, rows: int, learner: str, rng: np.random.Generator
) -> list[dict[str, float]]:
    """The measures of every synthetic table of a model."""
    drawn = model.sample(sets * rows, seed=int(rng.integers(2**31)), iid=True)
    table = examples(read_table(drawn, model.schema, rng, role="synthetic"), test.target)
    parts = np.array_split(np.arange(len(table.truth)), sets)  # equal but for rows without a target
    return [score(learner, table.take(part), test, rng) for part in parts]


def score(learner: str, train: Examples, test: Examples, rng: np.random.Generator) -> dict[str, float]:
    """AUC from 0/1 predictions, AUC from probabilities and other measures of a classifier; R2 and RMSE of numbers."""
    said = learn(learner, train, test, rng)
    found = score_predictions(test.truth, said)
    if said.chances is None:
        return found
    guessed = np.eye(said.chances.shape[1])[said.guess]
    return {"auc_01": multiclass_auc(test.truth, guessed), **found}


def risks_of(attack: Attack, sensitive: Sequence[str], chosen: Sequence[int]) -> dict[str, dict[int, float]]:
    """What an attack found, by measure and level."""
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


def _choose(risks: Scores, privacy: str, weight: float, **found: Any) -> LevelChoice:
    """PU_t and the level it picks for each column; over all columns the lowest, which protects every one."""
    better = {"mse": lambda x: x, "pg": lambda x: -abs(1 - x)}.get(privacy, lambda x: -x)
    useful = {t: float(np.median(x)) for t, x in next(iter(found["utility"].values())).items()}
    taken = {name.rpartition(".")[0] or "all": r for name, r in risks.items() if name.split(".")[-1] == privacy}
    private = {name: {t: better(x) for t, x in by_level.items()} for name, by_level in taken.items()}
    picked = {name: choose_level(one, useful, weight=weight) for name, one in private.items()}
    return LevelChoice(
        risks=risks, privacy=privacy, weight=weight, by_column=picked, chosen=min(picked.values()),
        scores={name: privacy_utility(one, useful, weight=weight) for name, one in private.items()}, **found,
    )  # fmt: skip
