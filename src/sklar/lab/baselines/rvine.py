"""Regular vines fitted to the rows themselves: TVineSynth's `rvine` and `rvine-star1`, `plain-vine`, the reference, and
what `tvine` shares with them: options, checks, and a vine joined to the margins of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from sklar.errors import UsageError
from sklar.lab.baselines.columns import Margins, vine_columns
from sklar.lab.baselines.method import OUR_FAMILIES, BaselineMethod, refuse_ours
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines import fit_rvine
from sklar.lab.vines.fit import check_settings
from sklar.methods.method import require_listed
from sklar.model.rvine.table import VineTable
from sklar.schema.table import Schema

SECONDS_PER_EDGE = 0.05
"""What a pair copula takes, about: for the message that says how long a fit would be."""
LONGEST = 600.0
"""A fit that would take longer than this many seconds is only begun when its number of trees was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineVineOptions:
    """How a vine is fitted; the defaults are TVineSynth's.

    Attributes:
        level: Trees to fit and keep; by default all, and levels are chosen later.
        families: Pair copulas to choose from. "two-parameter" are those of the paper; "parametric" adds Tawn's (ours).
        selection: "aic" or "bic".
        threads: Threads to fit with where pyvinecopulib's own engine does it (criterion "mcor").
        margins: "quantiles": sample quantiles, columns of numbers continuous, labels in the order of the schema, as the
            paper's software has them; "smoothed" (ours): no rare number is repeated, numbers with many ties are
            discrete, and labels are ordered by the response.
        published: The paper's form to the letter: options that are ours are refused, and samples are independent rows.
    """

    level: int | None = None
    families: str = "two-parameter"
    selection: str = "aic"
    threads: int = 2
    margins: Margins = "quantiles"
    published: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RvineOptions(BaselineVineOptions):
    """How the trees are found.

    Attributes:
        criterion: What the spanning trees maximize: "tau", "spearman", "hoeffd" or "mcor".
    """

    criterion: str = "tau"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainVineOptions(RvineOptions):
    """As for the R-vine, with defaults of ours: no paper describes the reference."""

    families: str = "parametric"
    margins: Margins = "smoothed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StarOptions(RvineOptions):
    """How the vine is fitted around its response.

    Attributes:
        target: The response: centre of the first tree.
    """

    target: str | None = None


def check(schema: Schema, options: RvineOptions) -> None:
    """Refuse options that do not fit the schema."""
    columns = len(schema.modelled)
    if isinstance(options, StarOptions):
        require_column(schema, options.target, "response")
    check_vine(columns, options, max(columns - 1, 1), columns - 1, options.criterion)


def check_vine(columns: int, options: BaselineVineOptions, most: int, trees: int, criterion: str = "tau") -> None:
    """Known names, a level of 1 to `most`, and if none is given, `trees` trees that can be waited for."""
    check_settings(options.families, criterion, options.selection)
    ours = {"families": options.families in OUR_FAMILIES, "margins": options.margins == "smoothed"}
    refuse_ours(options.published, ours)
    level, threads = options.level, options.threads
    require_listed("margins", options.margins, get_args(Margins))
    if level is not None and (type(level) is not int or not 1 <= level <= most):
        raise UsageError(f"level is the number of trees kept, a whole number from 1 to {most}; found {level!r}")
    if type(threads) is not int or threads < 1:
        raise UsageError(f"threads is a whole number of at least 1; found {threads!r}")
    edges = _edge_count(columns, trees)
    if level is None and edges * SECONDS_PER_EDGE > LONGEST:
        fewer = max(1, int(LONGEST / SECONDS_PER_EDGE / columns) // 5 * 5)
        left = _edge_count(columns, fewer)
        raise UsageError(
            f"{columns} columns and {trees} trees need {edges:,} pair copulas, about "
            f"{edges * SECONDS_PER_EDGE / 60:.0f} minutes; give level={fewer} ({left:,} pair copulas, about "
            f"{left * SECONDS_PER_EDGE / 60:.0f} minutes), or level={trees} if you can wait"
        )


def _edge_count(columns: int, trees: int) -> int:
    return sum(max(columns - 1 - tree, 0) for tree in range(trees))


def require_column(schema: Schema, name: str | None, role: str) -> None:
    """A modelled column of this name exists."""
    if name is None:
        raise UsageError(f"name the {role} column with target= (--target)")
    if name not in schema.modelled:
        raise UsageError(f"the {role} column '{name}' is not among the modelled columns of the schema")


def require_varying(table: ExactTable, name: str, role: str) -> None:
    """A column with two different values or more."""
    if np.ptp(table.codes[name]) == 0:
        raise UsageError(f"the {role} column '{name}' has the same value in every row; nothing depends on it")


def fit_table(
    table: ExactTable, names: tuple[str, ...], options: BaselineVineOptions, target: str | None, **trees: Any
) -> VineTable:
    """The named columns joined by a vine; what `trees` says is what `fit_rvine` makes of it."""
    columns = vine_columns(table, names, target, options.margins)
    vine = fit_rvine(
        columns.u,
        lower=columns.lower,
        discrete=columns.discrete.tolist(),
        families=options.families,
        selection=options.selection,
        threads=options.threads,
        **trees,
    )
    return VineTable(
        margins=columns.margins,
        scales=columns.scales,
        vine=vine,
        level=vine.levels,
        target=-1 if target is None else names.index(target),
        rows_estimate=table.total,
    )


def fit(table: ExactTable, options: RvineOptions, rng: np.random.Generator) -> VineTable:
    """Trees by Dissmann's algorithm: each the spanning tree with the largest sum of absolute associations. With a
    response the first tree is a star around it instead."""
    names, target = table.names, options.target if isinstance(options, StarOptions) else None
    trees: dict[str, Any] = {"truncation": options.level, "criterion": options.criterion}
    if target is not None:
        require_varying(table, target, "response")
        order = sorted(range(len(names)), key=lambda at: names[at] == target)
        trees |= {"structure": "star", "order": order}
    return fit_table(table, names, options, target, **trees)


_NO_PROTECTION = "It protects no column in particular."
PLAIN_VINE = BaselineMethod(
    name="plain-vine",
    summary="A regular vine over smoothed margins, without noise",
    options=PlainVineOptions,
    fit=fit,
    check=check,
)
RVINE = BaselineMethod(
    name="rvine",
    summary="TVineSynth's R-vine: Dissmann's trees, truncated at a level",
    options=RvineOptions,
    fit=fit,
    check=check,
    caveats=(_NO_PROTECTION,),
)
RVINE_STAR1 = BaselineMethod(
    name="rvine-star1",
    summary="TVineSynth's R-vine star1: a first tree around the response, then Dissmann's, truncated at a level",
    options=StarOptions,
    fit=fit,
    takes_target=True,
    check=check,
    caveats=(_NO_PROTECTION,),
)
