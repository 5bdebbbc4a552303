"""Long attacks in parts: parts run side by side, each is kept in a file of its owner's when done, none is run twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.errors import OutputError, UsageError

Arrays = Mapping[str, npt.NDArray[Any]]
Done = Callable[[str, float], None]
Play = Callable[[Any, str], Arrays]
"""(game, part) -> arrays; a function of a module, since it is sent to other processes by name."""
_game: Any = None


@contextmanager
def open_state(path: str | os.PathLike[str] | None, fingerprint: str) -> Generator[Path]:
    """The folder that keeps finished parts, for its owner only; without a path, one that goes away at the end."""
    if path is None:
        with TemporaryDirectory(prefix="sklar-attack-") as folder:
            yield Path(folder)
        return
    folder = Path(path)
    try:
        folder.mkdir(mode=0o700, parents=False, exist_ok=True)
        note = folder / "attack.json"
        if note.exists():
            if json.loads(note.read_text()) != {"attack": fingerprint}:
                raise UsageError(f"the folder {folder} keeps parts of another attack; name another one, or remove it.")
        elif any(folder.iterdir()):  # its files are taken away at the end
            raise UsageError(f"the folder {folder} is not empty, and no attack was begun there; name a new folder.")
        else:
            _write(note, json.dumps({"attack": fingerprint}).encode())
    except UsageError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise OutputError(f"cannot keep the parts of the attack in {folder}: {reason.lower()}.") from None
    try:
        yield folder
    except BaseException:
        if not any(folder.glob("*.npz")):  # nothing to go on from, and a corrected command would be refused
            remove_parts(folder)
        raise


def run_parts(
    game: Any, play: Play, parts: Sequence[str], folder: Path, *, workers: int, done: Done, what: str
) -> None:
    """Play all parts that are not in the folder yet, and tell how long it will take."""
    left = [part for part in parts if not _place(folder, part).exists()]
    started, total = time.monotonic(), len(parts)

    def tell(finished: int) -> None:
        spent = time.monotonic() - started
        ahead = "" if not finished else f", about {_duration(spent / finished * (len(left) - finished))} left"
        done(f"{what} {total - len(left) + finished} of {total}{ahead}", (total - len(left) + finished) / total)

    tell(0)
    if workers < 2 or len(left) < 2:
        for at, part in enumerate(left, 1):
            save_part(folder, part, play(game, part))
            tell(at)
    else:
        _side_by_side(game, play, left, folder, workers, tell)


def save_part(folder: Path, part: str, arrays: Arrays) -> None:
    """Keep a finished part; the file appears whole or not at all."""
    place = _place(folder, part)
    draft = place.with_suffix(f".{os.getpid()}.tmp")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        # Numbers only, so nothing is pickled; older numpy would take allow_pickle for the name of one more array.
        np.savez(file, **dict(arrays))  # pyright: ignore[reportArgumentType]
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, place)


def load_part(folder: Path, part: str) -> Arrays:
    """A finished part."""
    with np.load(_place(folder, part), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def remove_parts(folder: Path) -> None:
    """Take away what was kept, when the attack is over."""
    for file in [*folder.glob("*.npz"), *folder.glob("*.tmp"), folder / "attack.json"]:
        file.unlink(missing_ok=True)
    with suppress(OSError):  # a folder that holds something else stays
        folder.rmdir()


def _side_by_side(
    game: Any, play: Play, parts: Sequence[str], folder: Path, workers: int, tell: Callable[[int], None]
) -> None:
    # Started afresh, not forked: forked threads of libraries can hang.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_take_game, initargs=(game,))
    pending: set[Future[None]] = set()
    try:
        pending = {pool.submit(_play_and_save, play, part, folder) for part in parts}
        finished = 0
        while pending:
            over, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in over:
                future.result()
                finished += 1
                tell(finished)
    except BaseException:
        for future in pending:
            future.cancel()
        # An interrupt ends the workers too; their finished parts are on disk.
        for process in list((pool._processes or {}).values()):  # pyright: ignore[reportPrivateUsage]
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _take_game(game: Any) -> None:
    global _game
    _game = game
    os.environ["OMP_NUM_THREADS"] = "1"


def _play_and_save(play: Play, part: str, folder: Path) -> None:
    save_part(folder, part, play(_game, part))


def _place(folder: Path, part: str) -> Path:
    return folder / f"{part}.npz"


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
