"""TVineSynth (Griesbauer et al. 2025): a C-vine ordered around sensitive columns, and truncated to protect them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.lab.baselines.columns import smoothed_margin, vine_columns
from sklar.lab.baselines.method import (
    BaselineMethod,
    require_affordable,
    require_column,
    require_level,
    require_sensitive,
    require_settings,
    require_threads,
    require_varying,
)
from sklar.lab.baselines.ordering import ASSOCIATIONS, FEW_TREES, MANY_COLUMNS, Ordering, associations, order_columns
from sklar.lab.metrics.kendall import kendall_tau
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines.fit import fit_rvine
from sklar.model.margins.margin import Margin
from sklar.model.rvine.split import SplitVineTable
from sklar.model.rvine.table import VineTable
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class TvineOptions:
    """How the vine is ordered, fitted and truncated.

    Attributes:
        target: The response: root of the first tree.
        sensitive: Columns whose dependence on others truncation is to remove.
        threshold: Above which absolute association with a sensitive column another one joins its block; one number, or
            one for each sensitive column by name.
        order: All covariates in an order of your own instead of Algorithm 1's; the last becomes the root of tree two.
        association: "kendall" (as in the paper), "spearman", "pearson" or "phik".
        level: Trees to fit and keep. By default all up to t_max are kept, and levels are chosen later.
        families: Pair copulas to choose from.
        selection: "aic" or "bic".
        threads: Not made use of: a fit takes seconds on one core.
        conditional_root: Fit one vine, with its own margins, for each value of the response, so that nothing is assumed
            about how columns depend on it; by default where the response has few values with rows enough.
    """

    target: str | None = None
    sensitive: Sequence[str] | str = ()
    threshold: float | Mapping[str, float] = 0.6
    order: Sequence[str] | str = ()
    association: str = "kendall"
    level: int | None = None
    families: str = "parametric"
    selection: str = "aic"
    threads: int = 2
    conditional_root: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _listed(self.sensitive))
        object.__setattr__(self, "order", _listed(self.order))

    def thresholds(self) -> dict[str, float]:
        """The threshold of each sensitive column."""
        if isinstance(self.threshold, Mapping):
            missing = [name for name in self.sensitive if name not in self.threshold]
            if missing:
                raise UsageError(f"threshold names no value for the sensitive column '{missing[0]}'")
            return {name: _number(self.threshold[name]) for name in self.sensitive}
        return dict.fromkeys(self.sensitive, _number(self.threshold))


def _number(value: Any) -> float:
    """A threshold as a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(
            f"a threshold is one number, or one for each sensitive column by name; found {value!r}"
        ) from None


def _listed(names: Any) -> tuple[str, ...]:
    """Names given as a sequence, or as text with commas; a command line makes a number of the name 3."""
    if isinstance(names, Iterable) and not isinstance(names, str):
        return tuple(names)
    return tuple(name.strip() for name in str(names).split(",") if name.strip()) if names is not None else ()


def check(schema: Schema, options: TvineOptions) -> None:
    """Refuse options that do not fit the schema."""
    require_column(schema, options.target, "response")
    require_sensitive(schema, options.sensitive, options.target)
    require_settings(options.families, options.selection)
    if options.association not in ASSOCIATIONS:
        raise UsageError(f"association must be one of {', '.join(ASSOCIATIONS)}; found '{options.association}'")
    if not all(0 <= value < 1 for value in options.thresholds().values()):
        raise UsageError("a threshold of association lies between 0 and 1")
    if options.order and sorted(options.order) != sorted(set(schema.modelled) - {options.target}):
        raise UsageError("order must name every modelled column but the response, each once")
    covariates = len(schema.modelled) - 1
    most = covariates + 1 - len(options.sensitive)
    require_level(options.level, most)
    require_threads(options.threads)
    if options.conditional_root not in (None, True, False):
        raise UsageError(f"conditional_root is True, False or left out; found {options.conditional_root!r}")
    require_affordable(covariates + 1, options.level, min(most, FEW_TREES) if covariates > MANY_COLUMNS else most)


def fit(table: ExactTable, options: TvineOptions, rng: np.random.Generator) -> VineTable | SplitVineTable:
    """One fit down to t_max; all lower levels are truncations of it."""
    assert options.target is not None
    names = table.names
    for name, role in ((options.target, "response"), *((name, "sensitive") for name in options.sensitive)):
        require_varying(table, name, role)
    found = find_order(table, options)
    level = found.most if options.level is None else options.level
    if _splits(table, options):
        return fit_split(
            table,
            options.target,
            found,
            level,
            sensitive=tuple(options.sensitive),
            families=options.families,
            selection=options.selection,
        )
    columns = vine_columns(table, names, options.target)
    order = [names.index(name) for name in (*found.names, options.target)]
    vine = fit_rvine(
        columns.u,
        lower=columns.lower,
        discrete=columns.discrete.tolist(),
        families=options.families,
        selection=options.selection,
        truncation=level,
        structure="cvine",
        order=order,
        threads=options.threads,
    )
    return VineTable(
        margins=columns.margins,
        scales=columns.scales,
        vine=vine,
        level=level,
        roots=tuple(reversed(order)),
        target=names.index(options.target),
        sensitive=tuple(names.index(name) for name in options.sensitive),
        rows_estimate=table.total,
    )


def _splits(table: ExactTable, options: TvineOptions) -> bool:
    assert options.target is not None
    possible = can_split(table, options.target)
    if options.conditional_root and not possible:
        raise UsageError(
            f"conditional_root needs a response with two to {MOST_PARTS} values, two of them with {ROWS_PER_PART} rows "
            f"or more; '{options.target}' has not. Leave conditional_root out"
        )
    return possible if options.conditional_root is None else options.conditional_root


def find_order(table: ExactTable, options: TvineOptions) -> Ordering:
    """The order asked for, or Algorithm 1 on the rows; a threshold that takes in every column is refused."""
    if options.order:
        return Ordering(names=tuple(options.order), sensitive=0, close=0)
    covariates = [name for name in table.names if name != options.target]
    strength = associations(table, covariates, options.sensitive, options.association)
    found = order_columns(covariates, options.sensitive, strength, options.thresholds())
    if found.close and found.sensitive + found.close == len(covariates):
        raise UsageError(
            f"the threshold of association puts all {found.close} other columns into the block of the sensitive ones, "
            "so no level of truncation separates them; raise the threshold"
        )
    return found


TVINE = BaselineMethod(
    name="tvine",
    summary="TVineSynth: a C-vine around the response, truncated to protect named sensitive columns",
    options=TvineOptions,
    fit=fit,
    takes_target=True,
    check=check,
    caveats=(
        "Truncation limits attribute inference on the named sensitive columns; it is no bound on what an attacker can "
        "learn, and other columns are not protected.",
        "Unless a level was given, the file keeps all fitted trees, whatever level samples are drawn from.",
    ),
)


ROWS_PER_PART = 200
"""Values of the response with fewer rows share a part."""
MOST_PARTS = 12


def can_split(table: ExactTable, target: str) -> bool:
    """Whether the response has few values, two of them with rows enough for a vine of their own."""
    counts = np.bincount(table.codes[target])
    seen = counts[counts > 0]
    return len(seen) <= MOST_PARTS and int((seen >= ROWS_PER_PART).sum()) >= 2


def groups_of(codes: NDArray[np.integer]) -> list[list[int]]:
    """Values of the response by part: frequent ones alone, all rare ones together, with the least if still too few."""
    counts = np.bincount(codes)
    order = [int(code) for code in np.argsort(-counts) if counts[code]]
    groups = [[code] for code in order if counts[code] >= ROWS_PER_PART] or [order[:1]]
    rare = [code for code in order if all(code not in group for group in groups)]
    if rare and counts[rare].sum() >= ROWS_PER_PART:
        return [*groups, rare]
    return [*groups[:-1], [*groups[-1], *rare]]


def fit_split(
    table: ExactTable,
    target: str,
    order: Ordering,
    level: int,
    *,
    sensitive: tuple[str, ...],
    families: str,
    selection: str,
) -> SplitVineTable:
    """A vine in the given order for every part of the rows."""
    names = table.names
    others = tuple(name for name in names if name != target)
    codes = np.asarray(table.codes[target])
    values: list[Margin] = []
    parts: list[VineTable] = []
    for group in groups_of(codes):
        inside = table.take(np.flatnonzero(np.isin(codes, group)))
        values.append(smoothed_margin(table.schema, target, inside.codes[target]))
        parts.append(_part(inside, others, order, level - 1, families, selection))
    shares = np.array([part.rows_estimate for part in parts], dtype=np.float64)
    response = codes.astype(np.float64)
    return SplitVineTable(
        margins=tuple(smoothed_margin(table.schema, name, table.codes[name]) for name in names),
        target=names.index(target),
        shares=shares / shares.sum(),
        values=tuple(values),
        parts=tuple(parts),
        level=level,
        roots=tuple(names.index(name) for name in (target, *reversed(order.names))),
        sensitive=tuple(names.index(name) for name in sensitive),
        first_tau=np.array([_tau(table.codes[name].astype(np.float64), response) for name in others]),
        rows_estimate=table.total,
    )


def _part(
    table: ExactTable, names: tuple[str, ...], order: Ordering, trees: int, families: str, selection: str
) -> VineTable:
    columns = vine_columns(table, names)
    vine = fit_rvine(
        columns.u,
        lower=columns.lower,
        discrete=columns.discrete.tolist(),
        families=families,
        selection=selection,
        truncation=trees,
        structure="cvine",
        order=[names.index(name) for name in order.names],
    )
    return VineTable(
        margins=columns.margins,
        scales=columns.scales,
        vine=vine,
        level=trees,
        roots=(),
        target=-1,
        sensitive=(),
        rows_estimate=table.rows,
    )


def _tau(left: Floats, right: Floats) -> float:
    found = kendall_tau(left, right)
    return found if np.isfinite(found) else 0.0
