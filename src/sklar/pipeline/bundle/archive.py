"""The zip of a bundle: stored members in a fixed order, so that every byte is determined by the contents.

A changed byte is therefore detected anywhere, in a member or between them, and reported with the part it is in.
The manifest comes first and lists the size of every member. A bundle is read from beginning to end in pieces: never
more of a member than the manifest lists, and never a whole one into memory unless requested.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

from sklar.errors import ModelFileError, OutputError, UsageError

FORMAT = "sklar-release"
VERSION = 2
MANIFEST = "manifest.json"
SIGNATURE = "signature.json"
MAX_BYTES = 2**32 - 2**20
"""A bundle larger than this is neither written nor read: offsets in a plain zip have 32 bits."""
MAX_MANIFEST_BYTES = 2**20
MAX_SIGNATURE_BYTES = 2**14
MAX_MEMBERS = 100
MAX_NAME_BYTES = 400
PIECE_BYTES = 2**20
"""A member is read and written in pieces of this size."""
Content = bytes | Path
"""The bytes of a member, or the file that contains them."""
_LOCAL, _CENTRAL, _END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s4B4H3L5H2L"), struct.Struct("<4s4H2LH")
_MAGIC = b"PK\x03\x04"
_DATE = 1 << 5 | 1
"""The first of January 1980, in the date format of a zip."""


class BundleError(ModelFileError):
    """A bundle was changed or damaged.

    Attributes:
        part: The part of the bundle that is wrong.
    """

    def __init__(self, part: str, message: str):
        super().__init__(message)
        self.part = part


@dataclass(frozen=True, slots=True, kw_only=True)
class Checksum:
    """Size, SHA-256 and CRC of the content of a member."""

    size: int
    sha256: str
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Position of the content of a member in a bundle, and its checksum."""

    offset: int
    checksum: Checksum


def checksum_of(content: Content) -> Checksum:
    """Compute the checksum of a content, piece by piece."""
    return _compute_checksum(_read_content(content))


def _compute_checksum(pieces: Iterator[bytes]) -> Checksum:
    size, crc, digest = 0, 0, hashlib.sha256()
    for piece in pieces:
        size, crc = size + len(piece), zlib.crc32(piece, crc)
        digest.update(piece)
    return Checksum(size=size, sha256=digest.hexdigest(), crc=crc)


def _read_content(content: Content) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        yield from _read_pieces(file, content.stat().st_size)


def _read_pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size and (piece := file.read(min(size, PIECE_BYTES))):
        size -= len(piece)
        yield piece


def archive_pieces(members: Mapping[str, Content]) -> Iterator[bytes]:
    """Yield the bytes of the archive in pieces: the same members give the same bytes on any machine."""
    found: dict[str, Member] = {}
    at = 0
    for name, content in members.items():
        checksum = checksum_of(content)
        header = _make_local_header(name, checksum)
        found[name] = Member(offset=at, checksum=checksum)
        at += len(header) + checksum.size
        if at > MAX_BYTES:
            raise OutputError(f"a bundle holds at most {MAX_BYTES >> 20:,} MiB: bundle fewer rows")
        yield header
        yield from _read_content(content)
    yield _directory(found, at)


def _make_local_header(name: str, checksum: Checksum) -> bytes:
    spelt, size = name.encode(), checksum.size
    return _LOCAL.pack(_MAGIC, 20, _flags(name), 0, 0, _DATE, checksum.crc, size, size, len(spelt), 0) + spelt


def _directory(members: Mapping[str, Member], start: int) -> bytes:
    """Return the directory at the end of an archive; offsets of members are those of their headers."""
    entries = b"".join(_make_directory_entry(name, member) for name, member in members.items())
    count = len(members)
    return entries + _END.pack(b"PK\x05\x06", 0, 0, count, count, len(entries), start, 0)


def _make_directory_entry(name: str, member: Member) -> bytes:
    spelt, size = name.encode(), member.checksum.size
    fixed = _CENTRAL.pack(
        b"PK\x01\x02", 20, 3, 20, 0, _flags(name), 0, 0, _DATE, member.checksum.crc, size, size, len(spelt), 0, 0, 0, 0,
        0o644 << 16, member.offset,
    )  # fmt: skip
    return fixed + spelt


def _flags(name: str) -> int:
    return 0 if name.isascii() else 0x800


def manifest_of(members: Mapping[str, Content | Checksum], facts: Mapping[str, Any]) -> bytes:
    """Return the list of all members with sizes and hashes, and the facts about the bundle as a whole."""
    found = {name: one if isinstance(one, Checksum) else checksum_of(one) for name, one in members.items()}
    listed = {name: {"bytes": one.size, "sha256": one.sha256} for name, one in found.items()}
    listing = {"format": FORMAT, "version": VERSION, **facts, "members": listed}
    return json.dumps(listing, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def is_bundle(path: str | PathLike[str]) -> bool:
    """Return whether a file is meant as a bundle: a zip that begins with a bundle's manifest, or is named like one."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe would block until there is a writer
            return False
        with Path(path).open("rb") as file:
            head = file.read(30 + len(MANIFEST) + 200)
    except (OSError, TypeError, ValueError):
        return False
    named = os.fspath(path).lower().endswith(".zip")
    return named or (head.startswith(_MAGIC) and FORMAT.encode() in head)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A bundle in which every byte was checked.

    Attributes:
        manifest: The manifest, parsed.
        members: All members, the manifest and the signature among them.
    """

    path: Path
    manifest: dict[str, Any]
    members: dict[str, Member]

    @property
    def listed(self) -> dict[str, Checksum]:
        """Checksums of all members except manifest and signature, in the order of the bundle."""
        return {n: member.checksum for n, member in self.members.items() if n not in (MANIFEST, SIGNATURE)}

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a member in pieces."""
        with self.path.open("rb") as file:
            file.seek(self.members[name].offset)
            yield from _read_pieces(file, self.members[name].checksum.size)

    def read(self, name: str) -> bytes:
        """Return the content of a small member."""
        return b"".join(self.pieces(name))

    def extract(self, name: str, folder: Path) -> Path:
        """Write a member to a folder; returns its path."""
        with (folder / name).open("wb") as file:
            file.writelines(self.pieces(name))
        return folder / name


def read_archive(path: str | PathLike[str]) -> Archive:
    """Check every byte of a bundle, from beginning to end.

    Raises:
        BundleError: A byte was changed; the error names the part.
    """
    place, size = Path(path), _get_size(path)
    found: dict[str, Member] = {}
    headers: dict[str, Member] = {}
    manifest: dict[str, Any] = {}
    try:
        with place.open("rb") as file:
            known = _names_in_directory(file, size)
            while (head := file.read(_LOCAL.size)).startswith(_MAGIC):
                at = file.tell() - len(head)
                name, stated = _stated_header(file, head, found, size, known)
                if stated > _allowed_bytes(name, manifest, known):
                    raise BundleError(name, f"'{name}' is larger than allowed, or than the manifest lists it")
                found[name] = Member(offset=file.tell(), checksum=_compute_checksum(_read_pieces(file, stated)))
                headers[name] = Member(offset=at, checksum=found[name].checksum)
                _require_header(file, at, name, found[name])
                if name == MANIFEST:
                    file.seek(found[name].offset)
                    manifest = _parse_manifest(file.read(stated))
                    file.seek(found[name].offset + stated)
                _require_listed(name, found[name].checksum, manifest)
            _require_all(found, manifest)
            start = file.tell() - len(head)
            expected = _directory(headers, start)
            file.seek(start)
            if file.read(len(expected) + 1) != expected:
                raise BundleError("directory", "the directory of the archive was changed, or something was added to it")
    except OSError as error:
        raise UsageError(f"cannot read the bundle {place}: {error.strerror or 'it is not readable'}") from None
    return Archive(path=place, manifest=manifest, members=found)


def _get_size(path: str | PathLike[str]) -> int:
    try:
        status = os.stat(path)
    except OSError as error:
        raise UsageError(f"cannot read the bundle {os.fspath(path)}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"cannot read the bundle {os.fspath(path)}: it is not a regular file")
    if status.st_size > MAX_BYTES:
        raise BundleError("archive", f"it is larger than {MAX_BYTES >> 20:,} MiB, the maximum")
    return status.st_size


def _names_in_directory(file: BinaryIO, size: int) -> set[str]:
    """Return the names in the directory at the end of an archive, and rewind the file."""
    file.seek(max(size - _END.size, 0))
    last = file.read(_END.size)
    stated = _END.unpack(last)[5] if len(last) == _END.size else 0
    file.seek(max(size - _END.size - min(stated, MAX_MEMBERS * (_CENTRAL.size + MAX_NAME_BYTES)), 0))
    names: set[str] = set()
    while len(entry := file.read(_CENTRAL.size)) == _CENTRAL.size:
        names.add(file.read(_CENTRAL.unpack(entry)[12]).decode(errors="replace"))
    file.seek(0)
    return names


def _part(name: str, known: set[str]) -> str:
    """Return the part that an error about a member names: the directory if that does not list the member's name."""
    if name not in known:
        return "directory"
    return name if name.isprintable() and len(name) < 100 else "?"


def _stated_header(
    file: BinaryIO, head: bytes, found: Mapping[str, Member], size: int, known: set[str]
) -> tuple[str, int]:
    """Return the name and the size in the header of the next member, after checking that they are plausible."""
    if len(head) < _LOCAL.size:
        raise BundleError("directory", "the archive is cut short")
    _, _, flags, method, _, _, _, packed, stated, length, _ = _LOCAL.unpack(head)
    name = file.read(min(length, MAX_NAME_BYTES)).decode(errors="replace")
    shown = _part(name, known)
    if not found and name != MANIFEST:
        raise BundleError(MANIFEST, "it does not begin with a manifest: it is not a bundle of Sklar")
    if "/" in name or "\\" in name or ".." in name or not name.isprintable() or length > MAX_NAME_BYTES:
        raise BundleError(shown, f"the name of the member '{shown}' is not a plain file name")
    if name in found:
        raise BundleError(shown, f"the bundle has two members '{shown}'")
    if method or packed != stated or flags & 1:  # members are stored uncompressed: no zip bombs
        raise BundleError(shown, f"'{shown}' is compressed or encrypted; bundles store members as they are")
    if len(found) >= MAX_MEMBERS:
        raise BundleError("directory", f"it has more than {MAX_MEMBERS} members")
    if file.tell() + stated > size:
        raise BundleError("directory", "the archive is cut short")
    return name, stated


def _allowed_bytes(name: str, manifest: Mapping[str, Any], known: set[str]) -> int:
    """Return the most bytes that may be read of a member."""
    if name in (MANIFEST, SIGNATURE):
        return MAX_MANIFEST_BYTES if name == MANIFEST else MAX_SIGNATURE_BYTES
    if name not in manifest["members"]:
        raise BundleError(_part(name, known), f"'{name}' is in the bundle and not in its manifest")
    return manifest["members"][name]["bytes"]


def _require_header(file: BinaryIO, at: int, name: str, member: Member) -> None:
    """Refuse a header that is not the one that a member of this content has."""
    expected = _make_local_header(name, member.checksum)
    after = file.tell()
    file.seek(at)
    if file.read(len(expected)) != expected:
        raise BundleError(name, f"'{name}' was changed: its header in the archive does not match its content")
    file.seek(after)


def _require_listed(name: str, checksum: Checksum, manifest: Mapping[str, Any]) -> None:
    if name in (MANIFEST, SIGNATURE):
        return
    if {"bytes": checksum.size, "sha256": checksum.sha256} != manifest["members"][name]:
        raise BundleError(name, f"'{name}' was changed: its size or hash differs from the manifest")


def _require_all(found: Mapping[str, Member], manifest: Mapping[str, Any]) -> None:
    if not found:
        raise BundleError("directory", "the beginning of the archive is damaged, or it is cut short")
    for name in manifest["members"]:
        if name not in found:
            raise BundleError(name, f"'{name}' is in the manifest and not in the bundle, or its header was changed")


def _parse_manifest(content: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(content)
        known, version = manifest["format"] == FORMAT, manifest["version"]
        dict(manifest["members"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BundleError(MANIFEST, "its manifest cannot be read") from None
    if not known or version != VERSION:
        raise BundleError(
            MANIFEST, f"it is a bundle of format version {str(version)[:20]}; this Sklar reads version {VERSION}"
        )
    for entry in manifest["members"].values():
        if not isinstance(entry, dict) or type(cast("dict[str, Any]", entry).get("bytes")) is not int:
            raise BundleError(MANIFEST, "its manifest does not list the sizes of members")
    return manifest
