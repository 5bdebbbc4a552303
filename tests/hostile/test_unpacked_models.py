"""A model file that unpacks to much more than a model needs is refused before it is unpacked into memory."""

from __future__ import annotations

import hashlib
import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np

import sklar
from tests.contracts.tables import people, schema


def test_a_member_that_no_model_has_is_not_unpacked(tmp_path: Path) -> None:
    """It zips 110 times, which is below the ratio that is suspected; a file of 40 MB would take 8 GB."""
    columns = ["sex", "region"]
    facts = sklar.Schema({name: schema()[name] for name in columns})
    sklar.fit(people(100)[columns], facts, method="independent", epsilon=1.0).save(tmp_path / "m.sklar")
    with zipfile.ZipFile(tmp_path / "m.sklar") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    rng, content = np.random.default_rng(0), io.BytesIO()
    np.save(content, np.frombuffer(b"".join(rng.bytes(2) + bytes(598) for _ in range(200)) * 500, dtype=np.uint8))
    members["arrays/99.npy"] = content.getvalue()
    manifest = json.loads(members.pop("manifest.json"))
    manifest["members"] = {name: hashlib.sha256(one).hexdigest() for name, one in members.items()}
    listing = json.dumps(manifest).encode()
    with zipfile.ZipFile(tmp_path / "large.sklar", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, one in {"manifest.json": listing, **members}.items():
            archive.writestr(name, one)
        archive.comment = hashlib.sha256(listing).hexdigest().encode()
    tracemalloc.start()
    try:
        assert not sklar.verify(tmp_path / "large.sklar").ok
        assert tracemalloc.get_traced_memory()[1] < 2 * 10**7
    finally:
        tracemalloc.stop()
