"""Check the signature of a published manifest."""

from __future__ import annotations

from typing import Any

from sklar.errors import MissingExtraError
from sklar.pipeline.bundle.keys import fingerprint, signed_by
from sklar.pipeline.verify.findings import Check


def check_signature(part: str, signed: bytes | None, manifest: bytes, expected: Any) -> Check:
    """Check that a manifest is signed by the expected key; without one, state which key signed it."""
    if signed is None:
        if expected is not None:
            return Check(part=part, ok=False, says="It is not signed, and a key was given.")
        return Check(part=part, ok=None, says="It is not signed: anyone may have made it.")
    try:
        signer = signed_by(signed, manifest)
    except MissingExtraError as error:
        return Check(part=part, ok=None, says=f"It is signed. {error}.")
    if signer is None:
        return Check(part=part, ok=False, says="The signature is not one of this manifest.")
    if expected is None:
        says = f"Signed by the key {fingerprint(signer)}; compare it with the custodian's public key (--key)."
        return Check(part=part, ok=None, says=says)
    if signer.public_bytes_raw() != expected.public_bytes_raw():
        says = f"Signed by another key ({fingerprint(signer)}) than the one given ({fingerprint(expected)})."
        return Check(part=part, ok=False, says=says)
    return Check(part=part, ok=True, says=f"Signed by the key given ({fingerprint(signer)}).")
