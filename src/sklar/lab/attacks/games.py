"""Games of an attack on a method: a generator is fitted on samples of rows, about targets, part by part.

Parts run side by side; each is kept in a file of its owner's when it is done, and none is run twice.
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
from sklar.lab.attacks.regression import DesignLayout, layout_of
from sklar.lab.attacks.result import Progress
from sklar.lab.metrics.copies import row_keys
from sklar.lab.tables.table import ExactTable, coarse_codes, coarse_grid, ordered_values
from sklar.notebook import duration_text
from sklar.pipeline.workers import main_left_alone
from sklar.sample.rng import substream

QUANTILES = (0.01, 0.025, 0.975, 0.99)
"""Where outlying targets are taken: further out risk is greater, and rests on fewer people."""
NOTE = "attack.json"
Arrays = Mapping[str, npt.NDArray[Any]]
_game: Any = None


class FittedGenerator(Protocol):
    """A generator after its fit."""

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Independent synthetic rows of one level, as anything that can be read as a table."""
        ...


class Generator(Protocol):
    """A way to synthesize; `levels` are names of variants that one fit gives, such as truncation levels.

    The only level of a generator without such variants has an empty name.
    """

    @property
    def levels(self) -> tuple[str, ...]: ...

    def fit(self, table: Any, seed: int) -> FittedGenerator:
        """Learn from an Arrow table."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionGenerator:
    """A function (table, rows, seed) -> table as a generator: fitted anew for each call."""

    function: Callable[[Any, int, int], Any]
    table: Any = None
    levels: tuple[str, ...] = ("",)

    def fit(self, table: Any, seed: int) -> FittedGenerator:
        """Keep the rows until a table is asked for."""
        return replace(self, table=table)

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Call the function."""
        return self.function(self.table, rows, seed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """A method under attack, and the real rows it is fitted on: as codes, and as the Arrow table a generator gets."""

    real: ExactTable
    raw: Any
    generator: Generator
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One person: place in the table (from 0), why it was chosen, and how many rows equal it."""

    row: int
    group: str
    about: str
    twins: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Game(Subject):
    """Everything a game needs; it is sent to other processes. `profile` has sizes and numbers."""

    profile: Any
    sensitive: tuple[str, ...]
    targets: tuple[Target, ...]
    layout: DesignLayout

    def fingerprint(self, *more: Any) -> str:
        """Recognizes the same attack on the same rows; it stays in a file of its owner's."""
        generator = self.generator
        method = (generator.levels, getattr(generator, "settings", None) or type(generator).__name__)
        facts = (self.profile, self.sensitive, self.targets, self.seed, self.real.schema.fingerprint)
        said = repr([*facts, method, *more])
        return hashlib.sha256(said.encode() + row_keys(self.real).tobytes()).hexdigest()

    def stream(self, place: int) -> np.random.Generator:
        """A generator of random numbers of its own."""
        return substream(self.seed, place)


Play = Callable[[Any, str], Arrays]
"""(game, part) -> arrays; a function of a module, since it is sent to other processes by name."""


def open_game(
    subject: Subject, profile: Any, sensitive: tuple[str, ...], targets: Sequence[int] | None, random_targets: int
) -> Game:
    """A game about given rows, or else rows at outlying quantiles of the sensitive columns and random ones."""
    people = choose_targets(
        subject.real, substream(subject.seed, 0), sensitive=sensitive, rows=targets, random=random_targets
    )
    return Game(
        real=subject.real, raw=subject.raw, generator=subject.generator, seed=subject.seed, profile=profile,
        sensitive=sensitive, targets=people, layout=layout_of(subject.real),
    )  # fmt: skip


def find_profile(profiles: dict[str, Any], name: str, changes: Mapping[str, Any] | None) -> Any:
    """The profile of this name, with some parameters changed."""
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
    """Given rows; else rows at outlying quantiles of each sensitive column (without one, the least likely rows).

    Rows drawn at random come besides.
    """
    _, where, counts = np.unique(row_keys(real), return_inverse=True, return_counts=True)
    if rows is not None:
        picked = dict.fromkeys(_require_places(rows, real.rows), ("chosen", "chosen by hand"))
    else:
        picked = _outlying(real, sensitive)
        free = np.setdiff1d(np.arange(real.rows), list(picked))
        drawn = rng.choice(free, min(random, len(free)), replace=False)
        picked |= dict.fromkeys(drawn.tolist(), ("random", "random"))
    return tuple(
        Target(row=row, group=group, about=about, twins=int(counts[where[row]]) - 1)
        for row, (group, about) in picked.items()
    )


def _require_places(rows: Sequence[int], total: int) -> list[int]:
    wrong = [row for row in rows if not is_whole(row, 0, total - 1)]
    if wrong or not len(rows):
        raise UsageError(
            f"targets are places of rows in the real table, from 0 to {total - 1:,}; "
            f"{'none was given' if not len(rows) else f'{wrong[0]!r} is not in the table'}."
        )
    return [int(row) for row in rows]


def _outlying(real: ExactTable, sensitive: Sequence[str]) -> dict[int, tuple[str, str]]:
    picked: dict[int, tuple[str, str]] = {}
    for name in (name for name in sensitive if real.schema[name].ordered):
        values = ordered_values(real, name)
        order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
        for quantile in QUANTILES if len(order) else ():
            row = int(order[round(quantile * (len(order) - 1))])
            picked.setdefault(row, ("outlying", f"{name} at quantile {quantile:g}"))
    if not picked:
        rows = np.argsort(_log_likelihood(real), kind="stable")[: len(QUANTILES)]
        picked = dict.fromkeys(rows.tolist(), ("outlying", "among the least likely rows"))
    return picked


def _log_likelihood(real: ExactTable) -> Floats:
    """Of each row, if columns were independent."""
    codes = coarse_codes(real, coarse_grid(real.schema))
    return np.sum([np.log(np.bincount(column)[column] / real.rows) for column in codes], axis=0)


def level_words(level: str) -> tuple[str, str]:
    """What the name and the title of a number say of the level it belongs to."""
    return (f"[{level}]", f", level {level}") if level else ("", "")


@contextmanager
def open_state(path: str | os.PathLike[str] | None, fingerprint: str) -> Yields[Path]:
    """The folder that keeps finished parts, for its owner only; without a path, one that goes away at the end.

    A named folder is taken away when the attack is over, and stays when it was interrupted.
    """
    if path is None:
        with TemporaryDirectory(prefix="sklar-attack-") as folder:
            yield Path(folder)
        return
    folder = Path(path)
    try:
        folder.mkdir(mode=0o700, parents=False, exist_ok=True)
        _begin(folder, fingerprint)
    except UsageError:  # a ValueError with words of its own
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise OutputError(f"cannot keep the parts of the attack in {folder}: {reason.lower()}.") from None
    try:
        yield folder
    except BaseException:
        if not any(folder.glob("*.npz")):  # nothing to go on from, and a corrected command would be refused
            _remove(folder)
        raise
    _remove(folder)


def _begin(folder: Path, fingerprint: str) -> None:
    note = folder / NOTE
    if note.exists():
        if json.loads(note.read_text()) != {"attack": fingerprint}:
            raise UsageError(f"the folder {folder} keeps parts of another attack; name another one, or remove it.")
    elif any(folder.iterdir()):  # its files are taken away at the end
        raise UsageError(f"the folder {folder} is not empty, and no attack was begun there; name a new folder.")
    else:
        write_bytes(note, json.dumps({"attack": fingerprint}).encode(), mode=0o600)


def _remove(folder: Path) -> None:
    for file in [*folder.glob("*.npz"), *folder.glob(".*.tmp"), folder / NOTE]:
        file.unlink(missing_ok=True)
    with suppress(OSError):  # a folder that holds something else stays
        folder.rmdir()


def run_parts(
    game: Any, play: Play, parts: Sequence[str], folder: Path, *, workers: int, done: Progress, what: str
) -> None:
    """Play all parts that are not in the folder yet, and tell how long it will take."""
    left = [part for part in parts if not _place(folder, part).exists()]
    started, total = time.monotonic(), len(parts)

    def tell(finished: int) -> None:
        spent = time.monotonic() - started
        ahead = "" if not finished else f", about {duration_text(spent / finished * (len(left) - finished))} left"
        done(f"{what} {total - len(left) + finished} of {total}{ahead}", (total - len(left) + finished) / total)

    tell(0)
    if workers < 2 or len(left) < 2:
        for at, part in enumerate(left, 1):
            save_part(folder, part, play(game, part))
            tell(at)
    else:
        _side_by_side(game, partial(_play_and_save, play, folder), left, workers, tell)


def save_part(folder: Path, part: str, arrays: Arrays) -> None:
    """Keep a finished part; the file appears whole or not at all."""
    with atomic_file(_place(folder, part), mode=0o600) as file:
        # Numbers only, so nothing is pickled; older numpy would take allow_pickle for the name of one more array.
        np.savez(file, **dict(arrays))  # pyright: ignore[reportArgumentType]


def load_part(folder: Path, part: str) -> Arrays:
    """A finished part."""
    with np.load(_place(folder, part), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def _side_by_side(
    game: Any, play: Callable[[str], None], parts: Sequence[str], workers: int, tell: Callable[[int], None]
) -> None:
    # Started afresh, not forked: forked threads of libraries can hang.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_take_game, initargs=(game,))
    try:
        with nullcontext() if _needs_main(game) else main_left_alone():
            futures = [pool.submit(play, part) for part in parts]
        for finished, future in enumerate(as_completed(futures), 1):
            future.result()
            tell(finished)
    except BaseException:
        # An interrupt ends the workers too; their finished parts are on disk.
        for process in list((pool._processes or {}).values()):  # pyright: ignore[reportPrivateUsage]
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _needs_main(game: Any) -> bool:
    """Whether the generator is something of the caller's script, which workers must import then."""
    try:
        return b"__main__" in pickle.dumps(getattr(getattr(game, "game", game), "generator", None))
    except Exception:  # what cannot be sent is refused, by its own words, when it is
        return True


def _take_game(game: Any) -> None:
    global _game
    _game = game
    os.environ["OMP_NUM_THREADS"] = "1"


def _play_and_save(play: Play, folder: Path, part: str) -> None:
    save_part(folder, part, play(_game, part))


def _place(folder: Path, part: str) -> Path:
    return folder / f"{part}.npz"
