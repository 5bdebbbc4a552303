"""Replicas of a fitted model, and implicates from them: the first ones here, others in processes if these took long."""

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
from sklar.inference.replicas import Mechanism, Replica, fit_replica, make_replica, model_rows
from sklar.methods.registry import BASELINE_NAMES
from sklar.pipeline.model_file import Stored
from sklar.pipeline.workers import hand_in, model_workers, worker_model
from sklar.sample.decode import SampledTable
from sklar.sample.draw import draw_block
from sklar.sample.rng import named_streams

if TYPE_CHECKING:
    from sklar.pipeline.model import Model

TRIED = 2
"""Replicas made here before it is decided who makes the others."""
WORTH_PROCESSES = 15.0
"""Seconds of work left from which on processes are started: each takes some to begin."""
Made = TypeVar("Made", Replica, SampledTable)
Done = Callable[[int], None]
"""Told how many more replicas there are: one, after each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicas:
    """All replicas of a model that were made from one seed, and rows of the model itself."""

    model: CodeTable
    replicas: tuple[Replica, ...]


def mechanism_of(stored: Stored) -> Mechanism:
    """All that is public about how a model was made.

    Raises:
        UsageError: It was made without noise, or not by a method of Sklar.
    """
    if stored.fit.get("method") in (None, *BASELINE_NAMES) or not stored.recorded:
        raise UsageError(
            f"a model of method '{stored.claim.method}' has no releases whose noise is known, so its error bars cannot "
            "be told. Fit a method with a guarantee, such as vine."
        )
    return Mechanism(schema=stored.schema, by=stored.coordinates, fitted=stored.fitted)


def make_replicas(stored: Stored, count: int, entropy: int, done: Done | None = None) -> Replicas:
    """Replicas, and what the model itself says."""
    mechanism = mechanism_of(stored)
    made = tuple(_each(stored, range(count), Replicate(entropy=entropy), done))
    return Replicas(model=model_rows(mechanism, entropy), replicas=made)


def make_implicates(
    stored: Stored, count: int, rows: int, entropy: int, done: Done | None = None
) -> Iterator[SampledTable]:
    """Tables of independent rows, each from a replica of its own."""
    mechanism_of(stored)
    return _each(stored, range(count), Implicate(entropy=entropy, rows=rows), done)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicate:
    """Makes a replica by its number."""

    entropy: int

    def __call__(self, stored: Stored, index: int) -> Replica:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SklarWarning)  # a sample of the model itself has said it
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


def _each(stored: Stored, indices: range, make: Callable[[Stored, int], Made], done: Done | None) -> Iterator[Made]:
    tell, took = done or (lambda more: None), 0.0
    for index in indices[:TRIED]:
        start = time.process_time()
        yield make(stored, index)
        took = time.process_time() - start  # of the last: the first may have had to compile
        tell(1)
    rest = indices[TRIED:]
    # A table of a model of several has no file of its own that other processes could read.
    processes = min(usable_cores(), len(rest)) if type(stored) is Stored else 1
    if processes < 2 or took * len(rest) < WORTH_PROCESSES:
        for index in rest:
            yield make(stored, index)
            tell(1)
        return
    try:
        with model_workers(stored, processes) as pool:
            for future in hand_in(pool, _make_loaded, ((make, index) for index in rest)):
                yield future.result()
                tell(1)
    except BrokenProcessPool:
        raise UsageError(
            "a process that made replicas was ended from outside, perhaps for lack of memory; ask for fewer replicas, "
            "or on a machine with more."
        ) from None


def _make_loaded(make: Callable[[Stored, int], Made], index: int) -> Made:
    return make(worker_model(), index)


def implicate_paths(path: str | PathLike[str], count: int) -> tuple[str, ...]:
    """people-01.csv, people-02.csv, ... for people.csv."""
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
    """Write so many implicates beside each other, and give their paths."""
    from sklar.export.write import STANDARD_OUTPUT, require_table_output, write_table

    count = whole_number(count, "the number of implicates")
    if os.fspath(path) == STANDARD_OUTPUT or os.fspath(path).endswith("/"):
        raise UsageError("implicates go to files of their own: name one, as people.csv for people-01.csv and so on.")
    paths = implicate_paths(path, count)
    for place in paths:
        require_table_output(place, force=force)
    for place, table in zip(paths, model.implicates(count, rows, seed=seed, done=done), strict=True):
        write_table(table, place, model.schema, safe=safe)
    return paths
