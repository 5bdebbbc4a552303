"""Which ledger a fit is charged to: the one that is named, or the one beside the rows; what is new is said aloud."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

from sklar.accounting.ledger import FitRecord, Ledger, ensure_ledger, memory_ledger, open_ledger, read_ledger
from sklar.accounting.unit import Neighbours
from sklar.errors import LedgerError, NewLedgerWarning, OtherLedgerWarning, SklarWarning, UsageError
from sklar.schema.address import is_pattern, scheme_of, without_secrets

SUFFIX = ".ledger"


def open_book(
    data: Any, ledger: str | PathLike[str] | None, neighbours: Neighbours, *, new_ledger: bool = False
) -> Ledger:
    """The named ledger, which must exist unless `new_ledger` is True; else one beside the file, or in memory."""
    path = data_path(data, ledger)
    if ledger is not None:
        return _named(Path(ledger), neighbours, new_ledger=new_ledger)
    if path is not None:
        _require_one_ledger(path, _overlapping(path))
        return ensure_ledger(_beside(path), _dataset_name(path.name), neighbours)
    for part in _paths_in(data):
        _require_one_ledger(part, [place for place in (_beside(part), *_overlapping(part)) if place.is_file()])
    if new_ledger:
        raise UsageError("new_ledger=True (--new-ledger) makes the ledger that `ledger` names: name one")
    return memory_ledger(neighbours=neighbours)


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


def _overlapping(path: Path) -> list[Path]:
    """Ledgers that by their names are about folders around a table, or about files and folders inside it."""
    around = [folder.with_name(folder.name + SUFFIX) for folder in path.parents if folder.name]
    inside = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else []
    about = [ledger for ledger in inside if _is_about_a_neighbour(ledger)]
    return [ledger for ledger in (*around, *about) if ledger.is_file()]


def _is_about_a_neighbour(ledger: Path) -> bool:
    """Whether a ledger goes by the name of a file or folder beside it: FILE.ledger, or people.ledger for people.csv."""
    beside = (other for other in ledger.parent.iterdir() if other.suffix != SUFFIX)
    return any(ledger.stem in (other.name, other.stem) for other in beside)


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
    """Ledgers other than the one to be charged that seem to be about the same rows.

    Those beside the rows go by the name of the rows or of its dataset; those around and inside by that of a folder or a
    file.
    """
    names = {path.name, path.stem, book.header.name}
    beside = (ledger for ledger in _ledgers_in(path.parent) if book.path is None or not _same(ledger, book.path))
    named = [ledger for ledger in beside if names & {ledger.stem, _name_in(ledger)}]
    overlapping = (ledger for ledger in _overlapping(path) if book.path is None or not _same(ledger, book.path))
    return list(dict.fromkeys((*named, *overlapping)))


def _ledgers_in(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    except OSError:  # a folder that may not be listed
        return []


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
    warnings.warn(text, category, stacklevel=6)
