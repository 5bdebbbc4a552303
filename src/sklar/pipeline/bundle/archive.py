"""The zip of a bundle: stored members in a fixed order, so that every byte of it follows from what it holds.

A changed byte is therefore found wherever it lies, in a member or between them, and told by the part it lies in.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sklar.errors import ModelFileError, UsageError

FORMAT = "sklar-release"
VERSION = 1
MANIFEST = "manifest.json"
SIGNATURE = "signature.json"
MAX_BYTES = 8 * 2**30
"""A bundle larger than this is refused."""
MOST_MEMBERS = 100
_DATE = (1980, 1, 1, 0, 0, 0)
_MAGIC = b"PK\x03\x04"


class BundleError(ModelFileError):
    """A bundle that is not as it was written.

    Attributes:
        part: Where it is not.
    """

    def __init__(self, part: str, message: str):
        super().__init__(message)
        self.part = part


def packed(members: Mapping[str, bytes]) -> bytes:
    """The bytes of the archive: the same members give the same bytes, on any machine."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def manifest_of(members: Mapping[str, bytes], facts: Mapping[str, Any]) -> bytes:
    """The list of all members with their hashes, and what is told about the bundle as a whole."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    listing = {"format": FORMAT, "version": VERSION, **facts, "members": digests}
    return json.dumps(listing, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def is_bundle(path: str | PathLike[str]) -> bool:
    """Whether a file is meant as a bundle: a zip that begins with a bundle's manifest, or is named like one."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # what waits for a writer would be waited for
            return False
        with Path(path).open("rb") as file:
            head = file.read(30 + len(MANIFEST) + 200)
    except (OSError, TypeError, ValueError):
        return False
    named = os.fspath(path).lower().endswith(".zip")
    return named or (head.startswith(_MAGIC) and FORMAT.encode() in head)


def read_archive(path: str | PathLike[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Members (the manifest and the signature among them) and the manifest, of a bundle whose every byte is in order.

    Raises:
        BundleError: It is not; the error names the part.
    """
    content = _content(path)
    members = _members(content)
    manifest = _manifest(members)
    listed = dict(manifest["members"])
    for name in members:
        if name not in (MANIFEST, SIGNATURE) and name not in listed:
            raise BundleError(name, f"'{name}' is in the bundle and not in its manifest")
    for name, digest in listed.items():
        if name not in members:
            raise BundleError(name, f"'{name}' is in the manifest and not in the bundle")
        if hashlib.sha256(members[name]).hexdigest() != digest:
            raise BundleError(name, f"'{name}' was changed: its hash is not that of the manifest")
    whole = packed(members)
    if whole != content:
        raise _misplaced(whole, content, members)
    return members, manifest


def _content(path: str | PathLike[str]) -> bytes:
    name = os.fspath(path)
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"cannot read the bundle {name}: it is not a regular file")
        if status.st_size > MAX_BYTES:
            raise BundleError("archive", f"it is larger than {MAX_BYTES >> 30} GiB and is refused")
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the bundle {name}: {error.strerror or 'it is not readable'}") from None


def _members(content: bytes) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, EOFError, OSError, NotImplementedError, UnicodeDecodeError):
        raise BundleError("directory", "the directory of the archive is damaged, or it is cut short") from None
    listed = archive.infolist()
    if len(listed) > MOST_MEMBERS:
        raise BundleError("directory", "it has more members than any bundle")
    for info in listed:
        name = info.filename.encode()
        if content[info.header_offset + 30 : info.header_offset + 30 + len(name)] != name:
            raise BundleError("directory", "the directory of the archive names other members than the archive has")
        _require_plain(info, members)
        try:
            members[info.filename] = archive.read(info)
        except Exception:
            raise BundleError(info.filename, f"'{info.filename}' is damaged: it cannot be read as written") from None
    return members


def _require_plain(info: zipfile.ZipInfo, members: Mapping[str, bytes]) -> None:
    """Members are stored as they are, once, in no folder: so nothing unpacks to more, or to elsewhere."""
    name = info.filename
    shown = name if name.isprintable() and len(name) < 100 else "?"
    if "/" in name or "\\" in name or ".." in name or not name.isprintable():
        raise BundleError(shown, f"the name of the member '{shown}' leads out of the bundle")
    if name in members:
        raise BundleError(shown, f"the bundle has two members '{shown}'")
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
        raise BundleError(shown, f"'{shown}' is not stored as bundles store their members")


def _manifest(members: Mapping[str, bytes]) -> dict[str, Any]:
    if MANIFEST not in members:
        raise BundleError(MANIFEST, "it has no manifest: it is not a bundle of Sklar")
    try:
        manifest = json.loads(members[MANIFEST])
        known, version = manifest["format"] == FORMAT, manifest["version"]
        dict(manifest["members"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BundleError(MANIFEST, "its manifest cannot be read") from None
    if not known or version != VERSION:
        raise BundleError(
            MANIFEST, f"it is a bundle of format version {str(version)[:20]}; this Sklar reads version {VERSION}"
        )
    return manifest


def _misplaced(whole: bytes, content: bytes, members: Mapping[str, bytes]) -> BundleError:
    """Which part of the archive holds the first byte that does not follow from the members."""
    shorter = min(len(whole), len(content))
    place = next((i for i in range(shorter) if whole[i] != content[i]), shorter)
    end = 0
    for name, data in members.items():
        end += 30 + len(name.encode()) + len(data)
        if place < end:
            return BundleError(name, f"the archive's header of '{name}' was changed")
    return BundleError("directory", "the directory of the archive was changed, or something was added to it")
