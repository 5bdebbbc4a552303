"""Files on disk: that they exist, what kind they are, and that they stay the same between passes."""

from __future__ import annotations

import os
import stat

from sklar.errors import SourceError

COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")


class FileStamp:
    """A path with the size and time it had when it was opened; a file that changes between passes is refused."""

    def __init__(self, path: str):
        self.path = path
        self._stamp = _stamp(path)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._stamp[0]

    def require_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was opened."""
        try:
            same = _stamp(self.path) == self._stamp
        except SourceError:
            same = False
        if not same:
            raise SourceError(f"{self.path} changed while it was being read; run again on a file that stays the same")


def suffix_of(path: str) -> str:
    """The file's ending in lower case, without that of a compression."""
    name = path.lower()
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    return os.path.splitext(name)[1]


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise SourceError(f"cannot read {path}: {reason}") from None
    if not stat.S_ISREG(status.st_mode):  # a pipe could be read once only, and might never end
        raise SourceError(f"cannot read {path}: it is not a regular file")
    return status.st_size, status.st_mtime_ns
