"""Files where they lie: on this machine, or in an object store that pyarrow reaches (s3://, gs://).

Credentials are those of the environment, as the stores' own tools take them.
"""

from __future__ import annotations

import glob
import os
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sklar.errors import SourceError
from sklar.schema.address import STORES, find_scheme, remove_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object of a store.

    Attributes:
        files: The store.
        path: Bucket and key.
        root: What stands before the path in its URL.
        query: What stands after it: settings of the store, as ?endpoint_override=HOST.
    """

    files: Any
    path: str
    root: str
    query: str

    def url(self, path: str) -> str:
        """Return the URL of another path in the same store."""
        return f"{self.root}{path}{self.query}"


def stored_object(path: str) -> StoredObject | None:
    """Return the object that a URL of a store points to; None for a path of this machine."""
    scheme = find_scheme(path)
    if scheme not in STORES:
        return None
    place, mark, query = path.partition("?")
    store, _, inside = place.removeprefix(f"{scheme}://").partition("/")
    bucket = store.rpartition("@")[2]
    root = f"{scheme}://{store.removesuffix(bucket)}"
    files = _open_store(f"{root}{bucket}{mark}{query}")
    return StoredObject(files=files, path=f"{bucket}/{inside}".rstrip("/"), root=root, query=mark + query)


@lru_cache(maxsize=16)
def _open_store(url: str) -> Any:
    import pyarrow.fs as fs

    try:
        return fs.FileSystem.from_uri(url)[0]
    except Exception:  # it may quote a key
        pass
    raise SourceError(f"cannot reach {remove_secrets(url)}: is the address right, and is pyarrow built for this store?")


def is_folder(path: str) -> bool:
    """Return whether files lie below a path."""
    found = stored_object(path)
    return os.path.isdir(path) if found is None else _get_information(found, path).type.name == "Directory"


def find_files_below(path: str) -> list[str]:
    """Return all files below a folder, as paths or URLs like its own; names with . or _ at the start are left out."""
    found = stored_object(path)
    if found is None:
        return _list_local_files(path)
    import pyarrow.fs as fs

    objects = _query_store(path, found.files.get_file_info, fs.FileSelector(found.path, recursive=True))
    files = [item.path for item in objects if item.type.name == "File"]
    shown = [file for file in files if not any(p[:1] in "._" for p in file.removeprefix(f"{found.path}/").split("/"))]
    return sorted(found.url(file) for file in shown)


def _list_local_files(path: str) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if name[0] not in "._"]
        found += [os.path.join(folder, name) for name in files if name[0] not in "._"]
    return sorted(found)


def find_matching_files(pattern: str) -> list[str]:
    """Return all files that match a pattern as data/*.csv; ** is any number of folders; not names with . or _."""
    found = glob.glob(pattern, recursive=True)
    return sorted(file for file in found if os.path.isfile(file) and os.path.basename(file)[0] not in "._")


def size_and_time(path: str) -> tuple[int, int]:
    """Return the size and time of a file, which change with the file."""
    found = stored_object(path)
    if found is None:
        return _get_local_state(path)
    information = _get_information(found, path)
    if information.type.name != "File":
        raise SourceError(f"cannot read {remove_secrets(path)}: there is no such object in the store")
    return information.size, information.mtime_ns or 0


def open_stored_file(path: str) -> Any:
    """Return a file to read from, which can go back."""
    found = stored_object(path)
    return Path(path).open("rb") if found is None else _query_store(path, found.files.open_input_file, found.path)


def _get_information(found: StoredObject, path: str) -> Any:
    return _query_store(path, found.files.get_file_info, found.path)


def _query_store(path: str, ask: Any, *arguments: Any) -> Any:
    try:
        return ask(*arguments)
    except Exception:  # a store's message may quote keys
        pass
    raise SourceError(f"cannot read {remove_secrets(path)}: the store refused, or does not answer")


def _get_local_state(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise SourceError(f"cannot read {remove_secrets(path)}: {reason}") from None
    if not stat.S_ISREG(status.st_mode):  # a pipe could be read only once, and might never end
        raise SourceError(f"cannot read {path}: it is not a regular file")
    return status.st_size, status.st_mtime_ns
