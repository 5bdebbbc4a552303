"""One cell of a comparison: make a synthetic table of a fold, and measure it. Runs in a worker process."""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.errors import PeerError, SklarError
from sklar.lab.compare.peers import Limits, peer_facts, run_peer
from sklar.lab.compare.store import SCHEMA, Store, fold_files
from sklar.lab.compare.systems import Cell, CompareSettings
from sklar.sample.rng import named_streams, substream
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.lab.tables.table import ExactTable

MIN_SHARE_OF_ROWS = 0.9
"""A peer must write at least this share of the requested rows."""
Result = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Synthesis:
    """A synthetic table, and facts about how it was made."""

    table: ExactTable
    seconds: float
    promise: str
    peak: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class FoldTables:
    """The tables of the current fold, read once for all systems."""

    store: Store
    schema: Schema
    settings: CompareSettings
    limits: Limits
    began: Callable[[int], None]
    fold: int = -1
    train: ExactTable | None = None
    holdout: ExactTable | None = None

    def files(self, fold: int) -> tuple[Path, Path]:
        """Return the files of a fold: training and held-out rows."""
        return fold_files(self.store, self.settings.table, self.settings.folds, self.settings.seed, fold)

    def tables(self, fold: int) -> tuple[ExactTable, ExactTable]:
        """Return training and held-out rows."""
        if fold != self.fold or self.train is None or self.holdout is None:
            self.train, self.holdout = (_read(path, self.schema, "real") for path in self.files(fold))
            self.fold = fold
        return self.train, self.holdout


def run_cell(bank: FoldTables, cell: Cell) -> Result:
    """Return the metrics of a cell, or a plain reason why there are none. Raises nothing but an interrupt."""
    try:
        train, holdout = bank.tables(cell.fold)
        rows = bank.settings.rows or train.rows
        made = _run_peer(bank, cell, rows) if cell.system.kind == "peer" else _run_method(bank, cell, rows)
        return _measure(bank, cell, made, train, holdout)
    except SklarError as error:
        return failed_result(str(error), stopped=getattr(error, "stopped", None))
    except MemoryError:
        return failed_result("there was not enough memory")
    except Exception as error:
        # The text of a library's error could quote a cell.
        return failed_result(f"an unexpected error occurred ({type(error).__name__})")


def failed_result(reason: str, stopped: str | None = None) -> Result:
    """Return the result of a cell without a table."""
    return {"status": "failed", "reason": reason, "stopped": stopped, "metrics": {}}


def _run_method(bank: FoldTables, cell: Cell, rows: int) -> Synthesis:
    import pyarrow.parquet as pq

    from sklar.pipeline.fit.run import fit

    system, settings = cell.system, bank.settings
    given: dict[str, Any] = dict(system.options or {})
    given |= {"target": settings.target} if system.target else {}
    given |= {"delta": settings.delta} if system.kind == "private" else {"no_guarantee": True}
    data = pq.read_table(bank.files(cell.fold)[0])  # an Arrow table, because a fit on it needs no ledger
    clock = time.monotonic()
    model = fit(data, bank.schema, method=system.method, epsilon=cell.epsilon, **given)
    sample = model.sample(rows, seed=_sample_seed(settings, cell))
    seconds = time.monotonic() - clock
    return Synthesis(table=_read(sample, bank.schema, "synthetic"), seconds=seconds, promise=system.promise)


def _run_peer(bank: FoldTables, cell: Cell, rows: int) -> Synthesis:
    from sklar.lab.tables.table import lost_columns

    home, settings = bank.store.folder, bank.settings
    with TemporaryDirectory(prefix=f"{cell.label}-", dir=home / "work", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        # Copies, so that changes by a peer do not affect other cells.
        shutil.copyfile(bank.files(cell.fold)[0], folder / "train.parquet")
        shutil.copyfile(home / SCHEMA, folder / SCHEMA)
        facts = peer_facts(folder / "train.parquet", folder / SCHEMA, rows, cell.epsilon, settings.delta)
        log = home / "logs" / f"{cell.label}.log"
        ended = run_peer(cell.system.command, facts, folder, log, bank.limits, bank.began)
        table = _read_peer_table(ended.output, bank, rows, cell)
        promise = cell.system.promise if ended.promise is None else f"its own statement: {ended.promise}"
        note = "nearly all values of column '{}' are null or not listed in the schema"
        notes = tuple(note.format(name) for name in lost_columns(table, bank.tables(cell.fold)[0]))
        return Synthesis(table=table, seconds=ended.seconds, promise=promise, peak=ended.peak, notes=notes)


def _read_peer_table(path: Any, bank: FoldTables, rows: int, cell: Cell) -> ExactTable:
    try:
        table = _read(path, bank.schema, "synthetic")
    except SklarError as error:
        raise PeerError(f"its table cannot be used: {error}") from None
    except Exception as error:
        raise PeerError(f"its table cannot be read ({type(error).__name__})") from None
    if table.total < MIN_SHARE_OF_ROWS * rows:
        raise PeerError(f"it wrote {table.total:,} rows instead of {rows:,}")
    return table.sample(rows, substream(_sample_seed(bank.settings, cell), 1))


def _measure(bank: FoldTables, cell: Cell, made: Synthesis, train: ExactTable, holdout: ExactTable) -> Result:
    from sklar.lab.metrics.bench import make_bench
    from sklar.lab.metrics.registry import METRICS, measure

    settings, clock = bank.settings, time.monotonic()
    # All systems of a fold share random streams, so that they are compared on the same subsamples.
    stream = named_streams(settings.seed, 1000 * cell.fold)
    names = tuple(dict.fromkeys(name if name in METRICS else "learning" for name in settings.metrics))
    scores = measure(make_bench(train, made.table, holdout, settings.wanted, stream, floors=False), names)
    # The scores of learners, in addition to their loss.
    learning = scores.get("learning")
    learned: Mapping[str, float] = {} if learning is None or learning.value is None else learning.behind.means
    known = {**learned, **{name: score.value for name, score in scores.items()}}
    values = {name: _finite_or_none(known.get(name)) for name in settings.metrics}
    risks, attacked, skipped = _attack(settings, cell, made, train, holdout)
    return {
        "status": "ok", "reason": None, "stopped": None, "promise": made.promise, "notes": list(made.notes),
        "rows": made.table.rows, "seconds": made.seconds, "score_seconds": time.monotonic() - clock,
        "peak_bytes": made.peak, "attacks": attacked, "metrics": {**values, **risks},
        "extras": {name: _finite_or_none(value) for name, value in learned.items() if name not in values},
        "missing": {**{name: score.reason for name, score in scores.items() if score.value is None}, **skipped},
    }  # fmt: skip


def _attack(
    settings: CompareSettings, cell: Cell, made: Synthesis, train: ExactTable, holdout: ExactTable
) -> tuple[dict[str, float | None], dict[str, dict[str, str]], dict[str, str]]:
    """Run the attacks; return values and descriptions by `attack.number`, and reasons for missing attacks."""
    from sklar.lab.attacks.release import TABLE_ATTACKS
    from sklar.lab.attacks.result import Attacked

    # All systems of a fold have the same targets.
    tables = Attacked(real=train, synthetic=made.table, holdout=holdout, rng=substream(settings.seed, cell.fold))
    values: dict[str, float | None] = {}
    facts: dict[str, dict[str, str]] = {}
    missing: dict[str, str] = {}
    for kind in settings.attacks:
        try:
            result = TABLE_ATTACKS[kind](tables)
        except SklarError as error:
            missing[kind] = str(error)
            continue
        for number in result.numbers:
            name, better = f"{kind}.{number.name}", "lower" if number.worse == "higher" else "higher"
            values[name] = _finite_or_none(number.attack.value)
            facts[name] = {"title": f"{result.title}: {number.title}", "says": number.says, "better": better}
    return values, facts, missing


def _read(data: Any, schema: Schema, role: str) -> ExactTable:
    from sklar.lab.tables.reading import read_table

    return read_table(data, schema, substream(0, 0), role=role)


def _sample_seed(settings: CompareSettings, cell: Cell) -> int:
    return zlib.crc32(f"{settings.seed} {cell.label}".encode())


def _finite_or_none(value: float | None) -> float | None:
    """Replace NaN and infinity, which JSON does not have, by None."""
    return None if value is None or not np.isfinite(value) else float(value)
