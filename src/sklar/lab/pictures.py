"""Charts for the custodian: a fitted model (its trees, truncation levels, strongest pairs), releases by utility and
risk, and scatter plots of synthetic rows, optionally with real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.lab.baselines.levels import at_level, candidate_levels, truncation_levels
from sklar.pipeline.model import Model
from sklar.report.charts.canvas import require_picture, write_picture
from sklar.report.charts.grids import MAX_SCATTER_COLUMNS, draw_contours, draw_levels, scatter_grid
from sklar.report.charts.plots import Tradeoff, TradeoffPoint, Triple, tradeoff_chart
from sklar.report.page import require_custodian_picture
from sklar.sample.rng import generator, substreams
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

LEVEL_ROWS = 5_000
"""Number of synthetic rows of each level for its correlations."""
SCATTER_ROWS = 20_000
"""Number of synthetic rows in a scatter grid."""


def draw_model(model: Model, path: str | PathLike[str], picture: str = "trees") -> None:
    """Draw one picture into a file whose name ends in .svg or .png.

    Args:
        model: Any model for trees; levels and pairs need a model of `tvine`, `rvine`, `rvine-star1` or `plain-vine`.
        path: The file to write.
        picture: "trees", "levels" (rank correlations level by level), "pairs" (contours of the strongest pairs) or
            "scatter" (all pairs of the first numeric columns of synthetic rows).
    """
    if picture not in PICTURES:
        raise UsageError(f"there is no picture '{picture}'; the pictures are: {', '.join(PICTURES)}")
    PICTURES[picture](model, path)


def plot_levels(
    model: Model, path: str | PathLike[str], *, chosen: Sequence[int] | None = None, seed: int | None = None
) -> None:
    """Draw rank correlations of synthetic rows level by level (as figures 10 and 24 of Griesbauer et al. 2025).

    Columns are in the order of the vine, sensitive ones first and the response last; levels differ only in the number
    of trees.
    """
    from scipy.stats import rankdata

    require_picture(path)
    truncation_levels(model)  # rejects models without levels
    record: Any = model.table_model
    names = model.coordinates.schema.modelled
    order = list(reversed(record.roots)) or list(range(len(names)))
    matrices: dict[str, Any] = {}
    for level in candidate_levels(model) if chosen is None else chosen:
        codes = at_level(model, level).table_model.simulate(LEVEL_ROWS, generator(seed))[:, order]
        matrices[f"level {level}"] = np.corrcoef(rankdata(codes, axis=0).T)
    columns = [names[column] for column in order]
    write_picture(draw_levels(matrices, columns, label=model.claim.label), path)


def plot_pairs(model: Model, path: str | PathLike[str], *, most: int = 12) -> None:
    """Draw contours of the strongest pair copulas of a vine (its largest part, if it has one per response)."""
    truncation_levels(model)
    record: Any = model.table_model
    part = record.parts[int(np.argmax(record.shares))] if hasattr(record, "parts") else record
    columns = [margin.column for margin in part.margins]
    edges = [edge for tree in part.vine.truncate(part.level).to_vinecop().get_trees() for edge in tree]
    edges = [edge for edge in edges if edge["pair_copula"].family.name != "indep"]
    edges.sort(key=lambda edge: -abs(edge["pair_copula"].tau))
    shown = {_describe_edge(edge, columns): edge["pair_copula"] for edge in edges[:most]}
    write_picture(draw_contours(shown, label=model.claim.label), path)


def _describe_edge(edge: dict[str, Any], columns: list[str]) -> str:
    first, second = (columns[label - 1] for label in edge["conditioned"])
    given = ", ".join(columns[label - 1] for label in edge["conditioning"][:3])
    more = ", ..." if len(edge["conditioning"]) > 3 else ""
    return f"{first}, {second}" + (f" | {given}{more}" if given else "") + f"\n{edge['pair_copula'].family.name}"


def tradeoff_point(name: str, utility: Any, risk: Any, *, group: str | None = None) -> TradeoffPoint:
    """Make a point from a utility and an attack's number.

    Args:
        name: The method, level or epsilon.
        utility: A number, or (value, low, high).
        risk: A number of an attack, a plain number, or (value, low, high).
        group: Points of a group are connected: the levels or epsilons of one method.
    """
    return TradeoffPoint(name=name, group=group or name, utility=_read_interval(utility), risk=_read_interval(risk))


def tradeoff(
    points: Iterable[TradeoffPoint],
    *,
    utility: str,
    risk: str,
    better_utility: str = "higher",
    better_risk: str = "lower",
    path: str | PathLike[str] | None = None,
) -> Tradeoff:
    """Plot releases by utility and by the risk that an attack measures; `.best` is the Pareto front.

    Args:
        points: From `tradeoff_point`.
        utility: Title of the utility.
        risk: Title of the risk.
        better_utility: "higher" or "lower".
        better_risk: "higher" (as for a privacy gain) or "lower" (as for a privacy score or MAB).
        path: A file to write, .svg or .png, readable by its owner only: it is computed from real rows.
    """
    for word in (better_utility, better_risk):
        if word not in ("higher", "lower"):
            raise UsageError(f"the better direction must be 'higher' or 'lower'; found {word!r}.")
    plot = Tradeoff(
        points=tuple(points), utility_title=utility, risk_title=risk, better_utility=better_utility,
        better_risk=better_risk,
    )  # fmt: skip
    if path is not None and not plot.points:
        raise UsageError("there is no point to plot.")
    if path is not None:
        write_picture(tradeoff_chart(plot), path, mode=0o600)
    return plot


def _read_interval(value: Any) -> Triple:
    attack = getattr(value, "attack", value)
    if hasattr(attack, "low"):
        attack = attack.value, attack.low, attack.high
    centre, low, high = attack if isinstance(attack, tuple | list) else (attack, attack, attack)
    return float(centre), float(low), float(high)


def scatter(
    synthetic: Any,
    schema: Schema | str | PathLike[str],
    path: str | PathLike[str],
    *,
    real: Any = None,
    columns: Sequence[str] | None = None,
    seed: int = 0,
    read: ReadOptions | None = None,
) -> None:
    """Draw a grid of scatter plots with histograms on its diagonal.

    Real rows, if given, are below the diagonal and synthetic ones above, and the file is for the custodian: its name
    must contain `.custodian.`, and only its owner can read it.

    Args:
        synthetic: The synthetic table.
        schema: Public facts about the columns, or the path of a schema file.
        path: Ends in .svg or .png.
        real: The real table.
        columns: At most 8 numeric columns; by default the first ones.
        seed: Fixes the subsample of large tables.
        read: How to read the tables: delimiter, encoding, null_values.
    """
    from sklar.lab.tables.reading import read_table
    from sklar.lab.tables.table import numeric_names

    require_scatter(path, real is not None)
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    known = numeric_names(facts)
    names = known[:MAX_SCATTER_COLUMNS] if columns is None else tuple(columns)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"'{unknown[0]}' is not a numeric column of the schema.")
    shown: dict[str, dict[str, Floats]] = {}
    for role, data, rng in zip(("synthetic", "real"), (synthetic, real), substreams(seed, 2), strict=True):
        if data is not None:
            numbers = read_table(data, facts, rng, role=role, read=read).numbers
            shown[role] = {name: numbers[name] for name in names}
    canvas = scatter_grid(shown["synthetic"], real=shown.get("real"))
    write_picture(canvas, path, mode=None if real is None else 0o600)


def require_scatter(path: str | PathLike[str], real: bool) -> None:
    """Reject a file name without a known ending, or without `.custodian.` for a chart of real rows."""
    (require_custodian_picture if real else require_picture)(path)


PICTURES: dict[str, Callable[[Model, str | PathLike[str]], object]] = {
    "trees": lambda model, path: model.plot(path),
    "levels": plot_levels,
    "pairs": plot_pairs,
    "scatter": lambda model, path: scatter(model.sample(SCATTER_ROWS, seed=0), model.schema, path),
}
