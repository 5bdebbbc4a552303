"""Compare methods and peers on one table: k folds, each system at each epsilon, chosen metrics and attacks."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from os import PathLike
from tempfile import TemporaryDirectory
from typing import Any

from sklar.arrays import usable_cores
from sklar.errors import BudgetError, UsageError
from sklar.given_numbers import whole_number
from sklar.lab.compare.peers import Limits
from sklar.lab.compare.pool import run_cells
from sklar.lab.compare.result import Compared, Row
from sklar.lab.compare.store import Store, format_now, modelled_schema, source_facts, table_hash, write_folds
from sklar.lab.compare.systems import (
    MAX_FOLDS,
    Cell,
    CompareSettings,
    System,
    plan_cells,
    read_epsilons,
    read_metrics,
    read_systems,
    require_attacks,
)
from sklar.lab.metrics.bench import read_settings
from sklar.lab.metrics.ranges import RangeWorkload
from sklar.lab.tables.reading import read_table
from sklar.notebook import duration_text, notebook_bar
from sklar.portable import HAS_PROCESS_GROUPS
from sklar.report.charts.canvas import write_picture
from sklar.report.charts.plots import tradeoff_chart
from sklar.sample.rng import seed_entropy, substream
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

Progress = Callable[[str, float], None]
REPORT = "compare.custodian.html"
PLOTTED_METRICS = {"g_epsilon", "g_epsilon_plus"}
"""The scores that rank generators over epsilon (Galloni et al. 2023); each gets its own chart."""
DEFAULT_PEER_SECONDS = 3600.0
"""Default time limit of a peer: a slow one needs more, and one that hangs takes this long for each cell."""
MAX_DEFAULT_JOBS = 4
"""Maximum default number of worker processes: each keeps the tables of a fold and its fit in memory."""


def compare(
    data: Any,
    schema: Schema | str | PathLike[str],
    methods: Sequence[str] | Mapping[str, Mapping[str, Any]] = ("vine", "independent"),
    epsilons: Sequence[float] | float = (1.0,),
    folds: int = 5,
    *,
    target: str | None = None,
    peers: Mapping[str, str] | None = None,
    metrics: Sequence[str] | None = None,
    attacks: Sequence[str] = (),
    learners: Sequence[str] | str | None = None,
    measures: Sequence[str] | None = None,
    weights: Sequence[float] = (1.0, 1.0, 1.0),
    targets: Sequence[str] | None = None,
    ranges: RangeWorkload | None = None,
    delta: float = 1e-9,
    rows: int | None = None,
    output: str | PathLike[str] | None = None,
    jobs: int | None = None,
    seed: int = 0,
    timeout: float | None = None,
    peer_timeout: float | None = DEFAULT_PEER_SECONDS,
    peer_memory: float | None = None,
    retry: bool = False,
    read: ReadOptions | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Compare methods and peers. Not private: results come from real rows without noise, and fits charge no ledger.

    Every system learns from all folds but one and is measured against its training rows; the fold left out is the test
    set of learners and the control of attacks. Choosing a method by results on private rows is not covered by any
    claim: compare on a public or stand-in table.

    Args:
        data: A table in any form that `fit` accepts.
        schema: Public facts about the columns, or the path of a schema file.
        methods: Names of methods; or your own names, as {"shallow": {"method": "vine", "option": value}}. Methods
            without a guarantee are run once (or at each epsilon if they have such an option) and labelled.
        epsilons: Budgets of each private method and of each peer that takes one.
        folds: Number of folds.
        target: A column that users will predict; it is passed to methods that can use it.
        peers: External commands by name, as {"mst": "python run.py"}; they receive the paths of train.parquet and
            schema.toml, epsilon, delta, rows and the path of the table to write, at {train} {schema} {epsilon} {delta}
            {rows} {output}, or in this order at the end.
        metrics: Names of metrics, or of measures of learners (mcc, auc, f1, accuracy; rmse, r2), or ["all"]; by default
            the quick metrics, and with a target learning and mcc or rmse.
        attacks: Names of attacks.
        learners: Names of learners, or "all", of `learning` and G_eps+; by default boosting, linear and tree for the
            first, and svc, linear and tree for the second.
        measures: Measures that G_eps+ compares, any of accuracy, f1, auc, mcc and r2; by default all but mcc.
        weights: alpha, beta and gamma of G_eps+.
        targets: Columns that G_eps+ predicts; by default the target, or all columns without one.
        ranges: The range queries over all columns: their number, sanity bound and size.
        delta: Delta of every budget.
        rows: Number of synthetic rows; by default the number of training rows.
        output: A folder for all results; an interrupted comparison continues from it. Without it nothing is kept.
        jobs: Worker processes; by default one per core, at most four.
        seed: Fixes folds, samples and subsamples; the noise of private fits is always fresh.
        timeout: Time limit of a cell in seconds, including its metrics.
        peer_timeout: Time limit of a peer in seconds.
        peer_memory: Memory limit of a peer in gigabytes.
        retry: Repeat failed cells.
        read: How to read the table: delimiter, encoding, null_values, sql.
        progress: Called with the last finished step, the remaining time, and the fraction completed.
    """
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    if not HAS_PROCESS_GROUPS:
        raise UsageError("comparisons run on Linux and macOS; on Windows, use the Windows Subsystem for Linux (WSL)")
    wanted = read_settings(
        facts, target, learners=learners, measures=measures, weights=weights, targets=targets, ranges=ranges
    )
    systems, budgets = read_systems(methods, peers or {}, target, facts), read_epsilons(epsilons)
    _require_budgets(systems, budgets, delta, facts)
    folds, seed = whole_number(folds, "folds", 2, MAX_FOLDS), seed_entropy(seed)
    chosen, attacked = read_metrics(metrics, target, facts), require_attacks(attacks)
    jobs = whole_number(min(MAX_DEFAULT_JOBS, usable_cores()) if jobs is None else jobs, "jobs", 1, 64)
    memory = _require_positive(peer_memory, "peer_memory")
    limits = Limits(
        seconds=_require_positive(peer_timeout, "peer_timeout"), memory=None if memory is None else int(memory * 1e9)
    )
    if rows is not None:
        whole_number(rows, "rows", 1)
    report = progress or notebook_bar("comparing") or (lambda what, fraction: None)
    report("reading the table", 0.0)
    # A very large table is subsampled, always in the same way.
    table = read_table(data, facts, substream(seed, 0), role="real", read=replace(read or ReadOptions(), progress=None))
    plain = modelled_schema(facts)
    settings = CompareSettings(
        schema=plain.fingerprint, table=table_hash(table), folds=folds, seed=seed, delta=float(delta), rows=rows,
        metrics=chosen, attacks=attacked, wanted=wanted,
    )  # fmt: skip
    # Without an output folder, everything is removed afterwards.
    home = TemporaryDirectory(prefix="sklar-compare-", ignore_cleanup_errors=True) if output is None else None
    with home or nullcontext(output or "") as folder, Store(folder).opened() as store:
        store.begin(settings.table, plain, source_facts(data))
        write_folds(store, table, plain, settings.table, folds, seed)
        cells = plan_cells(systems, budgets, folds)
        seconds = _require_positive(timeout, "timeout")
        run = _Run(store=store, settings=settings, limits=limits, timeout=seconds, report=report, jobs=jobs)
        found = run.results(cells, retry)
        compared = Compared(
            rows=tuple(Row(cell=cell, result=found[cell.key(settings)]) for cell in cells), systems=systems,
            epsilons=budgets, settings=settings, columns=len(plain.modelled), real_rows=table.total,
            folder=None if output is None else str(store.folder),
        )  # fmt: skip
        if output is not None:
            write_results(compared, store)
    return compared


def write_results(compared: Compared, store: Store) -> None:
    """Write the table of all cells, the report, and charts of G_eps+ over epsilon and of attacks by utility."""
    import pyarrow.csv

    table, text = compared.arrow(), io.BytesIO()
    store.write_parquet("results.parquet", table)
    pyarrow.csv.write_csv(table, text)
    store.write("results.csv", text.getvalue())
    compared.html(store.folder / REPORT)
    for name in PLOTTED_METRICS & set(compared.settings.metrics):
        compared.plot(store.folder / f"{name}.svg", name)
    for kind, plot in compared.tradeoffs.items():
        write_picture(tradeoff_chart(plot), store.folder / f"tradeoff-{kind}.svg", mode=0o600)


@dataclass(slots=True, kw_only=True)
class _Run:
    """Computes missing cells, saves every result at once, and reports progress."""

    store: Store
    settings: CompareSettings
    limits: Limits
    timeout: float | None
    report: Progress
    jobs: int
    spent: dict[str, list[float]] = field(default_factory=dict)

    def results(self, cells: Sequence[Cell], retry: bool) -> dict[str, dict[str, Any]]:
        """Compute the missing cells and return all results by key."""
        plan = {cell.key(self.settings): cell for cell in cells}
        found: dict[str, dict[str, Any]] = {}
        for key, cell in plan.items():
            known = self.store.cell(key)
            if known is not None and not self._should_repeat(known, cell, retry):
                found[key] = known
                self._record_time(cell, known)
        missing = {key: cell for key, cell in plan.items() if key not in found}
        self._report_progress("starting", len(plan), missing.values())
        clock, jobs = time.monotonic(), min(self.jobs, len(missing) or 1)
        results = run_cells(
            list(missing.values()), self.store, self.settings, self.limits, jobs=jobs, timeout=self.timeout
        )
        for cell, result in results:
            key = cell.key(self.settings)
            limit = {"time": self._get_time_limit(cell), "memory": self.limits.memory}.get(result.get("stopped") or "")
            found[key] = {
                "system": cell.system.name, "epsilon": cell.epsilon, "fold": cell.fold, **result, "limit": limit,
                "wall_seconds": time.monotonic() - clock, "finished": format_now(),
            }  # fmt: skip
            self.store.write_cell(key, found[key])
            self._record_time(cell, found[key])
            del missing[key]
            self._report_progress(cell.label, len(plan), missing.values())
        return found

    def _get_time_limit(self, cell: Cell) -> float | None:
        given = [self.timeout, self.limits.seconds if cell.system.kind == "peer" else None]
        return min((limit for limit in given if limit is not None), default=None)

    def _should_repeat(self, known: Mapping[str, Any], cell: Cell, retry: bool) -> bool:
        """Check whether to repeat a failed cell: on request, or if the limit that stopped it was raised."""
        if known.get("status") == "ok":
            return False
        allowed = self._get_time_limit(cell) if known.get("stopped") == "time" else self.limits.memory
        met = known.get("stopped") and known.get("limit") is not None
        return retry or bool(met and (allowed is None or allowed > known["limit"]))

    def _record_time(self, cell: Cell, result: Mapping[str, Any]) -> None:
        seconds = (result.get("seconds") or 0.0) + (result.get("score_seconds") or 0.0)
        self.spent.setdefault(cell.system.name, []).append(seconds or result.get("limit") or 0.0)

    def _report_progress(self, what: str, cells: int, missing: Collection[Cell]) -> None:
        done = cells - len(missing)
        self.report(f"{what}, {done} of {cells}{self._remaining_time(missing)}", done / cells)

    def _remaining_time(self, missing: Collection[Cell]) -> str:
        """Estimate the remaining time from the mean time of each system so far."""
        means = {name: sum(times) / len(times) for name, times in self.spent.items()}
        if not means or not missing:
            return ""
        usual = sum(means.values()) / len(means)
        seconds = sum(means.get(cell.system.name, usual) for cell in missing) / self.jobs
        return f", about {duration_text(seconds)} left"


def _require_budgets(systems: Sequence[System], epsilons: Sequence[float], delta: float, schema: Schema) -> None:
    from sklar.accounting.budget import Budget
    from sklar.methods.registry import METHODS

    if any(system.budgeted for system in systems) and not epsilons:
        raise UsageError("give at least one epsilon: these systems need a budget")
    for epsilon in epsilons:
        Budget(epsilon=epsilon, delta=delta)
    private = [METHODS[system.method] for system in systems if system.kind == "private"]
    if private:
        schema.require_confirmed()
    for method in private:
        if not delta and method.needs_delta:
            raise BudgetError(f"method '{method.name}' needs a delta above 0, such as 1e-9")


def _require_positive(value: float | None, what: str) -> float | None:
    if value is not None and (isinstance(value, bool) or not math.isfinite(value) or value <= 0):
        raise UsageError(f"{what} must be a number above 0; found {value!r}")
    return None if value is None else float(value)
