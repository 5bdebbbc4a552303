"""What an evaluation says in plain words and as plain data: verdicts, warnings, what was not checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sklar.lab.metrics.correlation import Correlations
    from sklar.lab.metrics.score import Score
    from sklar.lab.overview import Overview
    from sklar.lab.tables.table import ExactTable

NO_HOLDOUT = "Rows the synthesizer never saw: no hold-out was given, so tests use rows it may have learned from."
NOT_ATTACKED = "Membership, attribute and other attacks: add --attacks, or see sklar attack."
ALWAYS_UNCHECKED = (
    "Whether rows obey rules between columns that the schema does not state.",
    "Columns marked id or ignore, and everything that the schema's grid does not tell apart.",
)


def table_warnings(real: ExactTable, synthetic: ExactTable, copied: str | None) -> Iterator[str]:
    """What may be wrong with the tables themselves."""
    from sklar.lab.tables.table import lost_columns

    if copied is not None:
        yield copied
    for name in lost_columns(synthetic, real):
        yield (
            f"nearly all values of column '{name}' of the synthetic table are null or not listed in the schema: "
            "its type or labels may differ from those of the real table."
        )
    for name in lost_columns(real, synthetic):
        yield (
            f"nearly all values of column '{name}' of the real table are null or not listed in the schema, but not "
            "those of the synthetic one: are the tables swapped, or is the schema of another table?"
        )
    if synthetic.total < real.total / 20:
        yield "the synthetic table has far fewer rows than the real one; sampling noise weighs heavily in every score."
    if real.total < 100:
        yield "the real table has fewer than 100 rows; scores and floors are rough."


ORDER = ("sampling", "good", "fair", "poor")
QUESTIONS: dict[str, tuple[tuple[str, ...], tuple[str, str, str, str]]] = {
    "Single columns": (("tvd1", "ks"), (
        "are as close as a fresh real sample would be", "are close to the real ones",
        "differ visibly from the real ones", "differ strongly from the real ones",
    )),
    "How columns go together": (("tvd2", "tvd3", "range_queries", "spearman", "kendall", "phik"), (
        "is kept as well as in a fresh real sample", "is kept well", "is kept in part", "is largely lost",
    )),
    "Learning from the synthetic rows": (("learning",), (
        "works as well as learning from real ones", "works nearly as well as learning from real ones",
        "costs some accuracy", "costs much accuracy",
    )),
    "A classifier": (("detection_linear", "detection_boosting"), (
        "cannot tell synthetic rows from real ones", "hardly tells synthetic rows from real ones",
        "often tells synthetic rows from real ones", "tells most synthetic rows from real ones",
    )),
}  # fmt: skip
"""What a reader asks, the metrics that answer, and the answer by the worst of their grades, in their order."""


def verdict(scores: Mapping[str, Score]) -> tuple[str, ...]:
    """One sentence a question, by the worst grade among its metrics."""
    out: list[str] = []
    for subject, (names, answers) in QUESTIONS.items():
        grades = [ORDER.index(scores[name].grade) for name in names if scores[name].value is not None]
        if grades:
            out.append(f"{subject} {answers[max(grades)]}.")
        else:
            out.append(f"{subject}: not checked, {scores[names[0]].reason}")
    return tuple(out)


def unchecked(scores: Mapping[str, Score], *, held_out: bool, attacked: bool) -> tuple[str, ...]:
    """What a reader should not take for checked."""
    missing = [f"{score.about.title}: {score.reason}" for score in scores.values() if score.value is None]
    gaps = [*([] if held_out else [NO_HOLDOUT]), *([] if attacked else [NOT_ATTACKED])]
    return (*missing, *gaps, *ALWAYS_UNCHECKED)


def details(scores: Mapping[str, Score], seen: Overview) -> dict[str, Any]:
    """What lies behind the scores, as plain data."""
    learned, g, copied = (scores[name].behind for name in ("learning", "g_epsilon_plus", "copies"))
    support = scores["alpha_precision"].behind
    return {
        "learning": None if learned is None else {
            "target": learned.target, "task": learned.task, "folds": learned.folds,
            "results": [result.to_dict() for result in learned.results],
        },
        "g_epsilon": None if g is None else {key: value for key, value in g.to_dict().items() if key != "score"},
        "support": {
            "levels": list(support.levels), "precision": list(support.precision_curve),
            "recall": list(support.recall_curve),
        },
        "queries": {"levels": list(seen.errors.levels), **{name: list(y) for name, y in seen.errors.curves}},
        "copies": {
            "share": scores["copies"].value, "expected": scores["copies"].floor,
            "lone": copied.lone, "lone_expected": copied.lone_expected,
        },
        "correlations": None if seen.matrix is None else _correlations(seen.matrix),
    }  # fmt: skip


def _correlations(found: Correlations) -> dict[str, Any]:
    tables = {"real": found.real, "synthetic": found.synthetic}
    return {
        "measure": found.measure,
        "columns": list(found.columns),
        **{key: [[None if np.isnan(x) else x for x in row] for row in m.tolist()] for key, m in tables.items()},
    }
