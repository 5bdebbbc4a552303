"""What the page shows of the columns and pairs of a model: released tables beside the model's, and dependence."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import chi2

from sklar.arrays import Floats, Ints
from sklar.model.margins.margin import Margin
from sklar.model.protocol import Codes
from sklar.model.vine.model import VineModel, describe_trees
from sklar.pipeline.model_file import Stored
from sklar.pipeline.public_report.columns import ColumnFinding
from sklar.pipeline.public_report.pairs import PairFinding
from sklar.pipeline.public_report.report import PublicReport
from sklar.sample.rng import named_streams
from sklar.schema.columns import Column

MAX_PAIRS = 400
"""Maximum number of pairs whose tables are in the page, the most significant first."""
DRAWN_ROWS = 20_000
"""Rows drawn to compute the dependence of all pairs; weaker dependence than about 0.05 is not seen in them."""
CHANCE = 0.001
"""Significance level: the share of pairs of independent columns that are shown as dependent by chance."""
MAX_GROUPS = 10
"""Maximum groups of a column in the tables of pairs that the page shows."""
PICTURE_ROWS = 4_000
"""Rows in the page of a model from which browsers cannot draw."""


def describe_report(report: PublicReport) -> dict[str, Any]:
    """Return the findings of a public report, as plain data with rounded numbers."""
    return {
        "trust": list(report.trust),
        "doubt": list(report.doubt),
        "digest": report.digest,
        "findings": [_describe_column(finding) for finding in report.columns],
        "pairs": [_describe_pair(finding) for finding in report.pairs[:MAX_PAIRS]],
        "measured": [list(finding.columns) for finding in report.pairs],
        "contradicted": [list(one.columns) for one in report.checked if one.residual.contradicts],
    }


def _describe_column(finding: ColumnFinding) -> dict[str, Any]:
    return {
        "column": finding.column, "what": finding.what, "numeric": finding.numeric, "labels": list(finding.labels),
        "released": _round_numbers(finding.released), "bands": _round_numbers(finding.bands),
        "model": _round_numbers(finding.model),
        "ticks": [[round(at, 5), text] for at, text in finding.ticks], "unseen": finding.unseen, "seen": finding.seen,
    }  # fmt: skip


def _describe_pair(finding: PairFinding) -> dict[str, Any]:
    return {
        "columns": list(finding.columns), "signal": finding.signal, "p_value": finding.p_value,
        "contradicts": finding.contradicts, "noise": finding.noise, "seen": finding.seen,
        "released": [_round_numbers(row) for row in finding.released],
        "model": [_round_numbers(row) for row in finding.model],
        "ticks": [[[round(at, 5), text] for at, text in axis] for axis in finding.ticks],
    }  # fmt: skip


def _round_numbers(numbers: Any) -> list[float]:
    return [float(f"{number:.4g}") for number in np.asarray(numbers, dtype=float).tolist()]


def describe_vine(stored: Stored) -> list[dict[str, Any]]:
    """Return the trees of a vine, strongest edges first; an empty list for other models."""
    if not isinstance(stored.model, VineModel):
        return []
    return describe_trees(stored.model.vine, stored.coordinates.schema.modelled)


def describe_dependence(stored: Stored, *, with_rows: bool) -> dict[str, Any]:
    """Return the strength of dependence of all pairs of columns in the model, from rows drawn from it.

    The strength is sqrt(1 - exp(-2 I)) with I the mutual information of grouped columns, less what chance gives, and 0
    if not significant; its sign is that of the rank correlation where both columns are ordered and present. It is
    stored in hundredths.
    """
    rng = named_streams(stored.fit["seed"])("page")
    codes = stored.model.simulate(DRAWN_ROWS, rng)
    columns = [stored.coordinates.schema[name] for name in stored.coordinates.schema.modelled]
    groups = [
        _group(column, margin, codes[:, j])
        for j, (column, margin) in enumerate(zip(columns, stored.model.margins, strict=True))
    ]
    strength = np.clip(np.round(100 * compute_strengths(groups) * compute_signs(columns, codes)), -100, 100).astype(
        np.int8
    )
    found = {"names": list(stored.coordinates.schema.modelled), "strength": _pack(strength)}
    return found | ({"rows": _pack(np.ascontiguousarray(codes[:PICTURE_ROWS].T))} if with_rows else {})


def _pack(array: np.ndarray) -> str:
    return base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode()


def _group(column: Column, margin: Margin, codes: Codes) -> Ints:
    """Return groups of about equal mass of ordered columns, and the most frequent labels of others."""
    dense = margin.dense()
    if column.ordered or column.numeric:
        lookup = np.minimum(((np.cumsum(dense) - dense / 2) * MAX_GROUPS).astype(np.int64), MAX_GROUPS - 1)
    else:
        lookup = np.full(len(dense), MAX_GROUPS - 1)
        lookup[np.argsort(-dense, kind="stable")[: MAX_GROUPS - 1]] = np.arange(min(len(dense), MAX_GROUPS - 1))
    return lookup[codes]


def compute_strengths(groups: list[Ints]) -> Floats:
    """Return the strength of dependence of each pair of grouped columns; 1 on the diagonal."""
    rows, size = len(groups[0]), len(groups)
    marks = np.zeros((rows, size * MAX_GROUPS), dtype=np.float32)
    for j, group in enumerate(groups):
        marks[np.arange(rows), j * MAX_GROUPS + group] = 1.0
    tables = (marks.T @ marks).astype(np.float64).reshape(size, MAX_GROUPS, size, MAX_GROUPS).transpose(
        0, 2, 1, 3
    ) / rows
    first, second = tables.sum(axis=3, keepdims=True), tables.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.nansum(np.where(tables > 0, tables * np.log(tables / (first * second)), 0.0), axis=(2, 3))
    cells = [len(np.unique(group)) - 1 for group in groups]
    freedom = np.maximum(np.outer(cells, cells), 1)
    excess = np.maximum(information - freedom / (2 * rows), 0.0)  # the mean if independent
    strength = np.sqrt(-np.expm1(-2 * excess))
    strength[2 * rows * information < chi2.isf(CHANCE, freedom)] = 0.0
    np.fill_diagonal(strength, 1.0)
    return strength


def compute_signs(columns: list[Column], codes: Codes) -> Floats:
    """Return -1 for pairs of ordered columns whose rank correlation is negative where neither is missing, else 1."""
    ranks = np.argsort(np.argsort(codes, axis=0, kind="stable"), axis=0) / len(codes) - 0.5
    present = np.stack([codes[:, j] != column.null_code for j, column in enumerate(columns)], axis=1).astype(float)
    ranks *= present
    sums = ranks.T @ present
    covariance = (ranks.T @ ranks) * (present.T @ present) - sums * sums.T
    ordered = np.array([column.ordered or column.numeric for column in columns])
    return np.where(np.outer(ordered, ordered) & (covariance < 0), -1.0, 1.0)


def describe_claim(stored: Stored) -> dict[str, Any]:
    """Return the claim in two sentences, and what it rests on as rows of a table."""
    claim = stored.claim
    record: Mapping[str, Any] = claim.to_dict()
    rows = [("Protected", claim.protected), ("Method", claim.method), *claim.basis]
    text = str(claim)
    return {
        "label": claim.label, "text": text, "first": claim.first_sentence, "rows": [list(row) for row in rows],
        "epsilon": claim.epsilon, "delta": claim.delta, "own": record["own"], "accounting": claim.accounting,
        "neighbours": claim.neighbours, "rows_per_person": claim.rows_per_person, "method": claim.method,
        "version": claim.version, "ledger": record["ledger"],
    }  # fmt: skip
