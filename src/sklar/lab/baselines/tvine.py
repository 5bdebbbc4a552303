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
from sklar.lab.baselines.method import BaselineMethod, reject_extensions
from sklar.lab.baselines.rvine import BaselineVineOptions, check_vine, fit_table, require_column, require_two_values
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
MAX_COLUMNS_FOR_ALL_TREES, MAX_TREES_BEYOND = 400, 50
"""With more columns than the first, at most the second number of trees is fitted, as the paper advises (appendix B.3):
later trees would be fitted mostly to chance."""
MIN_ROWS_PER_PART, MAX_PARTS = 200, 12
"""Ours: values of the response with fewer rows share a part, and there are at most this number of parts. A separate
vine captures differences between values but is fitted to their rows only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TvineOptions(BaselineVineOptions):
    """Options of the order, fit and truncation of the vine; the defaults are the paper's. By default all trees up to
    t_max are kept, and levels are chosen later.

    Attributes:
        target: The response: root of the first tree.
        sensitive: Columns whose dependence on others is removed by truncation.
        threshold: Minimum absolute association with a sensitive column at which another one joins its block; one
            number, or one for each sensitive column by name.
        order: All covariates in your own order instead of Algorithm 1's; the last becomes the root of tree two, and no
            tree is fitted in which a sensitive column is a root.
        association: "kendall" (as in the paper), "spearman", "pearson" or "phik".
        conditional_root: Ours: fit one vine with its own margins for each value of the response, so that nothing is
            assumed about how columns depend on it; None does so if the response has few values with enough rows.
    """

    target: str | None = None
    sensitive: Sequence[str] | str = ()
    threshold: float | Mapping[str, float] = 0.6
    order: Sequence[str] | str = ()
    association: str = "kendall"
    conditional_root: bool | None = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _parse_names(self.sensitive))
        object.__setattr__(self, "order", _parse_names(self.order))

    def thresholds(self) -> dict[str, float]:
        """Return the threshold of each sensitive column."""
        if isinstance(self.threshold, Mapping):
            missing = [name for name in self.sensitive if name not in self.threshold]
            if missing:
                raise UsageError(f"threshold has no value for the sensitive column '{missing[0]}'")
            return {name: _parse_threshold(self.threshold[name]) for name in self.sensitive}
        return dict.fromkeys(self.sensitive, _parse_threshold(self.threshold))


def _parse_threshold(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(
            f"a threshold must be one number, or one for each sensitive column by name; found {value!r}"
        ) from None


def _parse_names(names: Any) -> tuple[str, ...]:
    """Parse names given as a sequence or as text with commas; the command line turns a name like 3 into a number."""
    if isinstance(names, Iterable) and not isinstance(names, str):
        return tuple(names)
    return tuple(name.strip() for name in str(names).split(",") if name.strip()) if names is not None else ()


def check(schema: Schema, options: TvineOptions) -> None:
    """Reject options that do not fit the schema."""
    require_column(schema, options.target, "response")
    _check_sensitive(schema, options.sensitive, options.target)
    require_listed("association", options.association, ASSOCIATIONS)
    if not all(0 <= value < 1 for value in options.thresholds().values()):
        raise UsageError("a threshold of association must be between 0 and 1")
    if options.order and sorted(options.order) != sorted(set(schema.modelled) - {options.target}):
        raise UsageError("order must name every modelled column but the response, each once")
    if options.conditional_root not in (None, True, False):
        raise UsageError(f"conditional_root must be True, False or None; found {options.conditional_root!r}")
    covariates, sensitive = len(schema.modelled) - 1, len(options.sensitive)
    position = max(options.order.index(name) + 1 for name in options.sensitive) if options.order else sensitive
    reject_extensions(options.published, {"conditional_root": options.conditional_root is not False})
    # A given level must also stop before a sensitive column is a root, but may exceed the advice for many columns.
    check_vine(covariates + 1, options, covariates + 1 - position, highest_level(covariates, position))


def highest_level(covariates: int, position: int) -> int:
    """Return t_max = d + 1 - j (section 2.2 of the paper), the last tree before a sensitive column is a root.

    j is the highest position of a sensitive column. With very many columns, at most 50 trees are fitted.
    """
    most = covariates + 1 - position
    return min(most, MAX_TREES_BEYOND) if covariates > MAX_COLUMNS_FOR_ALL_TREES else most


def _check_sensitive(schema: Schema, sensitive: Sequence[str], target: str | None) -> None:
    """Require at least one sensitive column, all in the schema, named once, and none of them the response."""
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
        raise UsageError("all columns except the response are sensitive; leave at least one that is not")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """The covariates by position: sensitive columns, then those associated with them, then the rest.

    Attributes:
        names: Covariates at positions 1, 2, ...; the last becomes the root of tree two, right after the response.
        sensitive: The sensitive columns.
        close: The number of columns in the block associated with the sensitive ones.
    """

    names: tuple[str, ...]
    sensitive: tuple[str, ...]
    close: int

    @property
    def most(self) -> int:
        """Return t_max of this order."""
        return highest_level(len(self.names), max(self.names.index(name) + 1 for name in self.sensitive))


def order_columns(
    names: Sequence[str],
    sensitive: Sequence[str],
    association: Mapping[str, Mapping[str, float]],
    thresholds: Mapping[str, float],
) -> Ordering:
    """Order columns by Algorithm 1: S, then K by decreasing largest association over S, then the rest unchanged.

    Args:
        association: For each sensitive column, its association with every other covariate.
        thresholds: For each sensitive column, the absolute association above which a covariate belongs to K.
    """
    others = [name for name in names if name not in sensitive]
    close = [name for name in others if any(abs(association[s][name]) > thresholds[s] for s in sensitive)]
    close.sort(key=lambda name: -max(abs(association[s][name]) for s in sensitive))
    rest = [name for name in others if name not in close]
    return Ordering(names=(*sensitive, *close, *rest), sensitive=tuple(sensitive), close=len(close))


def measure_associations(
    table: ExactTable, names: Sequence[str], sensitive: Sequence[str], measure: str
) -> dict[str, dict[str, float]]:
    """Compute the association of every sensitive column with every other covariate; 0 where it is not defined."""
    if measure == "phik":
        return {s: {n: _zero_infinite(phik_matrix(table, (s, n))[0, 1]) for n in names if n != s} for s in sensitive}
    codes, ordered = table.codes, [name for name in names if table.schema[name].ordered]
    values = {n: ordered_values(table, n) if n in ordered else codes[n].astype(np.float64) for n in names}
    pair = {"kendall": _kendall, "spearman": spearman_correlation, "pearson": pearson}[measure]
    return {s: {n: _associate_known(pair, values[s], values[n]) for n in names if n != s} for s in sensitive}


def _associate_known(pair: Callable[[Floats, Floats], float], left: Floats, right: Floats) -> float:
    known = ~(np.isnan(left) | np.isnan(right))
    return _zero_infinite(pair(left[known], right[known])) if known.sum() > 1 else 0.0


def _kendall(left: Floats, right: Floats) -> float:
    """Compute tau-b twenty times as fast as scipy for a few hundred rows; every fit needs it once per pair."""
    wdm = import_pyvinecopulib().utils.wdm
    return 0.0 if np.ptp(left) == 0 or np.ptp(right) == 0 else float(wdm(left, right, "kendall"))


def _zero_infinite(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0


def fit(table: ExactTable, options: TvineOptions, rng: np.random.Generator) -> VineTable | SplitVineTable:
    """Fit once up to t_max; all lower levels are truncations of this fit."""
    assert options.target is not None
    for name, role in ((options.target, "response"), *((name, "sensitive") for name in options.sensitive)):
        require_two_values(table, name, role)
    found = find_order(table, options)
    level = found.most if options.level is None else options.level
    if _should_split(table, options):
        return fit_split(table, options, found, level)
    order = [table.names.index(name) for name in (*found.names, options.target)]
    made = fit_table(table, table.names, options, options.target, truncation=level, structure="cvine", order=order)
    sensitive = tuple(table.names.index(name) for name in options.sensitive)
    return dataclasses.replace(made, roots=tuple(reversed(order)), sensitive=sensitive)


def find_order(table: ExactTable, options: TvineOptions) -> Ordering:
    """Return the given order, or that of Algorithm 1; reject a threshold that every column exceeds."""
    if options.order:
        return Ordering(names=tuple(options.order), sensitive=tuple(options.sensitive), close=0)
    covariates = [name for name in table.names if name != options.target]
    strength = measure_associations(table, covariates, options.sensitive, options.association)
    found = order_columns(covariates, options.sensitive, strength, options.thresholds())
    if found.close and len(found.sensitive) + found.close == len(covariates):
        raise UsageError(
            f"the threshold of association puts all {found.close} other columns into the block of the sensitive ones, "
            "so no level of truncation separates them; raise the threshold"
        )
    return found


def _should_split(table: ExactTable, options: TvineOptions) -> bool:
    """Decide whether to fit one vine per value of the response; reject the option if it has no suitable values."""
    assert options.target is not None
    counts = np.bincount(table.codes[options.target])
    possible = (counts > 0).sum() <= MAX_PARTS and (counts >= MIN_ROWS_PER_PART).sum() >= 2
    if options.conditional_root and not possible:
        raise UsageError(
            f"conditional_root needs a response with two to {MAX_PARTS} values, two of them with {MIN_ROWS_PER_PART} "
            f"rows or more; '{options.target}' does not qualify. Leave conditional_root out"
        )
    return bool(possible) if options.conditional_root is None else options.conditional_root


def fit_split(table: ExactTable, options: TvineOptions, order: Ordering, level: int) -> SplitVineTable:
    """Fit a vine in the given order for every part of the rows."""
    names, target = table.names, str(options.target)
    others = tuple(name for name in names if name != target)
    places = [others.index(name) for name in order.names]
    codes = np.asarray(table.codes[target])
    values: list[Margin] = []
    parts: list[VineTable] = []
    for group in group_values(codes):
        inside = table.take(np.flatnonzero(np.isin(codes, group)))
        values.append(column_margin(table.schema, target, inside.codes[target], options.margins))
        part = fit_table(inside, others, options, None, truncation=level - 1, structure="cvine", order=places)
        parts.append(dataclasses.replace(part, rows_estimate=inside.rows))
    shares = np.array([part.rows_estimate for part in parts], dtype=np.float64)
    response = codes.astype(np.float64)
    return SplitVineTable(
        margins=tuple(column_margin(table.schema, name, table.codes[name], options.margins) for name in names),
        target=names.index(target), shares=shares / shares.sum(), values=tuple(values), parts=tuple(parts), level=level,
        roots=tuple(names.index(name) for name in (target, *reversed(order.names))),
        sensitive=tuple(names.index(name) for name in options.sensitive),
        first_tau=np.array([_zero_infinite(kendall_tau(table.codes[n].astype(np.float64), response)) for n in others]),
        rows_estimate=table.total,
    )  # fmt: skip


def group_values(codes: NDArray[np.integer]) -> list[list[int]]:
    """Group values of the response: frequent ones alone, all rare ones together, or with the smallest if too few."""
    counts = np.bincount(codes)
    order = [int(code) for code in np.argsort(-counts) if counts[code]]
    groups = [[code] for code in order if counts[code] >= MIN_ROWS_PER_PART] or [order[:1]]
    rare = [code for code in order if all(code not in group for group in groups)]
    if rare and counts[rare].sum() >= MIN_ROWS_PER_PART:
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
        "Unless a level was given, the file keeps all fitted trees, regardless of the level of samples.",
    ),
)
