"""Games of an attack on a method: a generator is fitted on samples of rows with and without targets, part by part.

Parts run in parallel. Each finished part is kept in a file that only its owner can read, and none is run twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Generator as Yields
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats
from sklar.errors import OutputError, UsageError
from sklar.export.atomic import atomic_file, write_bytes
from sklar.given_numbers import is_whole, whole_number
from sklar.lab.attacks.regression import DesignLayout, design_layout
from sklar.lab.attacks.result import Progress
from sklar.lab.metrics.copies import row_keys
from sklar.lab.tables.table import ExactTable, coarse_codes, coarse_grid, ordered_values
from sklar.notebook import duration_text
from sklar.pipeline.workers import without_main_script
from sklar.sample.rng import substream

TARGET_QUANTILES = (0.01, 0.025, 0.975, 0.99)
"""Quantiles of a sensitive column at which outlying targets are chosen: risk is greatest at the extremes."""
STATE_FILE = "attack.json"
Arrays = Mapping[str, npt.NDArray[Any]]
_game: Any = None


class FittedGenerator(Protocol):
    """A generator after its fit."""

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Return independent synthetic rows of one level, in any form that can be read as a table."""
        ...


class Generator(Protocol):
    """A synthesizer; `levels` names the variants of one fit, such as truncation levels; without variants ("",)."""

    @property
    def levels(self) -> tuple[str, ...]: ...

    def fit(self, table: Any, seed: int) -> FittedGenerator:
        """Learn from an Arrow table."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionGenerator:
    """A function (table, rows, seed) -> table as a generator; each call fits and draws."""

    function: Callable[[Any, int, int], Any]
    table: Any = None
    levels: tuple[str, ...] = ("",)

    def fit(self, table: Any, seed: int) -> FittedGenerator:
        """Keep the rows until a table is requested."""
        return replace(self, table=table)

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Draw synthetic rows by calling the given function."""
        return self.function(self.table, rows, seed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """A method under attack and the real rows it is fitted on, as codes and as the Arrow table for the generator."""

    real: ExactTable
    raw: Any
    generator: Generator
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One person: position in the table (from 0), why it was chosen, and the number of other equal rows."""

    row: int
    group: str
    about: str
    twins: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Game(Subject):
    """Everything a game needs, sent to other processes; `profile` has the sizes and numbers of repetitions."""

    profile: Any
    sensitive: tuple[str, ...]
    targets: tuple[Target, ...]
    layout: DesignLayout

    def fingerprint(self, *more: Any) -> str:
        """Identify the same attack on the same rows; the digest stays in a file that only its owner can read."""
        generator = self.generator
        method = (generator.levels, getattr(generator, "settings", None) or type(generator).__name__)
        facts = (self.profile, self.sensitive, self.targets, self.seed, self.real.schema.fingerprint)
        return hashlib.sha256(repr([*facts, method, *more]).encode() + row_keys(self.real).tobytes()).hexdigest()

    def stream(self, place: int) -> np.random.Generator:
        """Return the random generator of one part."""
        return substream(self.seed, place)


Play = Callable[[Any, str], Arrays]
"""(game, part) -> arrays; a module-level function, because it is pickled by name for other processes."""


def open_game(
    subject: Subject, profile: Any, sensitive: tuple[str, ...], targets: Sequence[int] | None, random_targets: int
) -> Game:
    """Set up a game on given rows, or else on rows at outlying quantiles of sensitive columns and random rows."""
    people = choose_targets(
        subject.real, substream(subject.seed, 0), sensitive=sensitive, rows=targets, random=random_targets
    )
    return Game(
        real=subject.real, raw=subject.raw, generator=subject.generator, seed=subject.seed, profile=profile,
        sensitive=sensitive, targets=people, layout=design_layout(subject.real),
    )  # fmt: skip


def find_profile(profiles: dict[str, Any], name: str, changes: Mapping[str, Any] | None) -> Any:
    """Return the profile of this name with some parameters changed."""
    if name not in profiles:
        raise UsageError(f"there is no profile '{name}'; the profiles are: {', '.join(profiles)}.")
    profile = profiles[name]
    for key, value in (changes or {}).items():
        if key not in asdict(profile):
            raise UsageError(f"a profile has no parameter '{key}'; it has: {', '.join(asdict(profile))}.")
        whole_number(value, key, 2)
    return replace(profile, **(changes or {}))


def choose_targets(
    real: ExactTable, rng: np.random.Generator, *, sensitive: Sequence[str], rows: Sequence[int] | None, random: int
) -> tuple[Target, ...]:
    """Choose the given rows, or rows at outlying quantiles of the sensitive columns and random rows.

    Without a sensitive column, the least likely rows are the outlying ones.
    """
    _, where, counts = np.unique(row_keys(real), return_inverse=True, return_counts=True)
    if rows is not None:
        picked = dict.fromkeys(_validate_targets(rows, real.rows), ("chosen", "chosen by hand"))
    else:
        picked = _choose_outlying(real, sensitive)
        free = np.setdiff1d(np.arange(real.rows), list(picked))
        drawn = rng.choice(free, min(random, len(free)), replace=False)
        picked |= dict.fromkeys(drawn.tolist(), ("random", "random"))
    return tuple(
        Target(row=row, group=group, about=about, twins=int(counts[where[row]]) - 1)
        for row, (group, about) in picked.items()
    )


def _validate_targets(rows: Sequence[int], total: int) -> list[int]:
    wrong = [row for row in rows if not is_whole(row, 0, total - 1)]
    if wrong or not len(rows):
        raise UsageError(
            f"targets are places of rows in the real table, from 0 to {total - 1:,}; "
            f"{'none was given' if not len(rows) else f'{wrong[0]!r} is not in the table'}."
        )
    return [int(row) for row in rows]


def _choose_outlying(real: ExactTable, sensitive: Sequence[str]) -> dict[int, tuple[str, str]]:
    picked: dict[int, tuple[str, str]] = {}
    for name in (name for name in sensitive if real.schema[name].ordered):
        values = ordered_values(real, name)
        order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
        for quantile in TARGET_QUANTILES if len(order) else ():
            row = int(order[round(quantile * (len(order) - 1))])
            picked.setdefault(row, ("outlying", f"{name} at quantile {quantile:g}"))
    if not picked:
        rows = np.argsort(_log_likelihood(real), kind="stable")[: len(TARGET_QUANTILES)]
        picked = dict.fromkeys(rows.tolist(), ("outlying", "among the least likely rows"))
    return picked


def _log_likelihood(real: ExactTable) -> Floats:
    """Compute the log-likelihood of each row under independent columns."""
    codes = coarse_codes(real, coarse_grid(real.schema))
    return np.sum([np.log(np.bincount(column)[column] / real.rows) for column in codes], axis=0)


def describe_level(level: str) -> tuple[str, str]:
    """Return the suffixes for the name and the title of a number at this level."""
    return (f"[{level}]", f", level {level}") if level else ("", "")


@contextmanager
def open_state(path: str | os.PathLike[str] | None, fingerprint: str) -> Yields[Path]:
    """Open the folder that keeps finished parts, readable by its owner only; without a path, a temporary one.

    A named folder is removed when the attack is complete and stays when it was interrupted.
    """
    if path is None:
        with TemporaryDirectory(prefix="sklar-attack-") as folder:
            yield Path(folder)
        return
    folder = Path(path)
    try:
        folder.mkdir(mode=0o700, parents=False, exist_ok=True)
        _mark_folder(folder, fingerprint)
    except UsageError:  # also a ValueError, but with a message for the user
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise OutputError(f"cannot keep the parts of the attack in {folder}: {reason.lower()}.") from None
    try:
        yield folder
    except BaseException:
        if not any(folder.glob("*.npz")):  # nothing to resume, and a corrected command would be rejected
            _remove_parts(folder)
        raise
    _remove_parts(folder)


def _mark_folder(folder: Path, fingerprint: str) -> None:
    file = folder / STATE_FILE
    if file.exists():
        if json.loads(file.read_text()) != {"attack": fingerprint}:
            raise UsageError(f"the folder {folder} keeps parts of another attack; name another one, or remove it.")
    elif any(folder.iterdir()):  # its files would be removed at the end
        raise UsageError(f"the folder {folder} is not empty, and no attack was started there; name a new folder.")
    else:
        write_bytes(file, json.dumps({"attack": fingerprint}).encode(), mode=0o600)


def _remove_parts(folder: Path) -> None:
    for file in [*folder.glob("*.npz"), *folder.glob(".*.tmp"), folder / STATE_FILE]:
        file.unlink(missing_ok=True)
    with suppress(OSError):  # a folder with other files stays
        folder.rmdir()


def run_parts(
    game: Any, play: Play, parts: Sequence[str], folder: Path, *, workers: int, done: Progress, what: str
) -> None:
    """Play all parts that are not in the folder yet, and report progress with the remaining time."""
    left = [part for part in parts if not _make_part_path(folder, part).exists()]
    started, total = time.monotonic(), len(parts)

    def report(finished: int) -> None:
        spent, complete = time.monotonic() - started, total - len(left) + finished
        remaining = f", about {duration_text(spent / finished * (len(left) - finished))} left" if finished else ""
        done(f"{what} {complete} of {total}{remaining}", complete / total)

    report(0)
    if workers < 2 or len(left) < 2:
        for at, part in enumerate(left, 1):
            save_part(folder, part, play(game, part))
            report(at)
    else:
        _run_in_processes(game, partial(_play_and_save, play, folder), left, workers, report)


def save_part(folder: Path, part: str, arrays: Arrays) -> None:
    """Save a finished part atomically."""
    with atomic_file(_make_part_path(folder, part), mode=0o600) as file:
        # Numbers only, so nothing is pickled; older numpy would read allow_pickle as the name of an array.
        np.savez(file, **dict(arrays))  # pyright: ignore[reportArgumentType]


def load_part(folder: Path, part: str) -> Arrays:
    """Load a finished part."""
    with np.load(_make_part_path(folder, part), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def _run_in_processes(
    game: Any, play: Callable[[str], None], parts: Sequence[str], workers: int, report: Callable[[int], None]
) -> None:
    # Spawned, not forked: libraries with threads can hang after a fork.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_set_game, initargs=(game,))
    try:
        with nullcontext() if _needs_main(game) else without_main_script():
            futures = [pool.submit(play, part) for part in parts]
        for finished, future in enumerate(as_completed(futures), 1):
            future.result()
            report(finished)
    except BaseException:
        # An interrupt also stops the workers; their finished parts are on disk.
        for process in list((pool._processes or {}).values()):  # pyright: ignore[reportPrivateUsage]
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _needs_main(game: Any) -> bool:
    """Check whether the generator is defined in the caller's script, which workers must then import."""
    try:
        return b"__main__" in pickle.dumps(getattr(getattr(game, "game", game), "generator", None))
    except Exception:  # an object that cannot be pickled raises its own error when it is sent
        return True


def _set_game(game: Any) -> None:
    global _game
    _game = game
    os.environ["OMP_NUM_THREADS"] = "1"


def _play_and_save(play: Play, folder: Path, part: str) -> None:
    save_part(folder, part, play(_game, part))


def _make_part_path(folder: Path, part: str) -> Path:
    return folder / f"{part}.npz"
