"""Keys and signatures (Ed25519): the public key proves that the custodian made a bundle."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklar.errors import MissingExtraError, OutputError, UsageError
from sklar.export.atomic import atomic_file
from sklar.portable import open_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ALGORITHM = "ed25519"


def make_key(path: str | PathLike[str]) -> tuple[Path, Path]:
    """Write a new private key to `path` (mode 0600, not overwritten) and the public one to `path`.pub; return both."""
    forms, private = _import_serialization(), _import_ed25519().Ed25519PrivateKey.generate()
    place = Path(path)
    public = place.with_name(place.name + ".pub")
    for taken in (place, public):
        if taken.exists():
            raise OutputError(f"{taken} exists already, and a key is never overwritten")
    secret = private.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    try:
        handle = open_file(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secret)
    except OSError as error:
        raise OutputError(f"cannot write the key {place}: {error.strerror}") from None
    with atomic_file(public) as file:
        file.write(private.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo))
    return place, public


def make_signature(manifest: bytes, key: str | PathLike[str]) -> bytes:
    """Return the signature member of a bundle with this manifest."""
    private = _read_private_key(key)
    record = {
        "algorithm": ALGORITHM,
        "public_key": base64.b64encode(private.public_key().public_bytes_raw()).decode(),
        "signature": base64.b64encode(private.sign(manifest)).decode(),
    }
    return json.dumps(record, indent=1, sort_keys=True).encode() + b"\n"


def signed_by(member: bytes, manifest: bytes) -> Ed25519PublicKey | None:
    """Return the key that signed this manifest, from the signature member; None if the signature is invalid."""
    module = _import_ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        record: dict[str, Any] = json.loads(member)
        written = json.dumps(record, indent=1, sort_keys=True).encode() + b"\n"
        public = module.Ed25519PublicKey.from_public_bytes(base64.b64decode(record["public_key"], validate=True))
        sign = base64.b64decode(record["signature"], validate=True)
        canonical = {"algorithm": ALGORITHM, "public_key": base64.b64encode(public.public_bytes_raw()).decode(),
                     "signature": base64.b64encode(sign).decode()}  # fmt: skip
        if written != member or record != canonical:
            return None
        public.verify(sign, manifest)
    except (InvalidSignature, ValueError, KeyError, TypeError, RecursionError):
        return None
    return public


def read_public_key(path: str | PathLike[str]) -> Ed25519PublicKey:
    """Read a public key file written by `sklar key`."""
    key = _read_key(path, _import_serialization().load_pem_public_key)
    if not isinstance(key, _import_ed25519().Ed25519PublicKey):
        raise UsageError(f"{os.fspath(path)} is not a public key of `sklar key` (its name ends in .pub)")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return a short form of a public key, for comparison by eye."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def _read_private_key(path: str | PathLike[str]) -> Ed25519PrivateKey:
    key = _read_key(path, partial(_import_serialization().load_pem_private_key, password=None))
    if not isinstance(key, _import_ed25519().Ed25519PrivateKey):
        raise UsageError(f"{os.fspath(path)} is not a private key of `sklar key`")
    return key


def _read_key(path: str | PathLike[str], parse: Callable[[bytes], Any]) -> Any:
    """Parse a key file; None if it is not a key."""
    try:
        return parse(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read the key {os.fspath(path)}: {error.strerror}") from None
    except (ValueError, TypeError):
        return None


def _import_ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError("signatures need the extra 'sign': pip install '.[sign]'") from None
    return ed25519


def _import_serialization() -> Any:
    _import_ed25519()
    from cryptography.hazmat.primitives import serialization

    return serialization
