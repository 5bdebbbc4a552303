"""TVineSynth (Griesbauer et al. 2025): a C-vine ordered around sensitive columns, and truncated to protect them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.lab.baselines.columns import column_margin, pearson
from sklar.lab.baselines.method import BaselineMethod, refuse_ours
from sklar.lab.baselines.rvine import BaselineVineOptions, check_vine, fit_table, require_column, require_varying
from sklar.lab.metrics.correlations.kendall import kendall_tau
from sklar.lab.metrics.correlations.phik import phik_matrix
from sklar.lab.metrics.correlations.spearman import spearman_correlation
from sklar.lab.tables.table import ExactTable, ordered_values
from sklar.methods.method import require_listed
from sklar.model.margins.margin import Margin
from sklar.model.rvine.table import SplitVineTable, VineTable
from sklar.model.rvine.vine import import_pyvinecopulib
from sklar.schema.table import Schema

ASSOCIATIONS = ("kendall", "spearman", "pearson", "phik")
MANY_COLUMNS, FEW_TREES = 400, 50
"""Beyond so many columns at most so many trees are fitted, as the paper advises (appendix B.3): later trees would be
fitted to little but chance."""
ROWS_PER_PART, MOST_PARTS = 200, 12
"""Ours: values of the response with fewer rows share a part, and there are at most so many parts: a vine of its own
catches what differs between values, and has only their rows to learn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TvineOptions(BaselineVineOptions):
    """How the vine is ordered, fitted and truncated; the defaults are the paper's. By default all trees up to t_max are
    kept, and levels are chosen later.

    Attributes:
        target: The response: root of the first tree.
        sensitive: Columns whose dependence on others truncation is to remove.
        threshold: Above which absolute association with a sensitive column another one joins its block; one number, or
            one for each sensitive column by name.
        order: All covariates in an order of your own instead of Algorithm 1's; the last becomes the root of tree two,
            and no tree is fitted in which a sensitive column is a root.
        association: "kendall" (as in the paper), "spearman", "pearson" or "phik".
        conditional_root: Ours: fit one vine, with its own margins, for each value of the response, so that nothing is
            assumed about how columns depend on it; None does so where the response has few values with rows enough.
    """

    target: str | None = None
    sensitive: Sequence[str] | str = ()
    threshold: float | Mapping[str, float] = 0.6
    order: Sequence[str] | str = ()
    association: str = "kendall"
    conditional_root: bool | None = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _name_list(self.sensitive))
        object.__setattr__(self, "order", _name_list(self.order))

    def thresholds(self) -> dict[str, float]:
        """The threshold of each sensitive column."""
        if isinstance(self.threshold, Mapping):
            missing = [name for name in self.sensitive if name not in self.threshold]
            if missing:
                raise UsageError(f"threshold names no value for the sensitive column '{missing[0]}'")
            return {name: _number(self.threshold[name]) for name in self.sensitive}
        return dict.fromkeys(self.sensitive, _number(self.threshold))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(
            f"a threshold is one number, or one for each sensitive column by name; found {value!r}"
        ) from None


def _name_list(names: Any) -> tuple[str, ...]:
    """Names given as a sequence, or as text with commas; a command line makes a number of the name 3."""
    if isinstance(names, Iterable) and not isinstance(names, str):
        return tuple(names)
    return tuple(name.strip() for name in str(names).split(",") if name.strip()) if names is not None else ()


def check(schema: Schema, options: TvineOptions) -> None:
    """Refuse options that do not fit the schema."""
    require_column(schema, options.target, "response")
    _check_sensitive(schema, options.sensitive, options.target)
    require_listed("association", options.association, ASSOCIATIONS)
    if not all(0 <= value < 1 for value in options.thresholds().values()):
        raise UsageError("a threshold of association lies between 0 and 1")
    if options.order and sorted(options.order) != sorted(set(schema.modelled) - {options.target}):
        raise UsageError("order must name every modelled column but the response, each once")
    if options.conditional_root not in (None, True, False):
        raise UsageError(f"conditional_root is True, False or None; found {options.conditional_root!r}")
    covariates, sensitive = len(schema.modelled) - 1, len(options.sensitive)
    position = max(options.order.index(name) + 1 for name in options.sensitive) if options.order else sensitive
    refuse_ours(options.published, {"conditional_root": options.conditional_root is not False})
    # A level that is asked for stops before a sensitive column is a root, too; the advice for many columns is free.
    check_vine(covariates + 1, options, covariates + 1 - position, highest_level(covariates, position))


def highest_level(covariates: int, position: int) -> int:
    """t_max = d + 1 - j (section 2.2 of the paper), j the highest position of a sensitive column: the last tree before
    one is a root. At most 50 of many."""
    most = covariates + 1 - position
    return min(most, FEW_TREES) if covariates > MANY_COLUMNS else most


def _check_sensitive(schema: Schema, sensitive: Sequence[str], target: str | None) -> None:
    """At least one sensitive column, all of them there, named once, and none of them the response."""
    if not sensitive:
        raise UsageError(
            "name at least one sensitive column with sensitive=('...',): the order of the vine is built around them; "
            "without one use the method 'rvine-star1'"
        )
    for name in sensitive:
        require_column(schema, name, "sensitive")
        if name == target:
            raise UsageError(f"column '{name}' cannot be both the response and sensitive: name another response")
    if len(set(sensitive)) < len(sensitive):
        raise UsageError("a sensitive column is named twice; name each once")
    if len(sensitive) > len(schema.modelled) - 2:
        raise UsageError("all columns besides the response are sensitive; leave at least one that is not")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """The covariates by position: sensitive ones first, then those that tell most about them, then the rest.

    Attributes:
        names: Covariates at positions 1, 2, ...; the last becomes the root of tree two, right after the response.
        sensitive: Those that are sensitive.
        close: How many more are in the block associated with the sensitive ones.
    """

    names: tuple[str, ...]
    sensitive: tuple[str, ...]
    close: int

    @property
    def most(self) -> int:
        """t_max of this order."""
        return highest_level(len(self.names), max(self.names.index(name) + 1 for name in self.sensitive))


def order_columns(
    names: Sequence[str],
    sensitive: Sequence[str],
    association: Mapping[str, Mapping[str, float]],
    thresholds: Mapping[str, float],
) -> Ordering:
    """Algorithm 1: S, then K by its largest association over S (descending), then the rest as they come.

    Args:
        association: For each sensitive column, its association with every other covariate.
        thresholds: For each sensitive column, above which absolute association a covariate belongs to K.
    """
    others = [name for name in names if name not in sensitive]
    close = [name for name in others if any(abs(association[s][name]) > thresholds[s] for s in sensitive)]
    close.sort(key=lambda name: -max(abs(association[s][name]) for s in sensitive))
    rest = [name for name in others if name not in close]
    return Ordering(names=(*sensitive, *close, *rest), sensitive=tuple(sensitive), close=len(close))


def associations(
    table: ExactTable, names: Sequence[str], sensitive: Sequence[str], measure: str
) -> dict[str, dict[str, float]]:
    """Association of every sensitive column with every other covariate; 0 where it is not defined."""
    if measure == "phik":
        return {s: {n: _finite(phik_matrix(table, (s, n))[0, 1]) for n in names if n != s} for s in sensitive}
    codes, ordered = table.codes, [name for name in names if table.schema[name].ordered]
    values = {n: ordered_values(table, n) if n in ordered else codes[n].astype(np.float64) for n in names}
    pair = {"kendall": _kendall, "spearman": spearman_correlation, "pearson": pearson}[measure]
    return {s: {n: _finite(_both(pair, values[s], values[n])) for n in names if n != s} for s in sensitive}


def _both(pair: Callable[[Floats, Floats], float], left: Floats, right: Floats) -> float:
    known = ~(np.isnan(left) | np.isnan(right))
    return pair(left[known], right[known]) if known.sum() > 1 else 0.0


def _kendall(left: Floats, right: Floats) -> float:
    """Tau-b, twenty times as fast as scipy's for a few hundred rows; every fit asks for it once a pair."""
    wdm = import_pyvinecopulib().utils.wdm
    return 0.0 if np.ptp(left) == 0 or np.ptp(right) == 0 else float(wdm(left, right, "kendall"))


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0


def fit(table: ExactTable, options: TvineOptions, rng: np.random.Generator) -> VineTable | SplitVineTable:
    """One fit down to t_max; all lower levels are truncations of it."""
    assert options.target is not None
    for name, role in ((options.target, "response"), *((name, "sensitive") for name in options.sensitive)):
        require_varying(table, name, role)
    found = find_order(table, options)
    level = found.most if options.level is None else options.level
    if _must_split(table, options):
        return fit_split(table, options, found, level)
    order = [table.names.index(name) for name in (*found.names, options.target)]
    made = fit_table(table, table.names, options, options.target, truncation=level, structure="cvine", order=order)
    sensitive = tuple(table.names.index(name) for name in options.sensitive)
    return dataclasses.replace(made, roots=tuple(reversed(order)), sensitive=sensitive)


def find_order(table: ExactTable, options: TvineOptions) -> Ordering:
    """The order asked for, or Algorithm 1 on the rows; a threshold that takes in every column is refused."""
    if options.order:
        return Ordering(names=tuple(options.order), sensitive=tuple(options.sensitive), close=0)
    covariates = [name for name in table.names if name != options.target]
    strength = associations(table, covariates, options.sensitive, options.association)
    found = order_columns(covariates, options.sensitive, strength, options.thresholds())
    if found.close and len(found.sensitive) + found.close == len(covariates):
        raise UsageError(
            f"the threshold of association puts all {found.close} other columns into the block of the sensitive ones, "
            "so no level of truncation separates them; raise the threshold"
        )
    return found


def _must_split(table: ExactTable, options: TvineOptions) -> bool:
    """Whether the response has few values, two of them with rows enough for a vine of their own, if that is asked."""
    assert options.target is not None
    counts = np.bincount(table.codes[options.target])
    possible = (counts > 0).sum() <= MOST_PARTS and (counts >= ROWS_PER_PART).sum() >= 2
    if options.conditional_root and not possible:
        raise UsageError(
            f"conditional_root needs a response with two to {MOST_PARTS} values, two of them with {ROWS_PER_PART} rows "
            f"or more; '{options.target}' has not. Leave conditional_root out"
        )
    return bool(possible) if options.conditional_root is None else options.conditional_root


def fit_split(table: ExactTable, options: TvineOptions, order: Ordering, level: int) -> SplitVineTable:
    """A vine in the given order for every part of the rows."""
    names, target = table.names, str(options.target)
    others = tuple(name for name in names if name != target)
    places = [others.index(name) for name in order.names]
    codes = np.asarray(table.codes[target])
    values: list[Margin] = []
    parts: list[VineTable] = []
    for group in groups_of(codes):
        inside = table.take(np.flatnonzero(np.isin(codes, group)))
        values.append(column_margin(table.schema, target, inside.codes[target], options.margins))
        part = fit_table(inside, others, options, None, truncation=level - 1, structure="cvine", order=places)
        parts.append(dataclasses.replace(part, rows_estimate=inside.rows))
    shares = np.array([part.rows_estimate for part in parts], dtype=np.float64)
    response = codes.astype(np.float64)
    return SplitVineTable(
        margins=tuple(column_margin(table.schema, name, table.codes[name], options.margins) for name in names),
        target=names.index(target),
        shares=shares / shares.sum(),
        values=tuple(values),
        parts=tuple(parts),
        level=level,
        roots=tuple(names.index(name) for name in (target, *reversed(order.names))),
        sensitive=tuple(names.index(name) for name in options.sensitive),
        first_tau=np.array([_finite(kendall_tau(table.codes[name].astype(np.float64), response)) for name in others]),
        rows_estimate=table.total,
    )


def groups_of(codes: NDArray[np.integer]) -> list[list[int]]:
    """Values of the response by part: frequent ones alone, all rare ones together, with the least if still too few."""
    counts = np.bincount(codes)
    order = [int(code) for code in np.argsort(-counts) if counts[code]]
    groups = [[code] for code in order if counts[code] >= ROWS_PER_PART] or [order[:1]]
    rare = [code for code in order if all(code not in group for group in groups)]
    if rare and counts[rare].sum() >= ROWS_PER_PART:
        return [*groups, rare]
    return [*groups[:-1], [*groups[-1], *rare]]


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
