"""Options of the vine method, and how its budget is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.accounting.budget import Budget
from sklar.errors import UsageError
from sklar.methods.method import require_whole
from sklar.schema.table import Schema

NOMINAL_DEPTH, ORDERED_DEPTH = 6, 12
"""Most trees with and without nominal columns: deeper trees speak about ordered columns only, and given many others
they mislead. Chosen on the tables of benchmarks/RESULTS.md."""


CELL_POWER = 0.33
"""Tables of pairs get budget in proportion to this power of their number of cells; the optimum is flat."""
MOVED, SPARED = 1.4, 0.18
"""MOVED times the part of tables of pairs that measures margins, beyond SPARED (that of ten by ten groups), goes from
pairs to margins. Chosen on adult, compas and tail6 with pairs measured as interactions; the optimum is flat."""
MAX_REQUESTED_GROUPS = 1_024
"""Groups of a column in a pair table that may be requested: a table of two such columns has a million cells."""
MAX_WORKLOAD_COLUMNS = 40
"""With more columns not all pairs are measured, and nothing is planned after a first model."""
PAIRS_SHARE = 4 / 7
"""Share of pairs without a target; also used for the number of groups that tables support."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VineShares:
    """Fractions of a budget that sum to one: margins, pairs, tree one; with a target its tables, triples or halves."""

    margins: float
    pairs: float
    tree: float
    target: float = 0.0
    triples: float = 0.0
    halves: float = 0.0


MIN_RESOLUTION_FOR_TRIPLES = 8.0
"""Groups a side from which on triples with a target pay: at 5.4 of them 15% for triples cost 3 to 5% of the error of
pairs, and showed no gain in prediction."""
FEW_ROWS_WITH_TARGET = VineShares(margins=0.30, pairs=0.28, tree=0.06, target=0.30, halves=0.06)
"""Below: one table of each column with the target, in the place of the pair and of the fine one, and each pair of
columns with the target, all cut in two. Chosen on HMEQ, 3,000 rows of Adult and of compas, three seeds; what prediction
gains is .02 of AUC or so on fresh ones. Halves show how dependence differs between classes: on sim20 at epsilon 10 the
AUC rises from .70 to .86 (few rows of many columns; 25% of pairs), on HMEQ at epsilon 1 by .01, at the same error of
pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VineOptions:
    """What may be changed about the method; the defaults need no tuning.

    Attributes:
        shares: budget for margins, pairs and tree one (and, with a target, for its fine tables and its triples).
        depth: largest number of trees; those after the first cost nothing. By default 6, or up to 12 where no column is
            nominal: the deeper trees speak about ordered columns only, and given many others they mislead.
        groups: most groups of a category and of a number in a pair table; the number that the noise supports, up to
            these.
        calibration: whether the vine is tilted towards all released tables.
        sums: share of the budget for sums that measure correlations; from the noise by default.
        target: a column that users will predict; budget moves to its tables.
        workload: sets of two or three columns whose joint distributions matter, as texts of names separated by spaces;
            `*` stands for any column ("region * *"). Without it all pairs and triples count. Needs Gaussian noise.
    """

    shares: tuple[float, ...] | None = None
    depth: int | None = None
    groups: tuple[int, int] = (64, 10)
    calibration: bool = True
    sums: float | None = None
    target: str | None = None
    workload: tuple[str, ...] | None = None


def check_options(schema: Schema, options: VineOptions) -> None:
    """Refuse options that make no sense, before anything is spent."""
    _check_types(options)
    columns = schema.modelled
    if options.target is not None and options.target not in columns:
        raise UsageError(f"the target must be a modelled column; '{options.target}' is not one of {', '.join(columns)}")
    wanted = 5 if options.target is not None else 3
    if options.shares is not None and (len(options.shares) != wanted or min(options.shares) <= 0):
        raise UsageError(f"shares must be {wanted} positive numbers; {options.shares} was given")
    if options.sums is not None and not (type(options.sums) in (int, float) and 0 <= options.sums < 1):
        raise UsageError(f"sums must be a share of the budget, from 0 to below 1; {options.sums} was given")
    if options.workload is not None:
        _check_workload(columns, options)
    if options.depth is not None and options.depth < 1:
        raise UsageError(f"depth must be at least 1; {options.depth} was given")
    for most in options.groups:
        require_whole("groups", most, 2, MAX_REQUESTED_GROUPS)


def _check_workload(columns: Sequence[str], options: VineOptions) -> None:
    """Refuse sets of columns that do not exist, are too large, or come with a target."""
    if options.target is not None:
        raise UsageError("state a target or a workload, not both: a target is a workload of its own")
    if len(columns) > MAX_WORKLOAD_COLUMNS:
        raise UsageError(f"a workload is for at most {MAX_WORKLOAD_COLUMNS} columns; the schema has {len(columns)}")
    for pattern in options.workload or ():
        names = pattern.split() if isinstance(pattern, str) else []
        unknown = [name for name in names if name != "*" and name not in columns]
        if unknown:
            raise UsageError(f"the workload names '{unknown[0]}', which is not a modelled column of the schema")
        if not 2 <= len(names) <= 3 or len(set(names) - {"*"}) < sum(name != "*" for name in names):
            raise UsageError(f"a set of a workload has two or three different columns; {pattern!r} was given")


def resolve_options(options: VineOptions, budget: Budget) -> VineOptions:
    """Refuse what needs Gaussian noise where a pure epsilon allows none."""
    if options.workload is not None and budget.pure:
        raise UsageError("a workload needs Gaussian noise, hence a delta above 0")
    return options


def _check_types(options: VineOptions) -> None:
    """Options come from the command line too, where anything can be written."""
    shares, groups = options.shares, options.groups
    if shares is not None and not (_is_list(shares) and all(_is_number(share) for share in shares)):
        raise UsageError("shares must be a list of positive numbers")
    if not (_is_list(groups) and len(groups) == 2 and all(type(most) is int for most in groups)):
        raise UsageError("groups must be two whole numbers: most groups of a category, and of a number")
    if options.workload is not None and not (_is_list(options.workload) and options.workload):
        raise UsageError('a workload is a list of sets of columns, such as ["region * *", "age sex"]')
    if type(options.depth) not in (int, type(None)) or type(options.calibration) is not bool:
        raise UsageError("depth must be a whole number, and calibration true or false")


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 < float(value) < 1e9  # type: ignore[arg-type]


def depth_of(schema: Schema, options: VineOptions) -> int:
    """Return the largest number of trees."""
    if options.depth is not None:
        return options.depth
    nominal = len(schema.modelled) - len(scored_columns(schema))
    return NOMINAL_DEPTH if nominal else ORDERED_DEPTH


def scored_columns(schema: Schema) -> tuple[int, ...]:
    """Return columns whose order has a meaning, by the schema: ordered ones, and those of two values."""
    return tuple(
        j
        for j, name in enumerate(schema.modelled)
        if schema[name].ordered or schema[name].value_cells + (schema[name].null_code is not None) == 2
    )


def scored_pair_share(schema: Schema) -> float:
    """Return the part of all pairs of columns whose dependence score sums measure."""
    columns, scored = len(schema.modelled), len(scored_columns(schema))
    return scored * (scored - 1) / max(columns * (columns - 1), 1)


def budget_shares(schema: Schema, options: VineOptions, *, gaussian: bool, few_rows: bool = False) -> VineShares:
    """Return how the budget is cut, once the number of rows and the sums are paid for.

    With a target and few rows there are no triples.

    Pairs of columns with few values are cheap with Gaussian noise: a part of their share goes to the margins.
    """
    if options.shares is None and options.target is not None and gaussian and few_rows:
        return FEW_ROWS_WITH_TARGET
    given = options.shares or ((2.0, 4.0, 1.0) if options.target is None else (2.0, 4.0, 1.0, 2.0, 3.0))
    names = ("margins", "pairs", "tree", "target", "triples")
    shares = VineShares(**{name: share / sum(given) for name, share in zip(names, given, strict=False)})
    if options.shares is not None or not gaussian:
        return shares
    moved = shares.pairs * MOVED * max(0.0, margin_share_of_tables(schema, options) - SPARED)
    return replace(shares, margins=shares.margins + moved, pairs=shares.pairs - moved)


def margin_share_of_tables(schema: Schema, options: VineOptions) -> float:
    """Return the part of tables of all pairs that measures margins, by the groups that the schema permits.

    A table of K x L cells measures the margins of its columns with (1 - 1/K) / L + (1 - 1/L) / K of its budget.
    """
    columns = [schema[name] for name in schema.modelled]
    values = np.array([column.value_cells + (column.null_code is not None) for column in columns], dtype=float)
    most = np.array([options.groups[1] if column.numeric else options.groups[0] for column in columns])
    size = np.clip(values, 2, most)
    first, second = (size[at] for at in np.triu_indices(len(size), 1))
    if not len(first):
        return 0.0
    return float(
        np.average((1 - 1 / first) / second + (1 - 1 / second) / first, weights=(first * second) ** CELL_POWER)
    )
