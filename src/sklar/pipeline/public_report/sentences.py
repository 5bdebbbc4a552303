"""Summary sentences of the public report, for readers who are not statisticians."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklar.inference.checks.fission import Fission
from sklar.inference.checks.held_out import HeldOut
from sklar.inference.errors_of_tables import ErrorScore
from sklar.pipeline.public_report.columns import ColumnFinding
from sklar.pipeline.public_report.pairs import PairFinding
from sklar.pipeline.public_report.transitions import HiddenTransitions

MAX_NAMES = 4
"""Maximum number of columns or pairs that a sentence names."""
MIN_UNSEEN_SHARE = 0.002
"""Undetectable shares of nulls below this are not mentioned."""


def describe_strengths(
    columns: Sequence[ColumnFinding],
    pairs: Sequence[PairFinding],
    errors: Fission | None,
    held: HeldOut | None,
    rows: int,
) -> list[str]:
    """Return sentences on what is accurate in the release."""
    said: list[str] = []
    widths = [column.width for column in columns if column.width is not None]
    if widths:
        half, effective = np.median([w.share for w in widths]), np.median([w.effective_rows for w in widths])
        said.append(
            f"The share of rows with one value of a column is accurate to about ±{_format_points(float(half))} of rows "
            "(95% confidence), in addition to the sampling error of any table of this size."
        )
        said.append(
            f"For such a share the effective sample size is about {_rounded(effective)} rows, of about {rows:,} in the "
            "real table: this is the cost of privacy."
        )
    if errors is not None and errors.pairs is not None:
        part = errors.pairs
        what = "the dependence of two columns" if part.interaction else "tables of two columns"
        said.append(
            f"In {what}, a cell of the model is typically off by {_error(part)}, estimated from the release alone."
        )
    if held is not None:
        said.append(
            f"In {held.together.tables} tables that the model was not fitted to (random triples of columns, and "
            f"ranges), a cell is typically off by {_error(held.together)}."
        )
    significant = [pair for pair in pairs if pair.signal and not pair.contradicts]
    if significant:
        verb = "is" if len(significant) == 1 else "are"
        count = _count(len(significant), "pair")
        said.append(f"{count} of columns {verb} significantly dependent: {_list_names(significant)}.")
    return said


def describe_limits(
    columns: Sequence[ColumnFinding], pairs: Sequence[PairFinding], bad: Sequence[str], hidden: HiddenTransitions | None
) -> list[str]:
    """Return sentences on what is not accurate in the release."""
    said: list[str] = []
    if bad:
        said.append(f"The model contradicts what was released about {', '.join(bad)}: do not rely on it there.")
    if hidden is not None:
        more = f" and {len(hidden.columns) - MAX_NAMES} more" if len(hidden.columns) > MAX_NAMES else ""
        stays = "" if hidden.kept is None else (
            f", though values stay unchanged as often as measured (±{_format_points(hidden.kept)}, 95% confidence)"
        )  # fmt: skip
        said.append(
            "Changes from one row of a person to the next are below the noise level for "
            f"{', '.join(hidden.columns[:MAX_NAMES])}{more}: synthetic rows draw the next value nearly "
            f"independently of the last{stays}."
        )
    silent = [pair for pair in pairs if not pair.signal]
    if silent:
        said.append(
            f"{_count(len(silent), 'pair')} of columns {'shows' if len(silent) == 1 else 'show'} no significant "
            f"dependence: {_list_names(silent)}. Synthetic rows may show them as unrelated although they are not."
        )
    nulls = sorted(
        ((c.unseen["null"], c.column) for c in columns if c.unseen.get("null", 0.0) > MIN_UNSEEN_SHARE), reverse=True
    )
    if nulls:
        share, name = nulls[0]
        more = ", nor similar shares in other columns (see the list)" if len(nulls) > 1 else ""
        said.append(
            f"Missing values in fewer than {_format_percent(share)} of rows of {name} cannot be detected{more}."
        )
    tails = sorted(((c.unseen["tail"], c.column) for c in columns if "tail" in c.unseen), reverse=True)
    if tails:
        said.append(
            f"Extreme values that fewer than {_format_percent(tails[0][0])} of rows have ({tails[0][1]}) are "
            "extrapolated from the rest of the distribution."
        )
    said.append(
        "Combinations of three columns, rare combinations and single rows were not measured unless the lists below say "
        "so. Do not take a synthetic row for a person, even where it equals a real row."
    )
    return said


def _error(score: ErrorScore) -> str:
    """Return an error with its interval, or its upper end alone where it is below the noise level."""
    if score.low <= 0:
        return f"at most {_format_points(score.high)} of rows (95% confidence)"
    low, high = _format_points(score.low), _format_points(score.high)
    return f"{_format_points(score.value)} of rows (95% interval: {low} to {high})"


def _list_names(pairs: Sequence[PairFinding]) -> str:
    more = f" and {len(pairs) - MAX_NAMES} more" if len(pairs) > MAX_NAMES else ""
    return ", ".join(" and ".join(pair.columns) for pair in pairs[:MAX_NAMES]) + more


def _count(number: int, what: str) -> str:
    return f"One {what}" if number == 1 else f"{number:,} {what}s"


def _format_points(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"


def _format_percent(share: float) -> str:
    return f"{100 * share:.2g}%"


def _rounded(rows: float) -> str:
    """Return a number rounded to two significant digits."""
    if rows < 10:
        return f"{rows:.0f}"
    size = 10 ** (int(np.log10(rows)) - 1)
    return f"{round(rows / size) * size:,}"
