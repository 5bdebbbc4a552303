"""The only values that may cross the wall: counts, sums, choices and labels that already carry noise."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklar.accounting.noise import Noise
from sklar.arrays import Floats, Ints
from sklar.errors import ModelFileError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyCounts:
    """A table of counts with integer noise on every cell."""

    columns: tuple[str, ...]
    counts: Ints
    noise: Noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyPairs:
    """A table of counts for every pair of columns, of so many groups each, with integer noise on every cell.

    All tables lie one after the other, (0, 1), (0, 2), ..., each with the later column running fastest.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    counts: Ints
    noise: Noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisySums:
    """A vector of sums over rows with noise on every coordinate; values are multiples of `resolution`."""

    values: Floats
    noise: Noise
    resolution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyChoice:
    """Positions of the chosen candidates, best first as far as the noise let it tell."""

    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyLabels:
    """Labels that passed the threshold of a discovery, in alphabetical order, and their noisy counts.

    Attributes:
        floor: Labels with fewer rows were not considered; None in records of old.
    """

    column: str
    labels: tuple[str, ...]
    counts: Ints
    noise: Noise
    threshold: int
    floor: int | None = None


def pair_cells(sizes: tuple[int, ...]) -> Ints:
    """Number of cells of the table of each pair, in the order (0, 1), (0, 2), ..., (m - 2, m - 1)."""
    first, second = np.triu_indices(len(sizes), 1)
    groups = np.array(sizes, dtype=np.int64)
    return groups[first] * groups[second]


Release = NoisyCounts | NoisyPairs | NoisySums | NoisyChoice | NoisyLabels


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One step as recorded: what was asked (as a digest) and what was released."""

    step: int
    label: str
    request: str
    releases: tuple[Release, ...]


def record_line(recorded: Recorded) -> str:
    """One step's releases as a line of JSON."""
    releases = [_entry(release) for release in recorded.releases]
    entry = {"step": recorded.step, "label": recorded.label, "request": recorded.request, "releases": releases}
    return json.dumps(entry, separators=(",", ":"), sort_keys=True)


def line_digest(line: str) -> str:
    """SHA-256 of a recorded line."""
    return hashlib.sha256(line.encode()).hexdigest()


def read_line(line: str) -> Recorded:
    """What a recorded line says."""
    try:
        entry = json.loads(line)
        releases = tuple(_release(e) for e in entry["releases"])
        return Recorded(step=int(entry["step"]), label=entry["label"], request=entry["request"], releases=releases)
    except (ArithmeticError, ValueError, KeyError, TypeError, zlib.error):
        raise ModelFileError("a recorded release cannot be read: the file is damaged or of another version") from None


def _entry(release: Release) -> dict[str, Any]:
    if isinstance(release, NoisyCounts):
        return {"type": "counts", "columns": release.columns, "noise": asdict(release.noise), **_array(release.counts)}
    if isinstance(release, NoisyPairs):
        extra = {"columns": release.columns, "sizes": release.sizes}
        return {"type": "pairs", "noise": asdict(release.noise), **extra, **_array(release.counts)}
    if isinstance(release, NoisySums):
        extra = {"noise": asdict(release.noise), "resolution": release.resolution}
        return {"type": "sums", **extra, **_array(release.values)}
    if isinstance(release, NoisyLabels):
        extra = {"column": release.column, "labels": release.labels, "threshold": release.threshold}
        if release.floor is not None:
            extra["floor"] = release.floor
        return {"type": "labels", "noise": asdict(release.noise), **extra, **_array(release.counts)}
    return {"type": "choice", "indices": release.indices}


def _release(entry: dict[str, Any]) -> Release:
    if entry["type"] == "choice":
        return NoisyChoice(indices=tuple(int(i) for i in entry["indices"]))
    noise = Noise(**entry["noise"])
    if entry["type"] == "sums":
        return NoisySums(values=_numbers(entry, "<f8"), noise=noise, resolution=float(entry["resolution"]))
    if entry["type"] == "pairs":
        columns, sizes = tuple(entry["columns"]), tuple(int(size) for size in entry["sizes"])
        return NoisyPairs(columns=columns, sizes=sizes, counts=_numbers(entry, "<i8"), noise=noise)
    if entry["type"] == "labels":
        labels, counts = tuple(str(label) for label in entry["labels"]), _numbers(entry, "<i8")
        threshold, floor = int(entry["threshold"]), entry.get("floor")
        return NoisyLabels(
            column=entry["column"], labels=labels, counts=counts, noise=noise, threshold=threshold,
            floor=None if floor is None else int(floor),
        )  # fmt: skip
    return NoisyCounts(columns=tuple(entry["columns"]), counts=_numbers(entry, "<i8"), noise=noise)


def _array(values: np.ndarray) -> dict[str, Any]:
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return {"shape": list(values.shape), "data": base64.b64encode(zlib.compress(little.tobytes(), 6)).decode()}


def _numbers(entry: dict[str, Any], dtype: str) -> np.ndarray:
    size = math.prod(int(side) for side in entry["shape"]) * np.dtype(dtype).itemsize
    # Never more than the shape tells: a few bytes can unpack to any number of zeros.
    raw = zlib.decompressobj().decompress(base64.b64decode(entry["data"]), size + 1)
    values = np.frombuffer(raw, dtype=dtype).reshape(entry["shape"])
    return values.astype(np.dtype(dtype).newbyteorder("="))
