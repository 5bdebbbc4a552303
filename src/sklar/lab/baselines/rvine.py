"""Regular vines fitted to the rows themselves: `plain-vine`, the reference, and `rvine` and `rvine-star1`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.lab.baselines.columns import vine_columns
from sklar.lab.baselines.method import (
    BaselineMethod,
    require_affordable,
    require_column,
    require_level,
    require_settings,
    require_threads,
    require_varying,
)
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines.fit import fit_rvine
from sklar.model.rvine.table import VineTable
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class RvineOptions:
    """How the vine is fitted.

    Attributes:
        level: Trees to fit; all by default.
        criterion: What the spanning trees maximize: "tau", "spearman", "hoeffd" or "mcor".
        families: Pair copulas to choose from.
        selection: "aic" or "bic".
        threads: Threads to fit with where pyvinecopulib's own engine does it (criterion "mcor").
    """

    level: int | None = None
    criterion: str = "tau"
    families: str = "parametric"
    selection: str = "aic"
    threads: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class StarOptions(RvineOptions):
    """How the vine is fitted around its response.

    Attributes:
        target: The response: center of the first tree.
    """

    target: str | None = None


def check(schema: Schema, options: RvineOptions) -> None:
    """Refuse options that do not fit the schema."""
    columns = len(schema.modelled)
    require_settings(options.families, options.selection, options.criterion)
    require_level(options.level, max(columns - 1, 1))
    require_threads(options.threads)
    require_affordable(columns, options.level, columns - 1)


def check_star(schema: Schema, options: StarOptions) -> None:
    """As for any vine, and the response exists."""
    require_column(schema, options.target, "response")
    check(schema, options)


def fit(table: ExactTable, options: RvineOptions, rng: np.random.Generator) -> VineTable:
    """Trees by Dissmann's algorithm: each the spanning tree with the largest sum of absolute associations."""
    return _fit(table, options, None)


def fit_star(table: ExactTable, options: StarOptions, rng: np.random.Generator) -> VineTable:
    """The first tree is a star around the response; all others are Dissmann's."""
    assert options.target is not None
    require_varying(table, options.target, "response")
    return _fit(table, options, options.target)


def _fit(table: ExactTable, options: RvineOptions, target: str | None) -> VineTable:
    names = table.names
    columns = vine_columns(table, names, target)
    others = [at for at, name in enumerate(names) if name != target]
    center = [] if target is None else [names.index(target)]
    vine = fit_rvine(
        columns.u,
        lower=columns.lower,
        discrete=columns.discrete.tolist(),
        families=options.families,
        criterion=options.criterion,
        selection=options.selection,
        truncation=options.level,
        structure="dissmann" if target is None else "star",
        order=[*others, *center],
        threads=options.threads,
    )
    return VineTable(
        margins=columns.margins,
        scales=columns.scales,
        vine=vine,
        level=vine.levels,
        roots=(),
        target=center[0] if center else -1,
        sensitive=(),
        rows_estimate=table.total,
    )


_NO_PROTECTION = "It protects no column in particular."
PLAIN_VINE = BaselineMethod(
    name="plain-vine",
    summary="A regular vine over smoothed margins, without noise",
    options=RvineOptions,
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
    fit=fit_star,
    takes_target=True,
    check=check_star,
    caveats=(_NO_PROTECTION,),
)
