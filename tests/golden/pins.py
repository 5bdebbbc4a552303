"""What is pinned of a model: its arrays and numbers, and a sample, as they are and as digests of their bytes."""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import sklar
from sklar.model.codec import ArrayPool, encode

FOLDER = Path(__file__).parent
PINS = FOLDER / "pins.json"
LIBRARIES = ("numpy", "scipy", "numba", "pyvinecopulib", "opendp")


def circumstances() -> dict[str, str]:
    """What the last digits depend on: the libraries, the processor, and how many threads linear algebra uses."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return {**{name: version(name) for name in LIBRARIES}, "processor": models[0] if models else "", "threads": threads}


def numbers(model: sklar.Model) -> tuple[np.ndarray, str]:
    """(every number of the model in one vector, a digest of its bytes)."""
    pool = ArrayPool(distinct=False)
    tree, arrays = encode(model.table_model, pool.keep), pool.arrays
    plain = np.array(_numbers_in(tree), dtype=np.float64)
    vector = np.concatenate([plain, *(np.asarray(array, dtype=np.float64).ravel() for array in arrays)])
    return vector, hashlib.sha256(vector.tobytes()).hexdigest()


def sample_bytes(model: sklar.Model) -> str:
    """A digest of 500 rows, drawn both ways."""
    digest = hashlib.sha256()
    for iid in (False, True):
        digest.update(json.dumps(model.sample(500, seed=11, iid=iid).to_pylist(), default=str).encode())
    return digest.hexdigest()


def _numbers_in(tree: Any) -> list[float]:
    """Numbers of an encoded tree, in order; places of arrays are not numbers of the model."""
    if isinstance(tree, bool) or tree is None or isinstance(tree, str):
        return []
    if isinstance(tree, int | float):
        return [float(tree)]
    if isinstance(tree, list):
        return [number for item in tree for number in _numbers_in(item)]
    if "array" in tree:
        return []
    return [number for key in sorted(tree) for number in _numbers_in(tree[key])]
