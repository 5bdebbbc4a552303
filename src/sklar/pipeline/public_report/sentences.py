"""What the first screen of the public report says, in sentences for people who are no statisticians."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklar.inference.checks.fission import Fission
from sklar.inference.checks.held_out import HeldOut
from sklar.inference.errors_of_tables import ErrorScore
from sklar.pipeline.public_report.columns import ColumnFinding
from sklar.pipeline.public_report.pairs import PairFinding
from sklar.pipeline.public_report.transitions import HiddenTransitions

NAMED = 4
"""How many columns or pairs a sentence names."""
NOTABLE = 0.002
"""Nulls below a smaller share than this are not worth a sentence."""


def trusted(
    columns: Sequence[ColumnFinding],
    pairs: Sequence[PairFinding],
    errors: Fission | None,
    held: HeldOut | None,
    rows: int,
) -> list[str]:
    """What may be trusted."""
    said: list[str] = []
    widths = [column.width for column in columns if column.width is not None]
    if widths:
        half, worth = np.median([w.share for w in widths]), np.median([w.worth for w in widths])
        said.append(
            f"A share of one column (say, of women) is right to about {_points(float(half))} of rows either way, "
            "19 times of 20, on top of the luck of the draw that any table of this size has."
        )
        said.append(
            f"For such a question the release is worth about {_rounded(worth)} rows of real people, of about {rows:,}: "
            "privacy cost the rest."
        )
    if errors is not None and errors.pairs is not None:
        part = errors.pairs
        what = "how two columns go together" if part.interaction else "tables of two columns"
        said.append(f"In {what}, a cell of the model is typically off by {_off(part)}, measured without any row.")
    if held is not None:
        said.append(
            f"In {held.together.tables} tables that the model was never fitted to (random triples of columns, and "
            f"ranges), a cell is typically off by {_off(held.together)}."
        )
    clear = [pair for pair in pairs if pair.signal and not pair.contradicts]
    if clear:
        verb = "stands" if len(clear) == 1 else "stand"
        said.append(f"{_count(len(clear), 'pair')} of columns {verb} clearly out of the noise: {_named(clear)}.")
    return said


def doubted(
    columns: Sequence[ColumnFinding], pairs: Sequence[PairFinding], bad: Sequence[str], hidden: HiddenTransitions | None
) -> list[str]:
    """What may not."""
    said: list[str] = []
    if bad:
        said.append(f"The model contradicts what was released about {', '.join(bad)}: do not rely on it there.")
    if hidden is not None:
        more = f" and {len(hidden.columns) - NAMED} more" if len(hidden.columns) > NAMED else ""
        stays = "" if hidden.kept is None else (
            f", though a value stays as often as was measured (to within {_points(hidden.kept)}, 19 times of 20)"
        )  # fmt: skip
        said.append(
            "Which value follows which, from one row of a person to the next, is below the noise level for "
            f"{', '.join(hidden.columns[:NAMED])}{more}: synthetic rows draw the next one as if the last hardly "
            f"mattered{stays}."
        )
    silent = [pair for pair in pairs if not pair.signal]
    if silent:
        said.append(
            f"{_count(len(silent), 'pair')} of columns {'carries' if len(silent) == 1 else 'carry'} no signal: "
            f"{_named(silent)}. Synthetic rows may show them as unrelated although they are not."
        )
    nulls = sorted(((c.unseen["null"], c.column) for c in columns if c.unseen.get("null", 0.0) > NOTABLE), reverse=True)
    if nulls:
        share, name = nulls[0]
        more = ", nor below similar shares in other columns (see the list)" if len(nulls) > 1 else ""
        said.append(f"Missing values below {_percent(share)} of rows in {name} are not told from none{more}.")
    tails = sorted(((c.unseen["tail"], c.column) for c in columns if "tail" in c.unseen), reverse=True)
    if tails:
        said.append(
            f"Extreme values that fewer than {_percent(tails[0][0])} of rows have ({tails[0][1]}) are made up from the "
            "shape of the rest."
        )
    said.append(
        "Three columns at a time, rare combinations and single rows: nothing was measured about them unless the lists "
        "below say so. Do not take a synthetic row for a person, even where it equals a real row."
    )
    return said


def _off(score: ErrorScore) -> str:
    """An error with its interval, or its upper end alone where it does not stand out of its noise."""
    if score.low <= 0:
        return f"at most {_points(score.high)} of rows, 19 times of 20"
    ends = f"between {_points(score.low)} and {_points(score.high)}, 19 times of 20"
    return f"{_points(score.value)} of rows ({ends})"


def _named(pairs: Sequence[PairFinding]) -> str:
    more = f" and {len(pairs) - NAMED} more" if len(pairs) > NAMED else ""
    return ", ".join(" and ".join(pair.columns) for pair in pairs[:NAMED]) + more


def _count(number: int, what: str) -> str:
    return f"One {what}" if number == 1 else f"{number:,} {what}s"


def _points(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"


def _rounded(rows: float) -> str:
    """Two digits that count."""
    if rows < 10:
        return f"{rows:.0f}"
    size = 10 ** (int(np.log10(rows)) - 1)
    return f"{round(rows / size) * size:,}"
