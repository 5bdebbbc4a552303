"""The result of a comparison: one row per cell, rankings by metric and epsilon, and their reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

from sklar import notebook
from sklar.errors import UsageError
from sklar.lab.compare.store import format_now
from sklar.lab.compare.systems import LEARNED, Cell, CompareSettings, System
from sklar.lab.intervals import corrected_resampled_t
from sklar.report.charts.canvas import require_picture, write_picture
from sklar.report.charts.plots import Tradeoff, TradeoffPoint, epsilon_chart
from sklar.report.page import write_page

if TYPE_CHECKING:
    import pyarrow as pa


RULE = (
    "Two systems are tied if the 95% interval of their paired differences over the folds (corrected resampled t, "
    "Nadeau and Bengio 2003) contains zero. A rank is one plus the number of systems that are significantly better. "
    "Many pairs are compared, so about one in twenty pairs without a true difference is still called different."
)
NOTICE = "For the custodian: computed from real rows, not private; nothing of it may be published."
ADVICE = (
    "Choosing a method or an epsilon by results on the private rows is not covered by the claim of the model that is "
    "released afterwards: the choice itself reveals something about the rows. Compare on a public table of the same "
    "kind, or on a stand-in, and fit the private table once. The fits made here were charged to no ledger."
)
COLUMNS = {
    "system": "string", "kind": "string", "promise": "string", "epsilon": "double", "delta": "double", "fold": "int64",
    "status": "string", "reason": "string", "notes": "string", "rows": "int64", "seconds": "double",
    "peak_bytes": "int64",
}  # fmt: skip
"""Columns of the table of all cells before the measures, and their Arrow types."""
TRAINED_ON_REAL = "(trained on real rows)"
"""The reference among the systems in measures of learners; no system can have such a name."""
Values = Mapping[int, float]
"""A metric of one system by fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The rank of a system in one metric at one epsilon.

    Attributes:
        mean: Mean over the successful folds; None if there is none.
        half: Half the width of its 95% interval; None with fewer than two folds.
        rank: One plus the number of significantly better systems; None for systems that are not ranked.
        first: Whether it is the best or tied with it.
    """

    system: str
    mean: float | None
    half: float | None
    folds: int
    rank: int | None
    first: bool


def estimate_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and half width of the corrected 95% interval; the width of one value is None."""
    found = corrected_resampled_t(values)
    return found.value, found.high - found.value if math.isfinite(found.high) else None


def _is_better(one: Values, two: Values, *, lower: bool) -> bool:
    common = sorted(set(one) & set(two))
    if len(common) < 2:
        return False
    mean, half = estimate_interval([one[fold] - two[fold] for fold in common])
    # Differences by rounding do not count.
    tolerance = (half or 0.0) + 1e-12 * max(abs(value) for fold in common for value in (one[fold], two[fold]))
    return (-mean if lower else mean) > tolerance


def rank_systems(found: Mapping[str, Values], *, lower: bool, ranked: frozenset[str]) -> list[Standing]:
    """Rank all systems in one metric at one epsilon: best mean first, missing values last.

    Systems outside `ranked` are shown for reference.
    """
    rivals = [values for name, values in found.items() if name in ranked]
    out: list[Standing] = []
    for name, values in found.items():
        mean, half = estimate_interval(list(values.values())) if values else (None, None)
        better = sum(_is_better(other, values, lower=lower) for other in rivals)
        rank = 1 + better if values and name in ranked else None
        out.append(Standing(system=name, mean=mean, half=half, folds=len(values), rank=rank, first=rank == 1))
    sign = 1.0 if lower else -1.0
    return sorted(out, key=lambda s: (s.mean is None, 0.0 if s.mean is None else sign * s.mean))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A cell and its result."""

    cell: Cell
    result: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Check whether there is a synthetic table."""
        return self.result.get("status") == "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMeasure:
    """A measure of the comparison: a metric, or a number of an attack."""

    name: str
    title: str
    says: str
    better: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The cost of one system, and the number of rankings in which it is first or tied.

    Attributes:
        firsts: Rankings in which it has rank 1.
        ranked: Rankings in which it has a rank.
        seconds: Mean time of fit and sample.
        peak: Peak memory in bytes, for peers only.
        failed: Cells without a table.
    """

    firsts: int
    ranked: int
    seconds: float | None
    peak: int | None
    failed: int
    cells: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Compared:
    """The results of a comparison. Computed from real rows without noise: not private.

    Attributes:
        rows: One for each cell, in the order of the plan.
        systems: The compared systems.
        epsilons: The budgets.
        settings: The settings shared by all cells.
        columns: Number of modelled columns of the table.
        real_rows: Number of rows of the table.
        folder: The folder of all results, if one was given.
    """

    rows: tuple[Row, ...]
    systems: tuple[System, ...]
    epsilons: tuple[float, ...]
    settings: CompareSettings
    columns: int
    real_rows: int
    folder: str | None
    notice: ClassVar[str] = NOTICE
    advice: ClassVar[str] = ADVICE

    @cached_property
    def measures(self) -> tuple[ComparedMeasure, ...]:
        """Return the measures: metrics, then the numbers of attacks."""
        from sklar.lab.metrics.registry import METRICS

        abouts = [METRICS[name].about for name in self.settings.metrics if name in METRICS]
        found = {a.name: ComparedMeasure(name=a.name, title=a.title, says=a.says, better=a.better) for a in abouts}
        for name in (name for name in self.settings.metrics if name in LEARNED):
            _, title, span, better = LEARNED[name]
            says = f"Mean over learners trained on synthetic rows and tested on held-out real rows; {span}."
            found[name] = ComparedMeasure(name=name, title=f"Learning: {title}", says=says, better=better)
        for row in self.rows:
            for name, facts in (row.result.get("attacks") or {}).items():
                found.setdefault(name, ComparedMeasure(name=name, **facts))
        return tuple(found.values())

    def __repr__(self) -> str:
        done = sum(row.ok for row in self.rows)
        return f"<sklar.Compared: {len(self.systems)} systems, {done} of {len(self.rows)} cells succeeded>"

    def _repr_html_(self) -> str:
        parts = [notebook.make_paragraph(NOTICE)]
        for epsilon in self.budgets:
            found = {m.name: {s.system: s for s in self.standings(epsilon, m)} for m in self.measures}
            names = list(dict.fromkeys(name for standing in found.values() for name in standing))
            rows = [(name, *(_format_standing(found[m].get(name)) for m in found)) for name in names]
            headings = ("system", *(f"{m.title} ({m.better} is better)" for m in self.measures))
            parts.append(notebook.make_paragraph("without a budget" if epsilon is None else f"epsilon {epsilon:g}"))
            parts.append(notebook.make_table(headings, rows))
        failed = [f"{row.cell.system.name}: {row.result.get('reason')}" for row in self.failures]
        return notebook.make_card(repr(self)[1:-1], *parts, notebook.make_bullets(failed))

    @property
    def failures(self) -> tuple[Row, ...]:
        """Return the cells without a table."""
        return tuple(row for row in self.rows if not row.ok)

    def arrow(self) -> pa.Table:
        """Return one row per cell as an Arrow table."""
        import pyarrow as pa

        extras = [name for row in self.rows for name in row.result.get("extras") or {}]
        kinds = {**COLUMNS, **dict.fromkeys([*(measure.name for measure in self.measures), *extras], "double")}
        schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in kinds.items()])
        return pa.Table.from_pylist([self._flatten(row) for row in self.rows], schema=schema)

    def frame(self) -> Any:
        """Return one row per cell as a pandas DataFrame, or as an Arrow table if pandas is not installed."""
        try:
            return self.arrow().to_pandas()
        except ImportError:
            return self.arrow()

    def standings(self, epsilon: float | None, measure: ComparedMeasure) -> list[Standing]:
        """Rank all systems in one measure at one epsilon; those without a budget are shown for reference."""
        shown = [s for s in self.systems if s.budgeted == (epsilon is not None) or not s.budgeted]
        ranked = frozenset(s.name for s in shown if s.kind != "disclosed" and s.budgeted == (epsilon is not None))
        found = {s.name: self.values(s, epsilon if s.budgeted else None, measure.name) for s in shown}
        found |= {TRAINED_ON_REAL: real} if (real := self.real_values(measure)) else {}
        return rank_systems(found, lower=measure.better == "lower", ranked=ranked)

    def values(self, system: System, epsilon: float | None, name: str) -> dict[int, float]:
        """Return a measure of a system at an epsilon, by fold."""
        return {
            row.cell.fold: float(row.result["metrics"][name])
            for row in self.rows
            if row.cell.system.name == system.name and row.cell.epsilon == epsilon
            and row.result["metrics"].get(name) is not None
        }  # fmt: skip

    def real_values(self, measure: ComparedMeasure) -> dict[int, float]:
        """Return the scores of learners trained on real rows, by fold; empty for other measures."""
        key = f"{measure.name}_real"
        known = {row.cell.fold: (row.result.get("extras") or {}).get(key) for row in self.rows}
        return {fold: float(value) for fold, value in known.items() if value is not None}

    @property
    def budgets(self) -> tuple[float | None, ...]:
        """Return the epsilons; (None,) if no system has a budget."""
        return self.epsilons if any(system.budgeted for system in self.systems) else (None,)

    def promise(self, system: System) -> str:
        """Return the promise of a system, or a peer's own statement."""
        found = [row.result.get("promise") for row in self.rows if row.cell.system.name == system.name and row.ok]
        return next((text for text in found if text), system.promise)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "notice": NOTICE, "advice": ADVICE, "folds": self.settings.folds, "rows": self.real_rows,
            "systems": {s.name: {"kind": s.kind, "promise": self.promise(s)} for s in self.systems},
            "standings": [
                {"epsilon": epsilon, "measure": m.name, "better": m.better, "system": s.system, "mean": s.mean,
                 "half_width": s.half, "folds": s.folds, "rank": s.rank}
                for epsilon in self.budgets for m in self.measures for s in self.standings(epsilon, m)
            ],
            "failures": [
                {"system": row.cell.system.name, "epsilon": row.cell.epsilon, "fold": row.cell.fold,
                 "reason": row.result.get("reason")}
                for row in self.failures
            ],
        }  # fmt: skip

    def html(self, path: str | PathLike[str]) -> None:
        """Write the report, readable by its owner only; the name must end in .custodian.html."""
        write_page(path, "compare.html", title="Methods compared", found=self, rule=RULE, made=format_now())

    def summary(self, system: System) -> Summary:
        """Summarize the cost and the ranks of a system."""
        rows = [row for row in self.rows if row.cell.system.name == system.name]
        seconds = [float(row.result["seconds"]) for row in rows if row.ok]
        peaks = [int(row.result["peak_bytes"]) for row in rows if row.ok and row.result.get("peak_bytes")]
        every = [s for e in self.budgets for m in self.measures for s in self.standings(e, m)]
        ranks = [standing.rank for standing in every if standing.system == system.name]
        return Summary(
            firsts=sum(rank == 1 for rank in ranks), ranked=sum(rank is not None for rank in ranks),
            seconds=fmean(seconds) if seconds else None, peak=max(peaks) if peaks else None,
            failed=sum(not row.ok for row in rows), cells=len(rows),
        )  # fmt: skip

    def lines(self, measure: ComparedMeasure) -> list[tuple[str, list[tuple[float | None, float, float | None]]]]:
        """Return for each system its points (epsilon, mean, half width); without a budget, epsilon is None."""
        found = [(system.name, list(self._list_points(system, measure))) for system in self.systems]
        real = list(self.real_values(measure).values())
        return [*found, (TRAINED_ON_REAL, [(None, *estimate_interval(real))])] if real else found

    def plot(self, path: str | PathLike[str], measure: str = "g_epsilon_plus") -> None:
        """Draw a measure of every system over epsilon (as figure 2 of Galloni et al. 2023), readable by its owner only.

        Args:
            path: Ends in .svg or .png.
            measure: A metric that was computed.
        """
        require_picture(path)
        known = {one.name: one for one in self.measures}
        if measure not in known:
            raise UsageError(f"'{measure}' was not measured; there are: {', '.join(known)}")
        title = f"{known[measure].title} ({known[measure].better} is better)"
        write_picture(epsilon_chart(title, self.lines(known[measure]), legend=True), path, mode=0o600)

    def _list_points(
        self, system: System, measure: ComparedMeasure
    ) -> Iterator[tuple[float | None, float, float | None]]:
        for epsilon in self.epsilons if system.budgeted else (None,):
            values = list(self.values(system, epsilon, measure.name).values())
            if values:
                yield epsilon, *estimate_interval(values)

    @cached_property
    def tradeoffs(self) -> dict[str, Tradeoff]:
        """Plot the first number of each attack against utility: learning if there is a target, else pairs."""
        measures = {measure.name: measure for measure in self.measures}
        useful = next(
            (n for n in ("learning", "tvd2", *measures) if n in self.settings.metrics and n in measures), None
        )
        if useful is None:
            return {}
        first = {name.partition(".")[0]: measures[name] for name in reversed(measures) if "." in name}
        return {
            kind: Tradeoff(
                points=self._list_tradeoff_points(measures[useful], risk), utility_title=measures[useful].title,
                risk_title=risk.title.partition(": ")[2] or risk.title, better_utility=measures[useful].better,
                better_risk=risk.better,
            )
            for kind, risk in sorted(first.items())
        }  # fmt: skip

    def _list_tradeoff_points(self, utility: ComparedMeasure, risk: ComparedMeasure) -> tuple[TradeoffPoint, ...]:
        out: list[TradeoffPoint] = []
        for system in self.systems:
            risks = {epsilon: _with_ends(mean, half) for epsilon, mean, half in self._list_points(system, risk)}
            for epsilon, mean, half in self._list_points(system, utility):
                if epsilon in risks:
                    name = system.name if epsilon is None else f"{system.name}, {epsilon:g}"
                    ends = _with_ends(mean, half)
                    out.append(TradeoffPoint(name=name, group=system.name, utility=ends, risk=risks[epsilon]))
        return tuple(out)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return doubts about tables that were used, and reasons for missing measures, each once."""
        doubts = {f"{row.cell.system.name}: {note}." for row in self.rows for note in row.result.get("notes") or ()}
        missing: dict[str, str] = {
            name: why for row in self.rows for name, why in (row.result.get("missing") or {}).items()
        }
        return (*sorted(doubts), *(f"Not measured for all: {name}, because {why}" for name, why in missing.items()))

    def _flatten(self, row: Row) -> dict[str, Any]:
        cell, result = row.cell, row.result
        return {
            "system": cell.system.name, "kind": cell.system.kind, "promise": result.get("promise", cell.system.promise),
            "epsilon": cell.epsilon, "delta": self.settings.delta if cell.system.budgeted else None, "fold": cell.fold,
            "status": result["status"], "reason": result.get("reason"), "notes": "; ".join(result.get("notes") or ()),
            "rows": result.get("rows"), "seconds": result.get("seconds"), "peak_bytes": result.get("peak_bytes"),
            **result["metrics"], **(result.get("extras") or {}),
        }  # fmt: skip


def _format_standing(standing: Standing | None) -> str:
    """Format mean, half width and rank for one cell of a table."""
    if standing is None or standing.mean is None:
        return "-"
    half = "" if standing.half is None else f" ± {standing.half:.2g}"
    return f"{standing.mean:.4g}{half}" + ("" if standing.rank is None else f", rank {standing.rank}")


def _with_ends(mean: float, half: float | None) -> tuple[float, float, float]:
    return mean, mean - (half or 0.0), mean + (half or 0.0)
