"""Write a sample of any size as a folder of Parquet parts: by any number of processes, reproducible and resumable."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.arrays import usable_cores
from sklar.errors import OutputError
from sklar.given_numbers import whole_number
from sklar.pipeline.model_file import model_digest
from sklar.pipeline.workers import hand_in, model_workers, worker_model
from sklar.sample.conditions import read_conditions
from sklar.sample.draw import BLOCK_ROWS, blocks_of
from sklar.sample.rng import seed_entropy

if TYPE_CHECKING:
    import pyarrow as pa

    from sklar.export.parts import Parts
    from sklar.pipeline.model_file import Stored

PART_ROWS = 16 * BLOCK_ROWS


def sample_to_parts(
    stored: Stored,
    folder: str | PathLike[str],
    rows: int,
    *,
    seed: int | None = None,
    given: Mapping[str, Any] | None = None,
    part_rows: int | None = None,
    workers: int | None = None,
    written: Callable[[int], None] | None = None,
) -> int:
    """Sample independent rows into a folder of Parquet files; see `Model.write_rows`."""
    from sklar.export.parts import Parts, open_parts

    count = whole_number(rows, "the number of rows")
    blocks = -(-whole_number(PART_ROWS if part_rows is None else part_rows, "part_rows") // BLOCK_ROWS)
    processes = usable_cores() if workers is None else whole_number(workers, "workers")
    read_conditions(stored.schema, given)  # refuses bad conditions before the folder is created
    wanted = Parts(
        model=model_digest(stored),
        seed=None if seed is None else seed_entropy(seed),
        rows=count,
        part_rows=blocks * BLOCK_ROWS,
        given=json.dumps(given, sort_keys=True, default=str) if given else "",
        guarantee=stored.claim.label,
        sampler=_sampler(),
    )
    report = written or (lambda more: None)
    with open_parts(folder, wanted, seed_entropy(None)) as (parts, missing):
        report(count - sum(len(parts.rows_of(part)) for part in missing))
        for done in _write_all(stored, folder, parts, missing, given, min(processes, max(len(missing), 1))):
            report(len(parts.rows_of(done)))
    return count


def part_tables(stored: Stored, parts: Parts, part: int, given: Mapping[str, Any] | None) -> Iterator[pa.Table]:
    """Yield the rows of one part, block by block."""
    from sklar.export.arrow import to_arrow

    assert parts.seed is not None
    conditions = read_conditions(stored.schema, given)
    for block in blocks_of(stored.model, stored.schema, parts.rows_of(part), parts.seed, conditions):
        yield to_arrow(stored.schema, block)


def _write_all(
    stored: Stored,
    folder: str | PathLike[str],
    parts: Parts,
    missing: list[int],
    given: Mapping[str, Any] | None,
    processes: int,
) -> Iterator[int]:
    """Write the missing parts, and yield the number of each when it is done."""
    from sklar.export.parts import require_room

    place = os.path.abspath(folder)
    if processes > 1:
        finished = _write_in_processes(stored, place, parts, missing, given, processes)
    else:
        finished = (_write(stored, place, parts, part, given) for part in missing)
    for number, (part, size) in enumerate(finished, 1):
        yield part
        if number == 1:
            require_room(place, size, len(missing) - 1)


def _write_in_processes(
    stored: Stored, folder: str, parts: Parts, missing: list[int], given: Mapping[str, Any] | None, processes: int
) -> Iterator[tuple[int, int]]:
    """Write the missing parts in worker processes, one part per task."""
    try:
        with model_workers(stored, processes) as pool:
            tasks = hand_in(pool, _write_loaded, ((folder, parts, part, given) for part in missing))
            for future in as_completed(tasks):
                yield future.result()
    except BrokenProcessPool:
        raise OutputError(
            f"a process that wrote to {folder} was killed, perhaps for lack of memory. Finished parts are kept; run it "
            "again, with fewer workers, to continue."
        ) from None


def _write_loaded(folder: str, parts: Parts, part: int, given: Mapping[str, Any] | None) -> tuple[int, int]:
    return _write(worker_model(), folder, parts, part, given)


def _write(stored: Stored, folder: str, parts: Parts, part: int, given: Mapping[str, Any] | None) -> tuple[int, int]:
    """Write one part; return its number and its size in bytes."""
    from sklar.export.arrow import arrow_schema
    from sklar.export.parts import write_part

    tables = part_tables(stored, parts, part, given)
    types = arrow_schema(stored.schema).with_metadata(stored.claim.notes or None)
    return part, write_part(folder, part, tables, types, stored.schema)


def _sampler() -> str:
    """Return the versions that a seed depends on; numpy may change its streams between versions."""
    import numpy as np

    from sklar import __version__

    return f"sklar {__version__}, numpy {np.__version__}"
