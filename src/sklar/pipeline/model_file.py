"""The model file: a zip of JSON and npy members, versioned and checksummed; a private one has public values only.

Members: `manifest.json` (format, version, SHA-256 of the others), `schema.toml`, `claim.json`, `fit.json` (method,
options, noise unit, seed of the post-processing), `releases.jsonl` (all values that left the privacy boundary),
`queries.json` (what each of them measures), `prior.json` (counts of a public table, if the fit used one), `model.json`
(the model) and `arrays/*.npy`, the arrays of the last three, each stored once. The archive comment carries the SHA-256
of the manifest. No pickle is written or read.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
import zipfile
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.claim import Claim, claim_from_dict
from sklar.accounting.unit import Unit
from sklar.errors import ModelFileError, SklarError, UsageError
from sklar.export.atomic import atomic_file
from sklar.inference.fitted import Fitted
from sklar.methods.evidence import Setting
from sklar.methods.facts.marks import without_found_digits
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.protocol import TableModel
from sklar.release.measurements import Recorded, decode_step, encode_step, list_queries
from sklar.sample.rng import generator
from sklar.schema.coordinates import Coordinates, fitted_coordinates
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema, schema_from_toml, schema_to_toml

FORMAT = "sklar-model"
VERSION = 3
MAX_BYTES = 8 * 2**30
"""A model file that unpacks to more than this is refused."""
MAX_COMPRESSION_RATIO = 40
"""Maximum ratio of unpacked to packed size above UNCHECKED_BYTES: noisy numbers compress to a half or a tenth."""
UNCHECKED_BYTES = 64 * 2**20
TEXT_MEMBERS = (
    "manifest.json", "schema.toml", "claim.json", "fit.json", "releases.jsonl", "queries.json", "model.json",
    "prior.json",
)  # fmt: skip
ARRAY_REFERENCE = re.compile(rb'"array": ([0-9]{1,9})')
"""Reference of a JSON member to an array member."""
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The content of a model file.

    Attributes:
        schema: Public facts about the columns.
        claim: The privacy claim.
        fit: The record of the fit: method, options, allowance, unit, seed.
        recorded: Every release, step by step.
        model: The fitted model.
        prior: Counts of the public table that the fit used as a prior, or None.
    """

    schema: Schema
    claim: Claim
    fit: dict[str, Any]
    recorded: tuple[Recorded, ...]
    model: TableModel
    prior: PublicPrior | None = None

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates that the model is over: declared columns, or what public rules leave of them."""
        return fitted_coordinates(self.schema, (margin.column for margin in self.model.margins))

    @property
    def fitted(self) -> Fitted:
        """The fit as post-processing sees it; for private methods only."""
        share = self.fit.get("check_share", 0.0)
        held = self.recorded[-1] if share else None
        recorded = self.recorded[:-1] if share else self.recorded
        return Fitted(
            name=self.fit["method"], setting=self._setting(share), recorded=recorded, model=self.model,
            seed=self.fit["seed"], held=held,
        )  # fmt: skip

    def _setting(self, share: float) -> Setting[Any]:
        """Return the setting of the method, without the share of a held-back check."""
        from sklar.methods.registry import find_method  # a model is loaded without the methods

        facts, allowance = self.fit, Allowance(**self.fit["allowance"])
        seen = without_found_digits(self.schema, facts.get("fit", ""))
        setting = Setting(
            schema=fitted_coordinates(seen, (margin.column for margin in self.model.margins)).schema,
            options=find_method(facts["method"]).stored_options(facts["options"]),
            allowance=allowance,
            unit=Unit(**facts["unit"]),
            rows=facts["rows"],
            prior=self.prior,
            generator=lambda: generator(facts["seed"]),
        )
        if not share:
            return setting
        from sklar.methods.held_back import checked_setting

        return checked_setting(setting, share)


def write_model(stored: Stored, path: str | PathLike[str]) -> None:
    """Write a model file by atomic rename; the same content gives the same bytes."""
    members = model_members(stored)
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
        archive.comment = hashlib.sha256(members["manifest.json"]).hexdigest().encode()


def model_members(stored: Stored) -> dict[str, bytes]:
    """Return all members of a model file, its manifest first."""
    members = _encode_members(stored)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "sklar": stored.claim.version,
        "guarantee": str(stored.claim),
        "members": {name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
    }
    return {"manifest.json": _encode_json(manifest), **members}


def model_digest(stored: Stored) -> str:
    """Return a hash of schema, claim, releases and distribution; it does not depend on whether the model is saved."""
    digest = hashlib.sha256()
    for name, content in sorted(_encode_members(stored).items()):
        digest.update(f"{name}:{hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def read_model(path: str | PathLike[str]) -> Stored:
    """Read and check a model file."""
    members = _read_checked_members(path)
    try:
        return _parse_members(members)
    except (ArithmeticError, AttributeError, ImportError, LookupError, MemoryError, RecursionError, SklarError,
            TypeError, ValueError):  # fmt: skip
        raise ModelFileError(f"{os.fspath(path)} cannot be read: it is damaged or made by another version") from None


def _parse_members(members: dict[str, bytes]) -> Stored:
    count = sum(name.startswith("arrays/") for name in members)
    arrays = [np.load(io.BytesIO(members[f"arrays/{i}.npy"]), allow_pickle=False) for i in range(count)]
    schema = schema_from_toml(members["schema.toml"].decode())
    model: TableModel = decode(_read_json(members["model.json"]), arrays)
    by = fitted_coordinates(schema, (margin.column for margin in model.margins)).schema
    if [(m.column, m.size) for m in model.margins] != [(name, by.size(name)) for name in by.modelled]:
        raise ModelFileError("the model does not have the columns of its schema")
    return Stored(
        schema=schema,
        claim=claim_from_dict(_read_json(members["claim.json"])),
        fit=dict(_read_json(members["fit.json"])),
        recorded=_recorded(members, arrays),
        model=model,
        prior=decode(json.loads(members["prior.json"]), arrays) if "prior.json" in members else None,
    )


def _recorded(members: dict[str, bytes], arrays: list[np.ndarray]) -> tuple[Recorded, ...]:
    """Return the recorded steps: values from one member, queries from another."""
    lines = members["releases.jsonl"].decode().splitlines()
    requested = decode(_read_json(members["queries.json"]), arrays)
    return tuple(decode_step(line).join(own) for line, own in zip(lines, requested, strict=True))


def _encode_members(stored: Stored) -> dict[str, bytes]:
    pool = ArrayPool(distinct=True)
    tree = encode(stored.model, pool.keep)
    members = {
        "schema.toml": schema_to_toml(stored.schema).encode(),
        "claim.json": _encode_json(stored.claim.to_dict()),
        "fit.json": _encode_json(stored.fit),
        "releases.jsonl": "\n".join(encode_step(step) for step in stored.recorded).encode(),
        "queries.json": _encode_json(encode([list_queries(step) for step in stored.recorded], pool.keep)),
        "model.json": _encode_json(tree),
    }
    if stored.prior is not None:
        members["prior.json"] = _encode_json(encode(stored.prior, pool.keep))
    for i, array in enumerate(pool.arrays):
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
        members[f"arrays/{i}.npy"] = buffer.getvalue()
    return members


def _read_checked_members(path: str | PathLike[str]) -> dict[str, bytes]:
    name = _require_regular_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
            if unpacked > min(MAX_BYTES, max(UNCHECKED_BYTES, MAX_COMPRESSION_RATIO * os.stat(path).st_size)):
                raise ModelFileError(f"{name} unpacks to far more than any model and is refused")
            if "manifest.json" not in archive.namelist():
                raise ModelFileError(f"{name} is not a model file of Sklar")
            members = _read_members(name, archive)
            comment = archive.comment
    except OSError as error:
        raise UsageError(f"cannot read the model file {name}: {error.strerror or 'it is not readable'}") from None
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError):
        raise ModelFileError(f"{name} is not a model file, or it is damaged") from None
    except Exception as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{name} is damaged") from None
    _check_manifest(name, members, comment)
    return members


def _read_members(name: str, archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Read the members of a model file; one that no other refers to is refused before it is unpacked."""
    listed = archive.namelist()
    texts = {member: archive.read(member) for member in TEXT_MEMBERS if member in listed}
    referred = {int(number) for text in texts.values() for number in ARRAY_REFERENCE.findall(text)}
    arrays = [f"arrays/{number}.npy" for number in sorted(referred)]
    if not set(listed) <= {*texts, *arrays} or len(set(listed)) < len(listed):
        raise ModelFileError(f"{name} was changed after it was written: it has unknown members")
    return {member: texts[member] if member in texts else archive.read(member) for member in listed}


def _require_regular_file(path: str | PathLike[str]) -> str:
    """Return the path as text; refuse what is not a regular file, since reading a device may never end."""
    try:
        name = os.fspath(path)
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        raise UsageError(f"there is no model file '{os.fspath(path)}'") from None
    except (OSError, TypeError, ValueError):
        raise UsageError("the path of the model file is not a usable path") from None
    if not stat.S_ISREG(mode):
        raise UsageError(f"cannot read the model file {name}: it is not a regular file")
    return name


def _check_manifest(name: str, members: dict[str, bytes], comment: bytes) -> None:
    listing = members.pop("manifest.json", b"")
    try:
        manifest = json.loads(listing)
        known = manifest["format"] == FORMAT
        version, digests = manifest["version"], dict(manifest["members"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{name} is not a model file of Sklar") from None
    if not known or not isinstance(version, int):
        raise ModelFileError(f"{name} is not a model file of Sklar")
    if version != VERSION:
        raise ModelFileError(
            f"{name} has format version {version}; this Sklar reads version {VERSION}. Fit the model again"
        )
    found = {member: hashlib.sha256(content).hexdigest() for member, content in members.items()}
    if found != digests or hashlib.sha256(listing).hexdigest().encode() != comment:
        raise ModelFileError(f"{name} was changed after it was written: its checksums do not match")


def _read_json(content: bytes) -> Any:
    """Parse JSON in which all numbers must be finite: comparisons with NaN would be meaningless."""
    return json.loads(content, parse_constant=_parse_finite, parse_float=_parse_finite)


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that is not finite")
    return number


def _encode_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()
