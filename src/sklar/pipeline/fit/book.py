"""Choose the ledger of a fit: the named one, or the one beside the rows, with a warning if it is new."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Any, cast

from sklar.accounting.ledger import FitRecord, Ledger, ensure_ledger, memory_ledger, open_ledger, read_ledger
from sklar.accounting.unit import Neighbours
from sklar.errors import LedgerError, NewLedgerWarning, OtherLedgerWarning, UsageError, warn_user
from sklar.private.public import queried_files
from sklar.schema.address import find_scheme, is_pattern, remove_secrets

SUFFIX = ".ledger"


def open_book(
    data: Any,
    ledger: str | PathLike[str] | None,
    neighbours: Neighbours,
    *,
    new_ledger: bool = False,
    sql: str | None = None,
) -> Ledger:
    """Open the named ledger, which must exist unless `new_ledger` is True; else one beside the file, or in memory.

    If none is named, a second ledger of the same rows, or of files that a query (`sql`) reads, is refused.
    """
    path = data_path(data, ledger)
    if ledger is not None:
        return _open_named(Path(ledger), neighbours, new_ledger=new_ledger)
    for part in [*_paths_in(data), *_queried_paths(sql)]:
        if path is None or not _is_same_file(part, path):
            _require_one_ledger(part, [place for place in (_beside(part), *_overlapping(part)) if place.is_file()])
    if path is not None:
        _require_one_ledger(path, _overlapping(path))
        return ensure_ledger(_beside(path), _dataset_name(path.name), neighbours)
    if new_ledger:
        raise UsageError("new_ledger=True (--new-ledger) creates the ledger named by `ledger`: name one")
    return memory_ledger(neighbours=neighbours)


def charged_files(data: Any, ledger: str | PathLike[str] | None) -> list[Any]:
    """Return the files of a fit that no output may replace: its rows, the named ledger and ledgers beside the rows."""
    rows = [data, *(cast("Mapping[str, Any]", data).values() if isinstance(data, Mapping) else ())]
    paths = [os.fspath(one) for one in rows if isinstance(one, str | PathLike)]
    return [*paths, ledger, *(f"{os.path.realpath(path)}{SUFFIX}" for path in paths if "\0" not in path)]


def warn_of_ledgers(data: Any, book: Ledger, fits: Sequence[FitRecord]) -> None:
    """Warn about a new ledger without a cap, and about further ledgers that seem to be about the same rows.

    Called once a budget is reserved, so that a refusal before that shows its reason alone.

    Args:
        data: What is fitted.
        book: The ledger that is charged.
        fits: What was reserved for this fit. The ledger is new if it contains nothing else.
    """
    if book.path is None:
        return
    if book.header.cap is None and {fit.id for fit in book.fits} <= {fit.id for fit in fits}:
        warn_user(
            f"new ledger without a cap: {book.path}. It records what is spent on these rows from now on, without a "
            "limit; `sklar ledger create` makes one with a cap.",
            NewLedgerWarning,
        )
    path = data_path(data, book.path)
    for other in [] if path is None else _others(path, book):
        warn_user(
            f"by its name, {other} is also a ledger of these rows; this fit is charged to {book.path}. "
            "What was spent in both adds up, and no ledger shows the sum: use one ledger per table (--ledger).",
            OtherLedgerWarning,
        )


def _open_named(place: Path, neighbours: Neighbours, *, new_ledger: bool) -> Ledger:
    if os.path.exists(place):
        return open_ledger(place)
    if new_ledger:
        return ensure_ledger(place, _dataset_name(place.stem), neighbours)
    raise LedgerError(
        f"the ledger {place} does not exist. Create it with a cap (`sklar ledger create`), or without a cap "
        "(--new-ledger, new_ledger=True). Nothing was read or charged."
    )


def _require_one_ledger(path: Path, ledgers: Sequence[Path]) -> None:
    """Refuse to choose a ledger if others cover the same rows, as that of an enclosing folder or a file inside.

    Each ledger would keep to its own cap, and the rows would lose the sum.
    """
    if ledgers:
        raise LedgerError(
            f"by its name, {ledgers[0]} is also a ledger of rows of {path}, and a second one would not count what it "
            "contains. Name the one ledger to use (--ledger, ledger=). Nothing was read or charged."
        )


def _paths_in(data: Any) -> list[Path]:
    """Return the existing files among the values of a mapping of tables; frames and addresses have none."""
    values = cast("Mapping[str, Any]", data).values() if isinstance(data, Mapping) else ()
    texts = [os.fspath(value) for value in values if isinstance(value, str | PathLike)]
    return [Path(os.path.realpath(text)) for text in texts if "\0" not in text and os.path.exists(text)]


def _queried_paths(sql: str | None) -> list[Path]:
    """Return the files on this machine that a SQL query reads."""
    names = queried_files(sql) if sql else []
    files = [file for name in names for file in glob(os.path.expanduser(name), recursive=True)]
    return [Path(os.path.realpath(file)) for file in files]


def _overlapping(path: Path) -> list[Path]:
    """Return ledgers named after a table, a folder around it or something inside it, except its FILE.ledger."""
    around = [ledger for place in (path, *path.parents) if place.name for ledger in _ledgers_about(place)]
    found = [*around, *(_ledgers_inside(path) if path.is_dir() else [])]
    own = _beside(path)
    return [ledger for ledger in dict.fromkeys(found) if ledger.is_file() and not _is_same_file(ledger, own)]


def _ledgers_about(place: Path) -> list[Path]:
    """Return ledgers beside a file or folder, or in the folder, whose file or dataset has its name."""
    names = {place.name} if place.is_dir() else {place.name, place.stem}
    near = [*_list_ledgers(place.parent), *(_list_ledgers(place) if place.is_dir() else [])]
    return [ledger for ledger in near if names & {ledger.stem, _name_in(ledger)}]


def _ledgers_inside(folder: Path) -> list[Path]:
    """Return ledgers in a folder of rows, and those of files elsewhere that the folder links to."""
    inside = [ledger for ledger in sorted(folder.rglob(f"*{SUFFIX}")) if _is_about_rows_beside(ledger)]
    linked = [Path(os.path.realpath(file)) for file in sorted(folder.rglob("*")) if file.is_symlink()]
    files = [file for file in linked if file.is_file() and file.suffix != SUFFIX]
    return [*inside, *(ledger for file in files for ledger in (_beside(file), *_overlapping(file)))]


def _is_about_rows_beside(ledger: Path) -> bool:
    """Return whether a file is a ledger, or is named after a file or folder beside it: people.ledger for people.csv."""
    beside = (other for other in ledger.parent.iterdir() if other.suffix != SUFFIX)
    return _is_ledger(ledger) or any(ledger.stem in (other.name, other.stem) for other in beside)


def data_path(data: Any, ledger: object) -> Path | None:
    """Return the resolved path of the file or folder of the rows; None if the data have none on this machine."""
    if not isinstance(data, str | PathLike) or (ledger is not None and "://" in str(data)):  # not on this machine
        return None
    pattern = is_pattern(os.fspath(data)) if "\0" not in os.fspath(data) else False
    if pattern and ledger is not None:
        return None
    if find_scheme(data) is not None or pattern:
        raise UsageError(
            f"{remove_secrets(str(data))} has no single place for a ledger beside it: name one with ledger= "
            "(--ledger); `sklar ledger create` creates it"
        )
    text = os.fspath(data)
    path = Path(os.path.realpath(text)) if "\0" not in text else Path()
    if not text or not path.name or not path.exists():
        raise UsageError(f"there is no file '{text}'")
    return path


def _beside(path: Path) -> Path:
    """Return FILE.ledger; if there is none, that of a hard link to the same file in the folder."""
    own = path.with_name(path.name + SUFFIX)
    if own.exists() or path.is_dir() or path.stat().st_nlink < 2:
        return own
    ledgers = (ledger for ledger in _list_ledgers(path.parent) if _is_same_file(ledger.with_suffix(""), path))
    return next(ledgers, own)


def _others(path: Path, book: Ledger) -> list[Path]:
    """Return ledgers other than the charged one that seem to be about the same rows, or have the same dataset name."""
    of_dataset = [ledger for ledger in _list_ledgers(path.parent) if _name_in(ledger) == book.header.name]
    found = dict.fromkeys((_beside(path), *of_dataset, *_overlapping(path)))
    return [
        ledger for ledger in found if ledger.exists() and (book.path is None or not _is_same_file(ledger, book.path))
    ]


def _list_ledgers(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    except OSError:  # a folder that may not be listed
        return []


def _is_ledger(path: Path) -> bool:
    try:
        read_ledger(path)
    except LedgerError:
        return False
    return True


def _name_in(ledger: Path) -> str:
    """Return the name of the dataset in a ledger; the file's own name if it cannot be read."""
    try:
        return read_ledger(ledger).header.name
    except LedgerError:
        return ledger.stem


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _dataset_name(name: str) -> str:
    """Return a file's name as the name of a ledger's dataset, which is short and printable."""
    return "".join(char if char.isprintable() else "?" for char in name)[:200]
