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

ENOUGH = 0.9
"""A peer must write at least this share of the rows that it was asked for."""
Result = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Made:
    """A synthetic table, and what is to be told about how it was made."""

    table: ExactTable
    seconds: float
    promise: str
    peak: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Bank:
    """Tables of the fold at hand, read once for all systems."""

    store: Store
    schema: Schema
    settings: CompareSettings
    limits: Limits
    began: Callable[[int], None]
    fold: int = -1
    train: ExactTable | None = None
    holdout: ExactTable | None = None

    def files(self, fold: int) -> tuple[Path, Path]:
        """The files of a fold: training and held-out rows."""
        return fold_files(self.store, self.settings.table, self.settings.folds, self.settings.seed, fold)

    def tables(self, fold: int) -> tuple[ExactTable, ExactTable]:
        """Training and held-out rows."""
        if fold != self.fold or self.train is None or self.holdout is None:
            self.train, self.holdout = (_read(path, self.schema, "real") for path in self.files(fold))
            self.fold = fold
        return self.train, self.holdout


def run_cell(bank: Bank, cell: Cell) -> Result:
    """What came out: metrics, or a plain reason why there are none. Never raises, but for an interrupt."""
    try:
        train, holdout = bank.tables(cell.fold)
        rows = bank.settings.rows or train.rows
        made = _by_peer(bank, cell, rows) if cell.system.kind == "peer" else _by_method(bank, cell, rows)
        return _scored(bank, cell, made, train, holdout)
    except SklarError as error:
        return failed(str(error), stopped=getattr(error, "stopped", None))
    except MemoryError:
        return failed("there was not enough memory")
    except Exception as error:
        # The text of a library's error could quote a cell.
        return failed(f"something unexpected went wrong ({type(error).__name__})")


def failed(reason: str, stopped: str | None = None) -> Result:
    """The result of a cell without a table."""
    return {"status": "failed", "reason": reason, "stopped": stopped, "metrics": {}}


def _by_method(bank: Bank, cell: Cell, rows: int) -> Made:
    import pyarrow.parquet as pq

    from sklar.pipeline.fit.run import fit

    system, settings = cell.system, bank.settings
    given: dict[str, Any] = dict(system.options or {})
    given |= {"target": settings.target} if system.target else {}
    given |= {"delta": settings.delta} if system.kind == "private" else {"no_guarantee": True}
    data = pq.read_table(bank.files(cell.fold)[0])  # as an Arrow table: a fit on it has no ledger beyond itself
    clock = time.monotonic()
    model = fit(data, bank.schema, method=system.method, epsilon=cell.epsilon, **given)
    sample = model.sample(rows, seed=_sample_seed(settings, cell))
    seconds = time.monotonic() - clock
    return Made(table=_read(sample, bank.schema, "synthetic"), seconds=seconds, promise=system.promise)


def _by_peer(bank: Bank, cell: Cell, rows: int) -> Made:
    from sklar.lab.tables.table import lost_columns

    home, settings = bank.store.folder, bank.settings
    with TemporaryDirectory(prefix=f"{cell.label}-", dir=home / "work", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        # Copies: what a peer does to its files must not reach the other cells.
        shutil.copyfile(bank.files(cell.fold)[0], folder / "train.parquet")
        shutil.copyfile(home / SCHEMA, folder / SCHEMA)
        told = peer_facts(folder / "train.parquet", folder / SCHEMA, rows, cell.epsilon, settings.delta)
        log = home / "logs" / f"{cell.label}.log"
        ended = run_peer(cell.system.command, told, folder, log, bank.limits, bank.began)
        table = _peer_table(ended.output, bank, rows, cell)
        promise = cell.system.promise if ended.promise is None else f"says of itself: {ended.promise}"
        doubt = "nearly all values of column '{}' are null or not listed in the schema"
        notes = tuple(doubt.format(name) for name in lost_columns(table, bank.tables(cell.fold)[0]))
        return Made(table=table, seconds=ended.seconds, promise=promise, peak=ended.peak, notes=notes)


def _peer_table(path: Any, bank: Bank, rows: int, cell: Cell) -> ExactTable:
    try:
        table = _read(path, bank.schema, "synthetic")
    except SklarError as error:
        raise PeerError(f"its table cannot be used: {error}") from None
    except Exception as error:
        raise PeerError(f"its table cannot be read ({type(error).__name__})") from None
    if table.total < ENOUGH * rows:
        raise PeerError(f"it wrote {table.total:,} rows where {rows:,} were asked for")
    return table.sample(rows, substream(_sample_seed(bank.settings, cell), 1))


def _scored(bank: Bank, cell: Cell, made: Made, train: ExactTable, holdout: ExactTable) -> Result:
    from sklar.lab.metrics.bench import make_bench
    from sklar.lab.metrics.registry import METRICS, measure

    settings, clock = bank.settings, time.monotonic()
    # The same streams for all systems of a fold, so that they are compared on the same subsamples.
    stream = named_streams(settings.seed, 1000 * cell.fold)
    names = tuple(dict.fromkeys(name if name in METRICS else "learning" for name in settings.metrics))
    scores = measure(make_bench(train, made.table, holdout, settings.wanted, stream, floors=False), names)
    # What learners reached, besides what was lost.
    learning = scores.get("learning")
    learned: Mapping[str, float] = {} if learning is None or learning.value is None else learning.behind.means
    values = {name: _plain(scores[name].value if name in METRICS else learned.get(name)) for name in settings.metrics}
    risks, attacked, spared = _attack(settings, cell, made, train, holdout)
    return {
        "status": "ok", "reason": None, "stopped": None, "promise": made.promise, "notes": list(made.notes),
        "rows": made.table.rows, "seconds": made.seconds, "score_seconds": time.monotonic() - clock,
        "peak_bytes": made.peak, "attacks": attacked,
        "metrics": {**values, **risks},
        "extras": {name: _plain(value) for name, value in learned.items() if name not in values},
        "missing": {**{name: score.reason for name, score in scores.items() if score.value is None}, **spared},
    }  # fmt: skip


def _attack(
    settings: CompareSettings, cell: Cell, made: Made, train: ExactTable, holdout: ExactTable
) -> tuple[dict[str, float | None], dict[str, dict[str, str]], dict[str, str]]:
    """By `attack.number` what all attacks found and what that means, and by attack why it is missing."""
    from sklar.lab.attacks.release import TABLE_ATTACKS
    from sklar.lab.attacks.result import Attacked

    # The same targets for all systems of a fold.
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
            values[name] = _plain(number.attack.value)
            facts[name] = {"title": f"{result.title}: {number.title}", "says": number.says, "better": better}
    return values, facts, missing


def _read(data: Any, schema: Schema, role: str) -> ExactTable:
    from sklar.lab.tables.reading import read_table

    return read_table(data, schema, substream(0, 0), role=role)


def _sample_seed(settings: CompareSettings, cell: Cell) -> int:
    """A seed for the sample of this cell."""
    return zlib.crc32(f"{settings.seed} {cell.label}".encode())


def _plain(value: float | None) -> float | None:
    """JSON has no NaN."""
    return None if value is None or not np.isfinite(value) else float(value)
