"""Which ledger a fit is charged to: the one that is named, or the one beside the rows; what is new is said aloud."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Any, cast

from sklar.accounting.ledger import FitRecord, Ledger, ensure_ledger, memory_ledger, open_ledger, read_ledger
from sklar.accounting.unit import Neighbours
from sklar.errors import LedgerError, NewLedgerWarning, OtherLedgerWarning, SklarWarning, UsageError, warn_user
from sklar.private.public import queried_files
from sklar.schema.address import is_pattern, scheme_of, without_secrets

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

    Where none is named, other ledgers of the same rows, also of the files that a query (`sql`) reads, are refused.
    """
    path = data_path(data, ledger)
    if ledger is not None:
        return _named(Path(ledger), neighbours, new_ledger=new_ledger)
    for part in [*_paths_in(data), *_queried_paths(sql)]:
        if path is None or not _same(part, path):
            _require_one_ledger(part, [place for place in (_beside(part), *_overlapping(part)) if place.is_file()])
    if path is not None:
        _require_one_ledger(path, _overlapping(path))
        return ensure_ledger(_beside(path), _dataset_name(path.name), neighbours)
    if new_ledger:
        raise UsageError("new_ledger=True (--new-ledger) makes the ledger that `ledger` names: name one")
    return memory_ledger(neighbours=neighbours)


def charged_files(data: Any, ledger: str | PathLike[str] | None) -> list[Any]:
    """The files of a fit that no output may replace: its rows, the ledger that is named, and those beside the rows."""
    rows = [data, *(cast("Mapping[str, Any]", data).values() if isinstance(data, Mapping) else ())]
    paths = [os.fspath(one) for one in rows if isinstance(one, str | PathLike)]
    return [*paths, ledger, *(f"{os.path.realpath(path)}{SUFFIX}" for path in paths if "\0" not in path)]


def warn_of_ledgers(data: Any, book: Ledger, fits: Sequence[FitRecord]) -> None:
    """Say that a ledger without a cap is new, and that further ledgers beside the rows seem to be about them.

    Called once a budget is reserved: whoever is refused before is told the reason alone.

    Args:
        data: What is fitted.
        book: The ledger that is charged.
        fits: What was reserved for this fit. The ledger is new if it holds nothing else.
    """
    if book.path is None:
        return
    if book.header.cap is None and {fit.id for fit in book.fits} <= {fit.id for fit in fits}:
        _warn(
            f"new ledger, no cap: {book.path}. It adds up what is spent on these rows from now on, and limits nothing; "
            "`sklar ledger create` makes one with a cap.",
            NewLedgerWarning,
        )
    path = data_path(data, book.path)
    for other in [] if path is None else _others(path, book):
        _warn(
            f"budget for these rows is also kept in {other}, by its name; this fit is charged to {book.path}. "
            "What was spent in both adds up, and no ledger shows the sum: use one ledger a table (--ledger).",
            OtherLedgerWarning,
        )


def _named(place: Path, neighbours: Neighbours, *, new_ledger: bool) -> Ledger:
    if os.path.exists(place):
        return open_ledger(place)
    if new_ledger:
        return ensure_ledger(place, _dataset_name(place.stem), neighbours)
    raise LedgerError(
        f"there is no ledger {place}, and a ledger that is named must exist. Make it with a cap (`sklar ledger "
        "create`), or ask for a new one without a cap (--new-ledger, new_ledger=True). Nothing was read or charged."
    )


def _require_one_ledger(path: Path, ledgers: Sequence[Path]) -> None:
    """Refuse to choose a ledger for rows that these ledgers cover too, as that of an enclosing folder or a file inside.

    Each alone would keep to its cap, and the rows would lose the sum.
    """
    if ledgers:
        raise LedgerError(
            f"rows of {path} are also charged to {ledgers[0]}, by its name, and a ledger of their own would not count "
            "that. Name the one ledger that is to count both (--ledger, ledger=). Nothing was read or charged."
        )


def _paths_in(data: Any) -> list[Path]:
    """The files of two tables that are given as a mapping; frames and addresses have no place."""
    values = cast("Mapping[str, Any]", data).values() if isinstance(data, Mapping) else ()
    texts = [os.fspath(value) for value in values if isinstance(value, str | PathLike)]
    return [Path(os.path.realpath(text)) for text in texts if "\0" not in text and os.path.exists(text)]


def _queried_paths(sql: str | None) -> list[Path]:
    """The files on this machine that a SQL query reads."""
    names = queried_files(sql) if sql else []
    files = [file for name in names for file in glob(os.path.expanduser(name), recursive=True)]
    return [Path(os.path.realpath(file)) for file in files]


def _overlapping(path: Path) -> list[Path]:
    """Ledgers that by their names are about a table, folders around it, or what is inside it; not its FILE.ledger."""
    around = [ledger for place in (path, *path.parents) if place.name for ledger in _ledgers_about(place)]
    found = [*around, *(_ledgers_inside(path) if path.is_dir() else [])]
    own = _beside(path)
    return [ledger for ledger in dict.fromkeys(found) if ledger.is_file() and not _same(ledger, own)]


def _ledgers_about(place: Path) -> list[Path]:
    """Ledgers beside a file or folder, or in the folder, that go by its name: by that of their file or dataset."""
    names = {place.name} if place.is_dir() else {place.name, place.stem}
    near = [*_ledgers_in(place.parent), *(_ledgers_in(place) if place.is_dir() else [])]
    return [ledger for ledger in near if names & {ledger.stem, _name_in(ledger)}]


def _ledgers_inside(folder: Path) -> list[Path]:
    """Ledgers in a folder of rows, and those of files elsewhere that the folder links to."""
    inside = [ledger for ledger in sorted(folder.rglob(f"*{SUFFIX}")) if _is_about_rows_beside(ledger)]
    linked = [Path(os.path.realpath(file)) for file in sorted(folder.rglob("*")) if file.is_symlink()]
    files = [file for file in linked if file.is_file() and file.suffix != SUFFIX]
    return [*inside, *(ledger for file in files for ledger in (_beside(file), *_overlapping(file)))]


def _is_about_rows_beside(ledger: Path) -> bool:
    """Whether this is a ledger, or goes by the name of a file or folder beside it: people.ledger for people.csv."""
    beside = (other for other in ledger.parent.iterdir() if other.suffix != SUFFIX)
    return _is_ledger(ledger) or any(ledger.stem in (other.name, other.stem) for other in beside)


def data_path(data: Any, ledger: object) -> Path | None:
    """The file or folder of the rows without links, by a path that ends in its name (`.` does not); None for others."""
    if not isinstance(data, str | PathLike) or (ledger is not None and "://" in str(data)):  # not on this machine
        return None
    pattern = is_pattern(os.fspath(data)) if "\0" not in os.fspath(data) else False
    if pattern and ledger is not None:
        return None
    if scheme_of(data) is not None or pattern:
        raise UsageError(
            f"{without_secrets(str(data))} has no one place for a ledger beside it: name one with ledger= (--ledger)"
            "; `sklar ledger create` makes it"
        )
    text = os.fspath(data)
    path = Path(os.path.realpath(text)) if "\0" not in text else Path()
    if not text or not path.name or not path.exists():
        raise UsageError(f"there is no file '{text}'")
    return path


def _beside(path: Path) -> Path:
    """FILE.ledger; if that is not there, that of another name (a hard link) of the same file in the folder."""
    own = path.with_name(path.name + SUFFIX)
    if own.exists() or path.is_dir() or path.stat().st_nlink < 2:
        return own
    ledgers = (ledger for ledger in _ledgers_in(path.parent) if _same(ledger.with_suffix(""), path))
    return next(ledgers, own)


def _others(path: Path, book: Ledger) -> list[Path]:
    """Ledgers other than the one to be charged that seem to be about the same rows, or are of the same dataset."""
    of_dataset = [ledger for ledger in _ledgers_in(path.parent) if _name_in(ledger) == book.header.name]
    found = dict.fromkeys((_beside(path), *of_dataset, *_overlapping(path)))
    return [ledger for ledger in found if ledger.exists() and (book.path is None or not _same(ledger, book.path))]


def _ledgers_in(folder: Path) -> list[Path]:
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
    """What its custodian calls the dataset; the file's own name if it cannot be read."""
    try:
        return read_ledger(ledger).header.name
    except LedgerError:
        return ledger.stem


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _dataset_name(name: str) -> str:
    """A file's name as the name of a ledger's dataset, which is short and printable."""
    return "".join(char if char.isprintable() else "?" for char in name)[:200]


def _warn(text: str, category: type[SklarWarning]) -> None:
    warn_user(text, category)
