"""Regular vines fitted to the rows: TVineSynth's `rvine` and `rvine-star1`, the reference `plain-vine`, and code
that `tvine` shares: options, checks and the fit of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from sklar.errors import UsageError
from sklar.lab.baselines.columns import Margins, prepare_columns
from sklar.lab.baselines.method import EXTENSION_FAMILIES, BaselineMethod, reject_extensions
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines import fit_rvine
from sklar.lab.vines.fit import check_settings
from sklar.methods.method import require_listed
from sklar.model.rvine.table import VineTable
from sklar.schema.table import Schema

SECONDS_PER_EDGE = 0.05
"""Approximate time to fit a pair copula, for the message that estimates the duration of a fit."""
MAX_DEFAULT_SECONDS = 600.0
"""A fit estimated to take longer is only started if the number of trees is given explicitly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineVineOptions:
    """Options of a vine fit; the defaults are TVineSynth's.

    Attributes:
        level: Number of trees to fit and keep; by default all, and levels are chosen later.
        families: Pair copulas to choose from. "two-parameter" are those of the paper; "parametric" adds Tawn (ours).
        selection: "aic" or "bic".
        threads: Threads for the criterion "mcor", which pyvinecopulib fits.
        margins: "quantiles": sample quantiles, numeric columns continuous, labels in the order of the schema, as in the
            paper's software; "smoothed" (ours): no rare number is reproduced, numbers with many ties are discrete, and
            labels are sorted by the response.
        published: Exactly the paper's method: our extensions are rejected, and samples are independent rows.
    """

    level: int | None = None
    families: str = "two-parameter"
    selection: str = "aic"
    threads: int = 2
    margins: Margins = "quantiles"
    published: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RvineOptions(BaselineVineOptions):
    """Options of an R-vine fit.

    Attributes:
        criterion: Association that the spanning trees maximize: "tau", "spearman", "hoeffd" or "mcor".
    """

    criterion: str = "tau"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainVineOptions(RvineOptions):
    """Options of the reference vine, with our own defaults: no paper describes it."""

    families: str = "parametric"
    margins: Margins = "smoothed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StarOptions(RvineOptions):
    """Options of an R-vine around a response.

    Attributes:
        target: The response: centre of the first tree.
    """

    target: str | None = None


def check(schema: Schema, options: RvineOptions) -> None:
    """Reject options that do not fit the schema."""
    columns = len(schema.modelled)
    if isinstance(options, StarOptions):
        require_column(schema, options.target, "response")
    check_vine(columns, options, max(columns - 1, 1), columns - 1, options.criterion)


def check_vine(columns: int, options: BaselineVineOptions, most: int, trees: int, criterion: str = "tau") -> None:
    """Reject unknown names, levels outside 1 to `most`, and without a level `trees` trees that take too long."""
    check_settings(options.families, criterion, options.selection)
    ours = {"families": options.families in EXTENSION_FAMILIES, "margins": options.margins == "smoothed"}
    reject_extensions(options.published, ours)
    level, threads = options.level, options.threads
    require_listed("margins", options.margins, get_args(Margins))
    if level is not None and (type(level) is not int or not 1 <= level <= most):
        raise UsageError(f"level (the number of trees) must be a whole number from 1 to {most}; found {level!r}")
    if type(threads) is not int or threads < 1:
        raise UsageError(f"threads must be a whole number of at least 1; found {threads!r}")
    edges = _count_edges(columns, trees)
    if level is None and edges * SECONDS_PER_EDGE > MAX_DEFAULT_SECONDS:
        fewer = max(1, int(MAX_DEFAULT_SECONDS / SECONDS_PER_EDGE / columns) // 5 * 5)
        left = _count_edges(columns, fewer)
        raise UsageError(
            f"{columns} columns and {trees} trees need {edges:,} pair copulas, about "
            f"{edges * SECONDS_PER_EDGE / 60:.0f} minutes; give level={fewer} ({left:,} pair copulas, about "
            f"{left * SECONDS_PER_EDGE / 60:.0f} minutes), or level={trees} if you can wait"
        )


def _count_edges(columns: int, trees: int) -> int:
    return sum(max(columns - 1 - tree, 0) for tree in range(trees))


def require_column(schema: Schema, name: str | None, role: str) -> None:
    """Reject a missing or unknown column."""
    if name is None:
        raise UsageError(f"name the {role} column with target= (--target)")
    if name not in schema.modelled:
        raise UsageError(f"the {role} column '{name}' is not among the modelled columns of the schema")


def require_two_values(table: ExactTable, name: str, role: str) -> None:
    """Reject a constant column."""
    if np.ptp(table.codes[name]) == 0:
        raise UsageError(f"the {role} column '{name}' has the same value in every row; nothing depends on it")


def fit_table(
    table: ExactTable, names: tuple[str, ...], options: BaselineVineOptions, target: str | None, **trees: Any
) -> VineTable:
    """Fit margins and a vine to the named columns; `trees` is passed to `fit_rvine`."""
    columns = prepare_columns(table, names, target, options.margins)
    vine = fit_rvine(
        columns.u, lower=columns.lower, discrete=columns.discrete.tolist(), families=options.families,
        selection=options.selection, threads=options.threads, **trees,
    )  # fmt: skip
    return VineTable(
        margins=columns.margins, scales=columns.scales, vine=vine, level=vine.levels,
        target=-1 if target is None else names.index(target), rows_estimate=table.total,
    )  # fmt: skip


def fit(table: ExactTable, options: RvineOptions, rng: np.random.Generator) -> VineTable:
    """Fit a vine by Dissmann's algorithm: each tree is the spanning tree with the largest sum of absolute associations.

    With a response, the first tree is a star around it instead.
    """
    names, target = table.names, options.target if isinstance(options, StarOptions) else None
    trees: dict[str, Any] = {"truncation": options.level, "criterion": options.criterion}
    if target is not None:
        require_two_values(table, target, "response")
        order = sorted(range(len(names)), key=lambda at: names[at] == target)
        trees |= {"structure": "star", "order": order}
    return fit_table(table, names, options, target, **trees)


_NO_PROTECTION = "It protects no column in particular."
PLAIN_VINE = BaselineMethod(
    name="plain-vine", summary="A regular vine over smoothed margins, without noise", options=PlainVineOptions, fit=fit,
    check=check,
)  # fmt: skip
RVINE = BaselineMethod(
    name="rvine", summary="TVineSynth's R-vine: Dissmann's trees, truncated at a level", options=RvineOptions, fit=fit,
    check=check, caveats=(_NO_PROTECTION,),
)  # fmt: skip
RVINE_STAR1 = BaselineMethod(
    name="rvine-star1", options=StarOptions, fit=fit, takes_target=True, check=check, caveats=(_NO_PROTECTION,),
    summary="TVineSynth's R-vine star1: a first tree around the response, then Dissmann's, truncated at a level",
)  # fmt: skip
