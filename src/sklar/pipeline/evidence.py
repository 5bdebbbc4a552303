"""From what the metrics found to plain words, plain data, and the facts of a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sklar.disclosed.metrics.compare import Comparison
    from sklar.disclosed.metrics.table import ExactTable
    from sklar.pipeline.evaluate import Evaluation

LOST = 0.95
"""A column of which so many synthetic, but not real, values are null or unlisted is told."""


def table_warnings(real: ExactTable, synthetic: ExactTable, found: Comparison) -> Iterator[str]:
    """What may be wrong with the tables themselves."""
    if found.copies.warning is not None:
        yield found.copies.warning
    for name in real.names:
        column = real.schema[name]
        lost = [float((table.codes[name] >= column.value_cells).mean()) for table in (real, synthetic)]
        if lost[1] > LOST and lost[0] < 0.5:
            yield (
                f"nearly all values of column '{name}' of the synthetic table are null or not listed in the schema: "
                "its type or labels may differ from those of the real table."
            )
        if lost[0] > LOST and lost[1] < 0.5:
            yield (
                f"nearly all values of column '{name}' of the real table are null or not listed in the schema, but not "
                "those of the synthetic one: are the tables swapped, or is the schema of another table?"
            )
    if synthetic.total < real.total / 20:
        yield "the synthetic table has far fewer rows than the real one; sampling noise weighs heavily in every score."
    if real.total < 100:
        yield "the real table has fewer than 100 rows; scores and floors are rough."


QUESTIONS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "Single columns": (
        ("tvd1", "ks"),
        {
            "sampling": "are as close as a fresh real sample would be",
            "good": "are close to the real ones",
            "fair": "differ visibly from the real ones",
            "poor": "differ strongly from the real ones",
        },
    ),
    "How columns go together": (
        ("tvd2", "tvd3", "range_queries", "spearman", "kendall", "phik"),
        {
            "sampling": "is kept as well as in a fresh real sample",
            "good": "is kept well",
            "fair": "is kept in part",
            "poor": "is largely lost",
        },
    ),
    "Learning from the synthetic rows": (
        ("learning",),
        {
            "sampling": "works as well as learning from real ones",
            "good": "works nearly as well as learning from real ones",
            "fair": "costs some accuracy",
            "poor": "costs much accuracy",
        },
    ),
    "A classifier": (
        ("detection_linear", "detection_boosting"),
        {
            "sampling": "cannot tell synthetic rows from real ones",
            "good": "hardly tells synthetic rows from real ones",
            "fair": "often tells synthetic rows from real ones",
            "poor": "tells most synthetic rows from real ones",
        },
    ),
}
"""What a reader asks, the metrics that answer, and the answer by the worst of their grades."""
ORDER = ("sampling", "good", "fair", "poor")


def verdict(evaluation: Evaluation) -> tuple[str, ...]:
    """One sentence a question, by the worst grade among its metrics."""
    out: list[str] = []
    for subject, (names, answers) in QUESTIONS.items():
        grades = [evaluation.scores[name].grade for name in names if evaluation.scores[name].value is not None]
        if grades:
            out.append(f"{subject} {answers[max(grades, key=ORDER.index)]}.")
        else:
            out.append(f"{subject}: not checked, {evaluation.scores[names[0]].reason}")
    return tuple(out)


def details(found: Comparison) -> dict[str, Any]:
    """What lies behind the scores, as plain data."""
    return {
        "learning": None if found.transfer is None else {
            "target": found.transfer.target, "task": found.transfer.task, "folds": found.transfer.folds,
            "results": [result.to_dict() for result in found.transfer.results],
        },
        "g_epsilon": None if found.g_epsilon is None else {
            key: value for key, value in found.g_epsilon.to_dict().items() if key != "score"
        },
        "support": {
            "levels": list(found.support.levels),
            "precision": list(found.support.precision_curve),
            "recall": list(found.support.recall_curve),
        },
        "queries": {"levels": list(found.workload.levels), **{name: list(y) for name, y in found.workload.curves}},
        "copies": {
            "share": found.copies.score.value, "expected": found.copies.score.floor,
            "lone": found.copies.lone, "lone_expected": found.copies.lone_expected,
        },
        "correlations": None if found.correlations is None else {
            "measure": found.correlation_name, "columns": list(found.correlation_columns),
            "real": _plain(found.correlations[0]), "synthetic": _plain(found.correlations[1]),
        },
    }  # fmt: skip


def _plain(matrix: Any) -> list[list[float | None]]:
    return [[None if np.isnan(x) else float(x) for x in row] for row in matrix]
