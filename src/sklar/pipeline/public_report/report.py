"""The public report: checks of a model against its own releases, as findings, as plain data and as a page."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.inference.checks.fission import ADDED_VARIANCE, Fission, score_by_fission
from sklar.inference.checks.held_out import HeldOut
from sklar.inference.checks.residuals import (
    MAX_MARGIN_SHIFT,
    Residual,
    compute_margin_shifts,
    compute_residuals,
    rows_behind,
)
from sklar.inference.errors_of_tables import ErrorScore
from sklar.inference.fitted import Fitted
from sklar.inference.tables import model_tables, shares_of_rows
from sklar.model.significance import FALSE_ALARM_RATE
from sklar.pipeline.accept import check_held_out
from sklar.pipeline.inspection import flat_columns, inspect_model
from sklar.pipeline.model_file import Stored, model_digest
from sklar.pipeline.public_report.columns import ColumnFinding, column_finding
from sklar.pipeline.public_report.pairs import PairFinding, pair_findings
from sklar.pipeline.public_report.sentences import describe_limits, describe_strengths
from sklar.pipeline.public_report.transitions import hidden_transitions
from sklar.release.measurements import Measurement
from sklar.report.page import public_page, write_public_page
from sklar.sample.rng import named_streams
from sklar.schema.confirming import describe_column

MIN_DRAWN, MAX_DRAWN = 20_000, 50_000
"""Limits of the number of rows that are drawn from the model to count its tables on. Within them it is the number of
rows of the table, so that drawing adds no more variance than the table's own rows have."""
MAX_PAIRS_DRAWN = 12
"""Maximum number of pairs with a chart, the most significant first."""
MAX_PRINTED_SENTENCES = 15
"""Maximum number of sentences of each kind that `print` shows."""
TEMPLATE = "public.html"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checked:
    """Comparison of one released table with the model."""

    columns: tuple[str, ...]
    label: str
    cells: int
    sigma: float
    residual: Residual
    error: ErrorScore | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicReport:
    """Quality of a release, computed from releases alone. `page` and `html` render it.

    Attributes:
        claim: The privacy claim, one paragraph.
        basis: What the claim rests on, as rows of a table.
        dictionary: Name and facts of every column.
        trust: Sentences on what is accurate.
        doubt: Sentences on what is not.
        columns: Findings on single columns.
        pairs: Findings on pairs of columns, the most significant first.
        checked: Comparison of every released table with the model.
        errors: Scores of noise fission; None if the noise is not Gaussian, or the method's queries would change.
        held: Comparison with tables that were held back; None if none were.
        accepted: The criteria that the model had to meet on them to be released, if any were stated.
        prior: Whether a public table was used.
        false_alarms: Maximum probability that any table is reported although the rows come from the model.
        max_shift: A column is reported if a share of the model differs by more from the estimated margin.
        added: Noise variance that fission added to the half it fitted on, relative to the existing one.
        digest: Hash of the model.
    """

    claim: str
    basis: tuple[tuple[str, str], ...]
    label: str
    method: str
    rows: int
    dictionary: tuple[tuple[str, str], ...]
    trust: tuple[str, ...]
    doubt: tuple[str, ...]
    columns: tuple[ColumnFinding, ...]
    pairs: tuple[PairFinding, ...]
    checked: tuple[Checked, ...]
    errors: Fission | None
    held: HeldOut | None
    accepted: dict[str, Any]
    prior: bool
    false_alarms: float
    max_shift: float
    added: float
    drawn: int
    digest: str

    def __repr__(self) -> str:
        return f"<sklar.PublicReport: {len(self.columns)} columns, {len(self.pairs)} pairs>"

    def __str__(self) -> str:
        strengths = [f"- {line}" for line in self.trust[:MAX_PRINTED_SENTENCES]]
        limits = [f"- {line}" for line in self.doubt[:MAX_PRINTED_SENTENCES]]
        more = len(self.doubt) - MAX_PRINTED_SENTENCES
        limits += [f"- and {more} more; see .doubt"] if more > 0 else []
        return "\n".join(["What is accurate:", *strengths, "What is not accurate:", *limits])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        held = None if self.held is None else dataclasses.replace(self.held, squared=())
        return _plain(dataclasses.asdict(dataclasses.replace(self, held=held)))

    def page(self) -> str:
        """Return the page, as text."""
        return public_page(TEMPLATE, report=self, pictured=self.pairs[:MAX_PAIRS_DRAWN])

    def html(self, path: str | PathLike[str]) -> None:
        """Write the page; anyone may read it."""
        write_public_page(path, self.page())


def public_path(path: str | PathLike[str]) -> str:
    """Return the default path of the page about a model or synthetic table: beside it, as people.public.html."""
    return os.fspath(Path(path).with_suffix(".public.html"))


def public_report(stored: Stored) -> PublicReport:
    """Check a model against its own releases. The same model gives the same report, to the last digit shown.

    Raises:
        UsageError: The model has no guarantee, so that nothing about it may be published as private.
    """
    if not stored.claim.guarantee:
        raise UsageError(
            f"a model of method '{stored.claim.method}' has no privacy guarantee: a report on it may not be published "
            "as private. Use sklar evaluate for a report to the custodian."
        )
    fitted, stream = stored.fitted, named_streams(stored.fit["seed"])
    tables = model_tables(fitted.schema, fitted.measurements)
    drawn = int(min(max(fitted.rows, MIN_DRAWN), MAX_DRAWN))
    shares = shares_of_rows(tables, fitted.schema, fitted.model.simulate_rounded(drawn, stream("report")))
    errors = score_by_fission(fitted, drawn, stream("fission"))
    held = None if fitted.held is None else check_held_out(fitted)
    return _report(stored, fitted, tables, shares, errors, held, drawn)


def _report(
    stored: Stored,
    fitted: Fitted,
    tables: Sequence[Measurement],
    shares: Sequence[Floats],
    errors: Fission | None,
    held: HeldOut | None,
    drawn: int,
) -> PublicReport:
    rows = rows_behind(fitted, tables)
    checks = compute_residuals(tables, shares, rows, drawn, compute_margin_shifts(fitted, tables, shares))
    scores = {(score.label, score.names): score for score in ([] if errors is None else errors.tables)}
    checked = [
        Checked(
            columns=table.query.columns, label=table.label, cells=table.values.size, sigma=table.sigma,
            residual=check, error=scores.get((table.label, table.query.columns)),
        )
        for table, check in zip(tables, checks, strict=True)
    ]  # fmt: skip
    pairs = pair_findings(fitted.schema, fitted.model.margins, tables, shares, checks, scores, rows)
    columns = _make_columns(stored, fitted, tables, shares, scores)
    contradicted = [one.columns for one in checked if one.residual.contradicts]
    contradicted += [] if held is None else held.contradicted
    bad = list(dict.fromkeys(" and ".join(names) for names in contradicted))
    return PublicReport(
        claim=stored.claim.summary, basis=stored.claim.basis, label=stored.claim.label, method=stored.claim.method,
        rows=stored.model.rows_estimate,
        dictionary=tuple((name, describe_column(column)) for name, column in stored.schema.items()),
        trust=tuple(describe_strengths(columns, pairs, errors, held, stored.model.rows_estimate)),
        doubt=(*flat_columns(stored), *describe_limits(columns, pairs, bad, hidden_transitions(fitted, pairs))),
        columns=columns, pairs=pairs, checked=tuple(checked), errors=errors,
        held=held,
        accepted=stored.fit.get("accepted", {}), prior=stored.prior is not None,
        false_alarms=FALSE_ALARM_RATE, max_shift=MAX_MARGIN_SHIFT, added=ADDED_VARIANCE, drawn=drawn,
        digest=model_digest(stored)[:16],
    )  # fmt: skip


def _make_columns(
    stored: Stored,
    fitted: Fitted,
    tables: Sequence[Measurement],
    shares: Sequence[Floats],
    scores: dict[tuple[str, tuple[str, ...]], ErrorScore],
) -> tuple[ColumnFinding, ...]:
    unseen = {margin["column"]: margin.get("unseen", {}) for margin in inspect_model(stored)["margins"]}
    for name in set(unseen) - set(stored.schema):  # a weekday, say, has no tail
        unseen[name] = {what: share for what, share in unseen[name].items() if what != "tail"}
    found: list[ColumnFinding] = []
    for name, margin in zip(fitted.schema.modelled, fitted.model.margins, strict=True):
        own = [place for place, table in enumerate(tables) if table.query.columns == (name,)]
        error = next((score for (_, names), score in scores.items() if names == (name,)), None)
        found.append(
            column_finding(
                name, fitted.schema[name], margin, [tables[i] for i in own], [shares[i] for i in own],
                fitted.rows_behind([name]), unseen[name], error,
            )
        )  # fmt: skip
    return tuple(found)


def _plain(value: Any) -> Any:
    """Return arrays and tuples as lists, recursively."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
