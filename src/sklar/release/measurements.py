"""What may leave the privacy boundary: noisy values with the query that explains them, and how steps are recorded.

A `Measurement` is the currency of everything after the boundary: models are estimated from measurements, and error
bars, checks, verification and audits read the same ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sklar.accounting.noise import Noise
from sklar.arrays import Ints
from sklar.errors import ModelFileError
from sklar.release.agreements import Agreements
from sklar.release.blocks import BlockLikelihoods, BlockMeans
from sklar.release.choices import Discovery, Score
from sklar.release.coefficients import Coefficients
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.sphere import PairSums, StarSums
from sklar.release.taus import SampledTaus, TauVector

SumsQuery = StarSums | PairSums | TauVector | SampledTaus | BlockMeans | BlockLikelihoods | Coefficients | Agreements
Query = Counts | PairCounts | Interaction | SumsQuery
"""Everything that can be measured."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Request:
    """A query and the noise that its values are to carry, in the units of the values."""

    query: Query
    noise: Noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """The noisy values of a query.

    Attributes:
        query: What was measured.
        values: The values, whole multiples of `resolution`, with noise on every one of them.
        noise: Kind and scale of the noise, in the units of the values.
        resolution: The lattice of values and noise: 1 for counts.
        label: Name of the step that asked for it.
    """

    query: Query
    values: np.ndarray
    noise: Noise
    resolution: float = 1.0
    label: str = ""

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on one value."""
        return self.noise.std_on(self.resolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Positions of the chosen candidates, best first up to the noise.

    Attributes:
        epsilon: Of the exponential mechanism behind each pick.
        score: What candidates were scored by; None for a choice read from a file, where it is not kept.
    """

    indices: tuple[int, ...]
    epsilon: float
    score: Score | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundLabels:
    """Labels that passed the threshold of a discovery, in alphabetical order, and their noisy counts."""

    discovery: Discovery
    labels: tuple[str, ...]
    counts: Ints


Release = Measurement | Choice | FoundLabels


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One step as recorded: the digest of what was asked, and what was released."""

    step: int
    label: str
    request: str
    releases: tuple[Release, ...]


def measurements_in(recorded: Sequence[Recorded]) -> tuple[Measurement, ...]:
    """Return the measurements of recorded steps, in order."""
    return tuple(release for step in recorded for release in step.releases if isinstance(release, Measurement))


def split_pairs(measurement: Measurement) -> Iterator[Measurement]:
    """Yield a measurement of one table for each pair of a measurement of all pairs."""
    query = measurement.query
    assert isinstance(query, PairCounts)
    shape, parts = query.shape, np.split(measurement.values, np.cumsum(query.pair_cells)[:-1])
    for (a, b), values in zip(combinations(range(len(shape)), 2), parts, strict=True):
        table = Counts(
            columns=(query.columns[a], query.columns[b]), partitions=(query.partitions[a], query.partitions[b])
        )
        yield Measurement(
            query=table, values=values.reshape(shape[a], shape[b]), noise=measurement.noise, label=measurement.label
        )


def record_line(recorded: Recorded) -> str:
    """Return one step's releases as a line of JSON. What was asked is told by its digest: queries are kept apart."""
    releases = [_entry(release) for release in recorded.releases]
    entry = {"step": recorded.step, "label": recorded.label, "request": recorded.request, "releases": releases}
    return json.dumps(entry, separators=(",", ":"), sort_keys=True)


def line_digest(line: str) -> str:
    """SHA-256 of a recorded line."""
    return hashlib.sha256(line.encode()).hexdigest()


Asked = Query | Discovery | Score | None
"""What one release answers; None for a choice read from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLine:
    """A recorded line before its releases are joined with what was asked."""

    step: int
    label: str
    request: str
    entries: tuple[dict[str, Any], ...]

    def join(self, asked: Sequence[Asked]) -> Recorded:
        """Return the step with the query of each of its releases."""
        try:
            releases = tuple(_release(entry, one, self.label) for entry, one in zip(self.entries, asked, strict=True))
        except (ArithmeticError, ValueError, KeyError, TypeError, zlib.error):
            raise ModelFileError(UNREADABLE) from None
        return Recorded(step=self.step, label=self.label, request=self.request, releases=releases)


UNREADABLE = "a recorded release cannot be read: the file is damaged or of another version"


def read_line(line: str) -> RecordedLine:
    """Parse a recorded line."""
    try:
        entry = json.loads(line)
        entries = tuple(dict(one) for one in entry["releases"])
        return RecordedLine(
            step=int(entry["step"]), label=str(entry["label"]), request=str(entry["request"]), entries=entries
        )
    except (ArithmeticError, ValueError, KeyError, TypeError):
        raise ModelFileError(UNREADABLE) from None


def asked_in(recorded: Recorded) -> tuple[Asked, ...]:
    """Return what each release of a step answers; the scores of choices are not kept."""
    return tuple(_asked(release) for release in recorded.releases)


def _asked(release: Release) -> Asked:
    if isinstance(release, Measurement):
        return release.query
    return release.discovery if isinstance(release, FoundLabels) else None


def _entry(release: Release) -> dict[str, Any]:
    if isinstance(release, Measurement):
        extra = {"noise": asdict(release.noise), "resolution": release.resolution}
        return {"type": "measurement", **extra, **_array(release.values)}
    if isinstance(release, FoundLabels):
        return {"type": "labels", "labels": release.labels, **_array(release.counts)}
    return {"type": "choice", "indices": release.indices, "epsilon": release.epsilon}


def _release(entry: dict[str, Any], asked: Asked, label: str) -> Release:
    if entry["type"] == "choice":
        score = asked if isinstance(asked, Score) else None
        return Choice(indices=tuple(int(i) for i in entry["indices"]), epsilon=float(entry["epsilon"]), score=score)
    if entry["type"] == "labels":
        if not isinstance(asked, Discovery):
            raise TypeError("labels answer a discovery")
        labels = tuple(str(one) for one in entry["labels"])
        if tuple(entry["shape"]) != (len(labels),):  # before anything is unpacked
            raise ValueError("each label has one count")
        found = FoundLabels(discovery=asked, labels=labels, counts=_numbers(entry))
        if not is_found(found):
            raise ValueError("the labels are not those of the discovery")
        return found
    if not isinstance(asked, Query):
        raise TypeError("a measurement answers a query")
    if tuple(entry["shape"]) != values_shape(asked):  # before anything is unpacked
        raise ValueError("the values are not those of the query")
    noise, resolution = Noise(**entry["noise"]), float(entry["resolution"])
    found = Measurement(query=asked, values=_numbers(entry), noise=noise, resolution=resolution, label=label)
    if not is_sound(found):
        raise ValueError("the values are not those of the query")
    return found


def values_shape(query: Query) -> tuple[int, ...]:
    """Return the shape of the values of a query."""
    return (int(query.pair_cells.sum()),) if isinstance(query, PairCounts) else query.shape


def is_found(labels: FoundLabels) -> bool:
    """Return whether labels are different, in order, and passed the threshold of their discovery."""
    ordered = list(labels.labels) == sorted(set(labels.labels)) and labels.counts.shape == (len(labels.labels),)
    return ordered and labels.counts.dtype == np.int64 and bool((labels.counts >= labels.discovery.threshold).all())


def is_sound(measurement: Measurement) -> bool:
    """Return whether values have the shape and the type of their query, and are finite, as noisy values are."""
    counted = isinstance(measurement.query, Counts | PairCounts)
    values, kind = measurement.values, np.int64 if counted else np.float64
    fits = values.shape == values_shape(measurement.query) and values.dtype == kind
    return fits and bool(np.isfinite(values).all()) and 0 < measurement.resolution < math.inf


def _array(values: np.ndarray) -> dict[str, Any]:
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    data = base64.b64encode(zlib.compress(little.tobytes(), 6)).decode()
    return {"shape": list(values.shape), "kind": values.dtype.kind, "data": data}


def _numbers(entry: dict[str, Any]) -> np.ndarray:
    dtype = {"i": "<i8", "f": "<f8"}[entry["kind"]]
    size = math.prod(int(side) for side in entry["shape"]) * np.dtype(dtype).itemsize
    # Never more than the shape says: a few bytes can unpack to any number of zeros.
    raw = zlib.decompressobj().decompress(base64.b64decode(entry["data"]), size + 1)
    values = np.frombuffer(raw, dtype=dtype).reshape(entry["shape"])
    return values.astype(np.dtype(dtype).newbyteorder("="))
