"""One cell of a comparison: make a synthetic table of a fold, and measure it. Runs in a worker process."""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.errors import PeerError, SklarError
from sklar.lab.compare.peers import Limits, run_peer, scratch
from sklar.lab.compare.store import SCHEMA, Fold, Store, fold_files, read_values
from sklar.lab.compare.systems import Cell, CompareSettings
from sklar.sample.rng import named_streams, substream
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.lab.metrics.score import Score
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

    def files(self, fold: int) -> Fold:
        """The files of a fold."""
        return fold_files(self.store, self.settings.table, self.settings.folds, self.settings.seed, fold)

    def tables(self, fold: int) -> tuple[ExactTable, ExactTable]:
        """Training and held-out rows."""
        if fold != self.fold or self.train is None or self.holdout is None:
            files = self.files(fold)
            self.train, self.holdout = (_read(path, self.schema, "real") for path in (files.train, files.holdout))
            self.fold = fold
        return self.train, self.holdout


def run_cell(bank: Bank, cell: Cell) -> Result:
    """What came out: metrics, or a plain reason why there are none. Never raises, but for an interrupt."""
    try:
        train, holdout = bank.tables(cell.fold)
        rows = bank.settings.rows or train.rows
        made = _by_peer(bank, cell, rows) if cell.system.kind == "peer" else _by_method(bank, cell, rows)
        return _scored(bank, cell, made, train, holdout)
    except PeerError as failure:
        return failed(str(failure), stopped=failure.stopped)
    except SklarError as error:
        return failed(str(error))
    except MemoryError:
        return failed("there was not enough memory")
    except Exception as error:
        # The text of a library's error could quote a cell.
        return failed(f"something unexpected went wrong ({type(error).__name__})")


def failed(reason: str, stopped: str | None = None) -> Result:
    """The result of a cell without a table."""
    return {"status": "failed", "reason": reason, "stopped": stopped, "metrics": {}}


def _by_method(bank: Bank, cell: Cell, rows: int) -> Made:
    from sklar.pipeline.fit.run import fit

    system, settings = cell.system, bank.settings
    given: dict[str, Any] = dict(system.options or {})
    if system.target:
        given["target"] = settings.target
    if system.kind == "private":
        given["delta"] = settings.delta
    else:
        given["no_guarantee"] = True
    data = read_values(bank.files(cell.fold).train)
    clock = time.monotonic()
    model = fit(data, bank.schema, method=system.method, epsilon=cell.epsilon, **given)
    sample = model.sample(rows, seed=_number(settings, cell))
    seconds = time.monotonic() - clock
    return Made(table=_read(sample, bank.schema, "synthetic"), seconds=seconds, promise=system.promise)


def _by_peer(bank: Bank, cell: Cell, rows: int) -> Made:
    folder = scratch(bank.store.folder / "work", cell.label)
    try:
        # Copies: what a peer does to its files must not reach the other cells.
        shutil.copyfile(bank.files(cell.fold).train, folder / "train.parquet")
        shutil.copyfile(bank.store.folder / SCHEMA, folder / SCHEMA)
        told = {
            "train": str(folder / "train.parquet"), "schema": str(folder / SCHEMA),
            "epsilon": "" if cell.epsilon is None else f"{cell.epsilon:g}", "delta": f"{bank.settings.delta:g}",
            "rows": str(rows),
        }  # fmt: skip
        log = bank.store.folder / "logs" / f"{cell.label}.log"
        ended = run_peer(cell.system.command, told, folder, log, bank.limits, bank.began)
        table = _peer_table(ended.output, bank, rows, cell)
        promise = cell.system.promise if ended.promise is None else f"says of itself: {ended.promise}"
        notes = tuple(_doubts(table, bank.tables(cell.fold)[0]))
        return Made(table=table, seconds=ended.seconds, promise=promise, peak=ended.peak, notes=notes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _peer_table(path: Any, bank: Bank, rows: int, cell: Cell) -> ExactTable:
    try:
        table = _read(path, bank.schema, "synthetic")
    except SklarError as error:
        raise PeerError(f"its table cannot be used: {error}") from None
    except Exception as error:
        raise PeerError(f"its table cannot be read ({type(error).__name__})") from None
    if table.total < ENOUGH * rows:
        raise PeerError(f"it wrote {table.total:,} rows where {rows:,} were asked for")
    return table.sample(rows, substream(_number(bank.settings, cell), 1))


def _doubts(synthetic: ExactTable, real: ExactTable) -> list[str]:
    """Columns that a peer seems to have written in another type or coding."""
    from sklar.lab.tables.table import lost_columns

    words = "nearly all values of column '{}' are null or not listed in the schema"
    return [words.format(name) for name in lost_columns(synthetic, real)]


def _scored(bank: Bank, cell: Cell, made: Made, train: ExactTable, holdout: ExactTable) -> Result:
    from sklar.lab.metrics.bench import Settings as Wanted
    from sklar.lab.metrics.bench import make_bench
    from sklar.lab.metrics.measure import measure

    settings, clock = bank.settings, time.monotonic()
    # The same streams for all systems of a fold, so that they are compared on the same subsamples.
    wanted = Wanted(target=settings.target, learners=settings.learners)
    stream = named_streams(settings.seed, 1000 * cell.fold)
    scores = measure(make_bench(train, made.table, holdout, wanted, stream, floors=False), settings.metrics)
    values = {name: _plain(score.value) for name, score in scores.items()}
    attacked, spared = _attacked(settings, cell, made, train, holdout)
    return {
        "status": "ok", "reason": None, "stopped": None, "promise": made.promise, "notes": list(made.notes),
        "rows": made.table.rows, "seconds": made.seconds, "score_seconds": time.monotonic() - clock,
        "peak_bytes": made.peak, "attacks": {name: _without_value(facts) for name, facts in attacked.items()},
        "metrics": {**values, **{name: _plain(facts["value"]) for name, facts in attacked.items()}},
        "extras": {name: _plain(value) for name, value in _learned(scores).items()},
        "missing": {**{name: score.reason for name, score in scores.items() if score.value is None}, **spared},
    }  # fmt: skip


def _learned(scores: Mapping[str, Score]) -> dict[str, float]:
    """What learners reached, besides what was lost."""
    learning = scores.get("learning")
    return {} if learning is None or learning.value is None else learning.behind.main


def _attacked(
    settings: CompareSettings, cell: Cell, made: Made, train: ExactTable, holdout: ExactTable
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """The numbers of all attacks, as `attack.number`, and why some are missing."""
    from sklar.lab.attacks.release import TABLE_ATTACKS
    from sklar.lab.attacks.result import Tables

    # The same targets for all systems of a fold.
    tables = Tables(real=train, synthetic=made.table, holdout=holdout, rng=substream(settings.seed, cell.fold))
    found: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for kind in settings.attacks:
        try:
            result = TABLE_ATTACKS[kind](tables)
        except SklarError as error:
            missing[kind] = str(error)
            continue
        for number in result.numbers:
            found[f"{kind}.{number.name}"] = {
                "value": float(number.attack.value), "title": f"{result.title}: {number.title}", "says": number.says,
                "better": "lower" if number.worse == "higher" else "higher",
            }  # fmt: skip
    return found, missing


def _without_value(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if key != "value"}


def _read(data: Any, schema: Schema, role: str) -> ExactTable:
    from sklar.lab.tables.reading import read_table

    return read_table(data, schema, substream(0, 0), role=role)


def _number(settings: CompareSettings, cell: Cell) -> int:
    """A seed for the sample of this cell."""
    return zlib.crc32(f"{settings.seed} {cell.label}".encode())


def _plain(value: float | None) -> float | None:
    """JSON has no NaN."""
    return None if value is None or not np.isfinite(value) else float(value)


def read_cell(facts: Mapping[str, Any]) -> Cell:
    """A cell from plain data."""
    from sklar.lab.compare.systems import System

    return Cell(system=System(**facts["system"]), epsilon=facts["epsilon"], fold=facts["fold"])


def read_settings(facts: Mapping[str, Any]) -> CompareSettings:
    """Settings from plain data."""
    names = ("metrics", "attacks", "learners")
    read: dict[str, Any] = {key: tuple(value) if key in names else value for key, value in facts.items()}
    return CompareSettings(**read)
