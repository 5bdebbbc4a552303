"""Make replicas of a fitted model, and implicates from them, in worker processes if the first ones take long."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sklar.arrays import usable_cores
from sklar.counting.code_table import CodeTable
from sklar.errors import SklarWarning, UsageError
from sklar.given_numbers import whole_number
from sklar.inference.replicas import Mechanism, Replica, draw_model_rows, fit_replica, make_replica
from sklar.methods.registry import BASELINE_NAMES
from sklar.pipeline.model_file import Stored
from sklar.pipeline.workers import hand_in, model_workers, worker_model
from sklar.sample.decode import SampledTable
from sklar.sample.draw import draw_block
from sklar.sample.rng import named_streams

if TYPE_CHECKING:
    from sklar.pipeline.model import Model

TIMED_REPLICAS = 2
"""Replicas made in this process, to estimate how long the others take."""
MIN_SECONDS_FOR_PROCESSES = 15.0
"""Remaining seconds of work from which worker processes are started, since each takes some to begin."""
Made = TypeVar("Made", Replica, SampledTable)
Done = Callable[[int], None]
"""Progress callback: called with 1 after each replica."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicas:
    """All replicas of a model from one seed, and rows of the model itself."""

    model: CodeTable
    replicas: tuple[Replica, ...]


def mechanism_of(stored: Stored) -> Mechanism:
    """Return the public description of how a model was made.

    Raises:
        UsageError: It was made without noise, or not by a method of Sklar.
    """
    if stored.fit.get("method") in (None, *BASELINE_NAMES) or not stored.recorded:
        raise UsageError(
            f"a model of method '{stored.claim.method}' has no measurements with known noise, so it has no error bars. "
            "Fit a method with a guarantee, such as vine."
        )
    return Mechanism(schema=stored.schema, by=stored.coordinates, fitted=stored.fitted)


def make_replicas(stored: Stored, count: int, entropy: int, done: Done | None = None) -> Replicas:
    """Make replicas, and draw rows of the model itself."""
    mechanism = mechanism_of(stored)
    made = tuple(_make_each(stored, range(count), Replicate(entropy=entropy), done))
    return Replicas(model=draw_model_rows(mechanism, entropy), replicas=made)


def make_implicates(
    stored: Stored, count: int, rows: int, entropy: int, done: Done | None = None
) -> Iterator[SampledTable]:
    """Yield tables of independent rows, each from a replica of its own."""
    mechanism_of(stored)
    return _make_each(stored, range(count), Implicate(entropy=entropy, rows=rows), done)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicate:
    """Makes a replica by its number."""

    entropy: int

    def __call__(self, stored: Stored, index: int) -> Replica:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SklarWarning)  # a sample of the model itself has warned already
            return make_replica(mechanism_of(stored), self.entropy, index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Implicate:
    """Makes an implicate by its number: the same replica as `Replicate` makes, and rows of it."""

    entropy: int
    rows: int

    def __call__(self, stored: Stored, index: int) -> SampledTable:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SklarWarning)
            model, _ = fit_replica(mechanism_of(stored), self.entropy, index)
            rng = named_streams(self.entropy, index)("implicate")
            return draw_block(model, stored.schema, self.rows, rng, {})[0]


def _make_each(
    stored: Stored, indices: range, make: Callable[[Stored, int], Made], done: Done | None
) -> Iterator[Made]:
    report, took = done or (lambda more: None), 0.0
    for index in indices[:TIMED_REPLICAS]:
        start = time.process_time()
        yield make(stored, index)
        took = time.process_time() - start  # the last one counts: the first may have had to compile
        report(1)
    rest = indices[TIMED_REPLICAS:]
    # One table of a model of several has no file of its own that other processes could read.
    processes = min(usable_cores(), len(rest)) if type(stored) is Stored else 1
    if processes < 2 or took * len(rest) < MIN_SECONDS_FOR_PROCESSES:
        for index in rest:
            yield make(stored, index)
            report(1)
        return
    try:
        with model_workers(stored, processes) as pool:
            for future in hand_in(pool, _make_loaded, ((make, index) for index in rest)):
                yield future.result()
                report(1)
    except BrokenProcessPool:
        raise UsageError(
            "a worker process was killed, perhaps for lack of memory; request fewer replicas, or use a machine with "
            "more memory."
        ) from None


def _make_loaded(make: Callable[[Stored, int], Made], index: int) -> Made:
    return make(worker_model(), index)


def implicate_paths(path: str | PathLike[str], count: int) -> tuple[str, ...]:
    """Return people-01.csv, people-02.csv, ... for people.csv."""
    whole, digits = Path(os.fspath(path)), len(str(count))
    return tuple(str(whole.with_name(f"{whole.stem}-{i:0{digits}d}{whole.suffix}")) for i in range(1, count + 1))


def implicates_to_files(
    model: Model,
    path: str | PathLike[str],
    count: int,
    rows: int | None,
    *,
    seed: int | None = None,
    safe: bool = False,
    force: bool = False,
    done: Done | None = None,
) -> tuple[str, ...]:
    """Write `count` implicates to numbered files and return their paths."""
    from sklar.export.write import STANDARD_OUTPUT, require_table_output, write_table

    count = whole_number(count, "the number of implicates")
    if os.fspath(path) == STANDARD_OUTPUT or os.fspath(path).endswith("/"):
        raise UsageError(
            "implicates are written to files: name a file, such as people.csv for people-01.csv, people-02.csv, ..."
        )
    paths = implicate_paths(path, count)
    for place in paths:
        require_table_output(place, force=force)
    for place, table in zip(paths, model.implicates(count, rows, seed=seed, done=done), strict=True):
        write_table(table, place, model.schema, safe=safe)
    return paths
