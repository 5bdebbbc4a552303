"""Tables read again for every pass: a file that changes on the way leaves the ledger right and the fit resumable."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.accounting.ledger import read_ledger
from sklar.errors import SourceError

SCHEMA = sklar.Schema({"a": sklar.Integer(0, 99), "b": sklar.Boolean()})


@pytest.mark.parametrize("cached", [False, True])
def test_a_file_that_changes_between_passes(cached: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path, ledger = tmp_path / "people.parquet", tmp_path / "people.ledger"
    pq.write_table(pa.table({"a": rng.integers(0, 100, 5000), "b": rng.random(5000) < 0.5}), path)
    times = os.stat(path)
    passes = 0

    def changed(fraction: float) -> None:
        nonlocal passes
        passes += fraction == 0
        if fraction == 1 and passes == 1 and not cached:
            os.utime(path, ns=(1, 1))

    reader = {"progress": changed, "cache_bytes": 0, **({"cache": tmp_path / "codes"} if cached else {})}
    asked = {"method": "independent", "epsilon": 1.0, "ledger": ledger, "new_ledger": True}
    if cached:  # the codes were kept: the file is read once, and nothing can come between
        sklar.fit(path, SCHEMA, **asked, read=reader)
        assert passes == 1 and os.listdir(tmp_path / "codes") == []
        return
    with pytest.raises(SourceError, match="changed"):
        sklar.fit(path, SCHEMA, **asked, read=reader)
    (unfinished,) = read_ledger(ledger).unfinished
    charged = len(unfinished.steps)
    assert charged == 1 and not unfinished.digests  # charged before it was read, and nothing was released
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    sklar.fit(path, SCHEMA, **asked)
    assert not read_ledger(ledger).unfinished
