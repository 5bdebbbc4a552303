"""The cache file of replicas beside a model's file: a zip of JSON and npy, computed from the model alone.

Members: `manifest.json` (which model and seed), and for each coordinate its base codes in the model's rows, in the rows
of replicas and in those that these were fitted to, one line per replica. A question reads the columns it needs.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sklar.counting.code_table import CodeTable
from sklar.errors import OutputError
from sklar.export.atomic import atomic_file
from sklar.inference.replicas import Replica
from sklar.pipeline.estimation.making import Replicas
from sklar.pipeline.versions import list_versions

FORMAT, VERSION = "sklar-replicas", 1
ENDING = ".replicas"
_DATE = (1980, 1, 1, 0, 0, 0)


def key_of(digest: str, count: int, entropy: int) -> dict[str, Any]:
    """Return what replicas depend on: the model, the seed, their number and the software versions."""
    made = {name: list_versions()[name] for name in ("sklar", "code", "numpy")}
    return {"format": FORMAT, "version": VERSION, "model": digest, "count": count, "seed": entropy, "made by": made}


def keep_replicas(path: str, key: Mapping[str, Any], replicas: Replicas) -> None:
    """Write the file if possible; replicas can always be made again."""
    kinds: dict[str, list[CodeTable]] = {
        "model": [replicas.model],
        "sampled": [replica.sampled for replica in replicas.replicas],
        "drawn": [replica.drawn for replica in replicas.replicas],
    }
    names = list(replicas.model.columns)
    manifest = {"key": key, "columns": names, "rows": [replica.rows for replica in replicas.replicas]}
    with suppress(OutputError), atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        _write(archive, "manifest.json", json.dumps(manifest, sort_keys=True).encode())
        for kind, tables in kinds.items():
            for i, name in enumerate(names):
                codes = np.stack([table.columns[name] for table in tables])
                _write(archive, f"{kind}/{i}.npy", _encode_array(codes.astype(np.min_scalar_type(int(codes.max())))))


def read_kept(path: str, key: Mapping[str, Any], columns: Sequence[str]) -> Replicas | None:
    """Read columns of the replicas in a file; None if it has other replicas, is damaged or does not exist.

    The model's own rows have all columns, since measurements of some may depend on others.
    """
    if not os.path.isfile(path):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            if manifest["key"] != json.loads(json.dumps(key)):
                return None
            kinds = {kind: _read_tables(archive, kind, manifest, columns) for kind in ("sampled", "drawn")}
            (model,) = _read_tables(archive, "model", manifest, manifest["columns"])
        triples = zip(kinds["drawn"], kinds["sampled"], manifest["rows"], strict=True)
        made = tuple(Replica(drawn=drawn, sampled=sampled, rows=int(rows)) for drawn, sampled, rows in triples)
        return Replicas(model=model, replicas=made)
    except (OSError, KeyError, ValueError, TypeError, IndexError, EOFError, zipfile.BadZipFile, RuntimeError):
        return None


def _read_tables(archive: zipfile.ZipFile, kind: str, manifest: Any, columns: Sequence[str]) -> list[CodeTable]:
    found: dict[str, np.ndarray] = {}
    for name in columns:
        content = archive.read(f"{kind}/{manifest['columns'].index(name)}.npy")
        found[name] = np.load(io.BytesIO(content), allow_pickle=False).astype(np.int32)
    return [CodeTable(columns={name: codes[b] for name, codes in found.items()}) for b in range(len(found[columns[0]]))]


def _encode_array(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED, compresslevel=1)
