"""What a comparison found: one row a cell, standings by metric and epsilon, and how both are written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from statistics import fmean
from typing import TYPE_CHECKING, Any

from sklar.lab.compare.store import now
from sklar.lab.compare.systems import Cell, CompareSettings, System
from sklar.lab.intervals import corrected_resampled_t
from sklar.report.charts.plots import Tradeoff, TradeoffPoint
from sklar.report.page import write_page

if TYPE_CHECKING:
    import pyarrow as pa


RULE = (
    "Two systems are tied if the 95% interval of their paired differences over the folds (corrected resampled t, "
    "Nadeau and Bengio 2003) holds zero. A rank is one plus the number of systems that are better beyond a tie. "
    "Many pairs are looked at, so about one in twenty differences without substance is still called one."
)
Values = Mapping[int, float]
"""A metric of one system by fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a system stands in one metric at one epsilon.

    Attributes:
        system: The system.
        mean: Mean over the folds that ended well; None if there is none.
        half: Half the width of its 95% interval; None with fewer than two folds.
        folds: Folds that ended well.
        rank: One plus the number of systems that are better beyond a tie; None for those that are not ranked.
        first: Whether it is tied with, or is, the best.
    """

    system: str
    mean: float | None
    half: float | None
    folds: int
    rank: int | None
    first: bool


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and half width of the corrected 95% interval; no width of one value."""
    found = corrected_resampled_t(values)
    return found.value, found.high - found.value if math.isfinite(found.high) else None


def tied(one: Values, two: Values) -> bool:
    """Whether nothing tells two systems apart: too few common folds count as a tie."""
    return not _beats(one, two, lower=True) and not _beats(one, two, lower=False)


def _beats(one: Values, two: Values, *, lower: bool) -> bool:
    common = sorted(set(one) & set(two))
    if len(common) < 2:
        return False
    mean, half = interval([one[fold] - two[fold] for fold in common])
    # The last digits of a float are not a difference.
    slack = (half or 0.0) + 1e-12 * max(abs(value) for fold in common for value in (one[fold], two[fold]))
    return (-mean if lower else mean) > slack


def standings(found: Mapping[str, Values], *, lower: bool, ranked: frozenset[str]) -> list[Standing]:
    """All systems in one metric at one epsilon, best mean first, those without a number last.

    Args:
        found: The metric by system and fold.
        lower: Whether lower is better.
        ranked: Systems that are ranked; the others are shown for reference.
    """
    present = {name: values for name, values in found.items() if values}
    ranks = {name: 1 + _better(name, present, lower, ranked) for name in present if name in ranked}
    out: list[Standing] = []
    for name, values in found.items():
        mean, half = interval(list(values.values())) if values else (None, None)
        rank = ranks.get(name)
        out.append(Standing(system=name, mean=mean, half=half, folds=len(values), rank=rank, first=rank == 1))
    sign = 1.0 if lower else -1.0
    return sorted(out, key=lambda s: (s.mean is None, 0.0 if s.mean is None else sign * s.mean))


def _better(name: str, found: Mapping[str, Values], lower: bool, ranked: frozenset[str]) -> int:
    return sum(_beats(values, found[name], lower=lower) for other, values in found.items() if other in ranked)


NOTICE = "For the custodian: computed from real rows, not private; nothing of it may be published."
ADVICE = (
    "Choosing a method or an epsilon after looking at results on the private rows is not covered by the claim of the "
    "model that is released afterwards: the choice itself tells something about the rows. Compare on a public table of "
    "the same kind, or on a stand-in, and fit the private table once. The fits made here were charged to no ledger."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A cell and its result."""

    cell: Cell
    result: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Whether there is a table."""
        return self.result.get("status") == "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A column of numbers: a metric, or a number of an attack."""

    name: str
    title: str
    says: str
    better: str

    @property
    def lower(self) -> bool:
        """Whether lower is better."""
        return self.better == "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What one system took, and in how many rankings it is first or tied.

    Attributes:
        firsts: Rankings in which it has rank 1.
        ranked: Rankings in which it has a rank.
        seconds: Mean of fit and sample.
        peak: Bytes of memory, of peers only.
        failed: Cells without a table.
        cells: All its cells.
    """

    firsts: int
    ranked: int
    seconds: float | None
    peak: int | None
    failed: int
    cells: int


class Compared:
    """The results of a comparison. Computed from real rows without noise: not private.

    Attributes:
        rows: One for each cell, in the order of the plan.
        systems: What was compared.
        epsilons: At which budgets.
        measures: What was measured.
        settings: What all cells have in common.
        real_rows: Rows of the table.
        folder: Where everything is kept, if a folder was named.
    """

    notice = NOTICE
    advice = ADVICE

    def __init__(
        self,
        rows: Sequence[Row],
        systems: Sequence[System],
        epsilons: Sequence[float],
        settings: CompareSettings,
        *,
        columns: int,
        real_rows: int,
        folder: str | None,
    ):
        self.rows, self.systems, self.epsilons = tuple(rows), tuple(systems), tuple(epsilons)
        self.settings, self.columns, self.real_rows, self.folder = settings, columns, real_rows, folder
        self.measures = _measures(self.rows, settings)

    def __repr__(self) -> str:
        done = sum(row.ok for row in self.rows)
        return f"<sklar.Compared: {len(self.systems)} systems, {done} of {len(self.rows)} cells ended well>"

    @property
    def failures(self) -> tuple[Row, ...]:
        """Cells without a table."""
        return tuple(row for row in self.rows if not row.ok)

    def arrow(self) -> pa.Table:
        """One row a cell, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist([self._plain(row) for row in self.rows], schema=self._arrow_schema())

    def frame(self) -> Any:
        """One row a cell: a pandas DataFrame, or an Arrow table where pandas is not installed."""
        try:
            return self.arrow().to_pandas()
        except ImportError:
            return self.arrow()

    def standings(self, epsilon: float | None, measure: Measure) -> list[Standing]:
        """All systems in one measure at one epsilon; those without a budget are shown for reference."""
        shown = [s for s in self.systems if s.budgeted == (epsilon is not None) or not s.budgeted]
        ranked = frozenset(s.name for s in shown if s.kind != "disclosed" and s.budgeted == (epsilon is not None))
        found = {s.name: self.values(s, epsilon if s.budgeted else None, measure.name) for s in shown}
        return standings(found, lower=measure.lower, ranked=ranked)

    def values(self, system: System, epsilon: float | None, name: str) -> dict[int, float]:
        """A measure of a system at an epsilon, by fold."""
        return {
            row.cell.fold: float(row.result["metrics"][name])
            for row in self.rows
            if row.cell.system.name == system.name and row.cell.epsilon == epsilon
            and row.result["metrics"].get(name) is not None
        }  # fmt: skip

    @property
    def budgets(self) -> tuple[float | None, ...]:
        """The epsilons; None alone if nothing has a budget."""
        return self.epsilons if any(system.budgeted for system in self.systems) else (None,)

    def promise(self, system: System) -> str:
        """What a system promises, or says of itself."""
        said = [row.result.get("promise") for row in self.rows if row.cell.system.name == system.name and row.ok]
        return next((text for text in said if text), system.promise)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
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
        write_page(path, "compare.html", found=self, rule=RULE, made=now())

    def summary(self, system: System) -> Summary:
        """What a system took, and how often it is first."""
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

    def lines(self, measure: Measure) -> list[tuple[str, list[tuple[float | None, float, float | None]]]]:
        """Each system over epsilon: (epsilon, mean, half width); one without a budget has a point without epsilon."""
        return [(system.name, list(self._points(system, measure))) for system in self.systems]

    def _points(self, system: System, measure: Measure) -> Iterator[tuple[float | None, float, float | None]]:
        for epsilon in self.epsilons if system.budgeted else (None,):
            values = list(self.values(system, epsilon, measure.name).values())
            if values:
                yield epsilon, *interval(values)

    @cached_property
    def tradeoffs(self) -> dict[str, Tradeoff]:
        """By attack, its first number against what users care most about: learning if there is a target, else pairs."""
        measures = {measure.name: measure for measure in self.measures}
        useful = next(
            (n for n in ("learning", "tvd2", *measures) if n in self.settings.metrics and n in measures), None
        )
        if useful is None:
            return {}
        first = {name.partition(".")[0]: measures[name] for name in reversed(measures) if "." in name}
        return {
            kind: Tradeoff(
                points=self._releases(measures[useful], risk), utility_title=measures[useful].title,
                risk_title=risk.title.partition(": ")[2] or risk.title, better_utility=measures[useful].better,
                better_risk=risk.better,
            )
            for kind, risk in sorted(first.items())
        }  # fmt: skip

    def _releases(self, utility: Measure, risk: Measure) -> tuple[TradeoffPoint, ...]:
        out: list[TradeoffPoint] = []
        for system in self.systems:
            risks = {epsilon: _ends(mean, half) for epsilon, mean, half in self._points(system, risk)}
            for epsilon, mean, half in self._points(system, utility):
                if epsilon in risks:
                    name = system.name if epsilon is None else f"{system.name}, {epsilon:g}"
                    ends = _ends(mean, half)
                    out.append(TradeoffPoint(name=name, group=system.name, utility=ends, risk=risks[epsilon]))
        return tuple(out)

    @property
    def notes(self) -> tuple[str, ...]:
        """What seems wrong with tables that were used all the same, and what could not be measured; each once."""
        said = {f"{row.cell.system.name}: {note}." for row in self.rows for note in row.result.get("notes") or ()}
        missing: dict[str, str] = {
            name: why for row in self.rows for name, why in (row.result.get("missing") or {}).items()
        }
        return (*sorted(said), *(f"Not measured for all: {name}, because {why}" for name, why in missing.items()))

    def _plain(self, row: Row) -> dict[str, Any]:
        cell, result = row.cell, row.result
        extras: Mapping[str, Any] = result.get("extras") or {}
        return {
            "system": cell.system.name, "kind": cell.system.kind, "promise": result.get("promise", cell.system.promise),
            "epsilon": cell.epsilon, "delta": self.settings.delta if cell.system.budgeted else None, "fold": cell.fold,
            "status": result["status"], "reason": result.get("reason"), "notes": "; ".join(result.get("notes") or ()),
            "rows": result.get("rows"), "seconds": result.get("seconds"), "peak_bytes": result.get("peak_bytes"),
            **result["metrics"], **extras,
        }  # fmt: skip

    def _arrow_schema(self) -> pa.Schema:
        import pyarrow as pa

        texts = ("system", "kind", "promise", "status", "reason", "notes")
        whole = ("fold", "rows", "peak_bytes")
        order = (
            "system", "kind", "promise", "epsilon", "delta", "fold", "status", "reason", "notes", "rows", "seconds",
            "peak_bytes",
        )  # fmt: skip
        extras = dict.fromkeys(name for row in self.rows for name in row.result.get("extras") or {})
        numbers = [*(measure.name for measure in self.measures), *extras]
        kinds = {**dict.fromkeys(texts, pa.string()), **dict.fromkeys(whole, pa.int64())}
        return pa.schema([(name, kinds.get(name, pa.float64())) for name in (*order, *numbers)])


def _ends(mean: float, half: float | None) -> tuple[float, float, float]:
    return mean, mean - (half or 0.0), mean + (half or 0.0)


def _measures(rows: Sequence[Row], settings: CompareSettings) -> tuple[Measure, ...]:
    from sklar.lab.metrics.registry import METRICS

    chosen = {name: METRICS[name].about for name in settings.metrics}
    out = [Measure(name=name, title=a.title, says=a.says, better=a.better) for name, a in chosen.items()]
    known = {measure.name for measure in out}
    for row in rows:
        for name, facts in (row.result.get("attacks") or {}).items():
            if name not in known:
                known.add(name)
                out.append(Measure(name=name, title=facts["title"], says=facts["says"], better=facts["better"]))
    return tuple(out)
