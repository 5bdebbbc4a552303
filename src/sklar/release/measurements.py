"""Releases: noisy values with the query that explains them, and the format in which steps are recorded.

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
from sklar.release.distances import Distances
from sklar.release.sphere import PairSums, StarSums
from sklar.release.taus import SampledTaus, TauVector

SumsQuery = (
    StarSums
    | PairSums
    | TauVector
    | SampledTaus
    | BlockMeans
    | BlockLikelihoods
    | Coefficients
    | Agreements
    | Distances
)
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
        label: Name of the step that requested it.
    """

    query: Query
    values: np.ndarray
    noise: Noise
    resolution: float = 1.0
    label: str = ""

    def __repr__(self) -> str:
        columns = ", ".join(self.query.columns)
        return f"<Measurement '{self.label}': {type(self.query).__name__} of {columns}; {self.values.size:,} values>"

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on one value."""
        return self.noise.std_on(self.resolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Positions of the chosen candidates, best first up to the noise.

    Attributes:
        epsilon: Epsilon of the exponential mechanism behind each pick.
        score: The score of the candidates; None for a choice read from a file, which does not store it.
    """

    indices: tuple[int, ...]
    epsilon: float
    score: Score | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundLabels:
    """Listed labels and those above the threshold of a discovery, in alphabetical order, and their noisy counts."""

    discovery: Discovery
    labels: tuple[str, ...]
    counts: Ints


Release = Measurement | Choice | FoundLabels


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One recorded step: the digest of its request, and its releases."""

    step: int
    label: str
    request: str
    releases: tuple[Release, ...]

    def __repr__(self) -> str:
        return f"<step {self.step} '{self.label}': {len(self.releases)} releases>"


def collect_measurements(recorded: Sequence[Recorded]) -> tuple[Measurement, ...]:
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


def encode_step(recorded: Recorded) -> str:
    """Return one step's releases as a line of JSON. It has the digest of the request; queries are stored elsewhere."""
    releases = [_encode_release(release) for release in recorded.releases]
    entry = {"step": recorded.step, "label": recorded.label, "request": recorded.request, "releases": releases}
    return json.dumps(entry, separators=(",", ":"), sort_keys=True)


def hash_line(line: str) -> str:
    """Return SHA-256 of a recorded line."""
    return hashlib.sha256(line.encode()).hexdigest()


AnyQuery = Query | Discovery | Score | None
"""The query behind one release; None for a choice read from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLine:
    """A recorded line before its releases are joined with their queries."""

    step: int
    label: str
    request: str
    entries: tuple[dict[str, Any], ...]

    def join(self, queries: Sequence[AnyQuery]) -> Recorded:
        """Return the step with the query of each of its releases."""
        try:
            joined = zip(self.entries, queries, strict=True)
            releases = tuple(_decode_release(entry, query, self.label) for entry, query in joined)
        except (ArithmeticError, ValueError, KeyError, TypeError, zlib.error):
            raise ModelFileError(UNREADABLE) from None
        return Recorded(step=self.step, label=self.label, request=self.request, releases=releases)


UNREADABLE = "a recorded release cannot be read: the file is damaged or of another version"


def decode_step(line: str) -> RecordedLine:
    """Parse a recorded line."""
    try:
        entry = json.loads(line)
        entries = tuple(dict(one) for one in entry["releases"])
        return RecordedLine(
            step=int(entry["step"]), label=str(entry["label"]), request=str(entry["request"]), entries=entries
        )
    except (ArithmeticError, ValueError, KeyError, TypeError):
        raise ModelFileError(UNREADABLE) from None


def list_queries(recorded: Recorded) -> tuple[AnyQuery, ...]:
    """Return the query behind each release of a step, without scores of choices and expectations of distances."""
    return tuple(_get_stored_query(release) for release in recorded.releases)


def _get_stored_query(release: Release) -> AnyQuery:
    if isinstance(release, Measurement):
        return release.query.without_expected() if isinstance(release.query, Distances) else release.query
    return release.discovery if isinstance(release, FoundLabels) else None


def _encode_release(release: Release) -> dict[str, Any]:
    if isinstance(release, Measurement):
        extra = {"noise": asdict(release.noise), "resolution": release.resolution}
        return {"type": "measurement", **extra, **_encode_array(release.values)}
    if isinstance(release, FoundLabels):
        return {"type": "labels", "labels": release.labels, **_encode_array(release.counts)}
    return {"type": "choice", "indices": release.indices, "epsilon": release.epsilon}


def _decode_release(entry: dict[str, Any], query: AnyQuery, label: str) -> Release:
    if entry["type"] == "choice":
        score = query if isinstance(query, Score) else None
        return Choice(indices=tuple(int(i) for i in entry["indices"]), epsilon=float(entry["epsilon"]), score=score)
    if entry["type"] == "labels":
        if not isinstance(query, Discovery):
            raise TypeError("labels answer a discovery")
        labels = tuple(str(one) for one in entry["labels"])
        if tuple(entry["shape"]) != (len(labels),):  # before anything is unpacked
            raise ValueError("each label has one count")
        found = FoundLabels(discovery=query, labels=labels, counts=_decode_array(entry))
        if not is_valid_discovery(found):
            raise ValueError("the labels are not those of the discovery")
        return found
    if not isinstance(query, Query):
        raise TypeError("a measurement answers a query")
    if tuple(entry["shape"]) != get_values_shape(query):  # before anything is unpacked
        raise ValueError("the values are not those of the query")
    noise, resolution = Noise(**entry["noise"]), float(entry["resolution"])
    found = Measurement(query=query, values=_decode_array(entry), noise=noise, resolution=resolution, label=label)
    if not is_valid_measurement(found):
        raise ValueError("the values are not those of the query")
    return found


def get_values_shape(query: Query) -> tuple[int, ...]:
    """Return the shape of the values of a query."""
    return (int(query.pair_cells.sum()),) if isinstance(query, PairCounts) else query.shape


def is_valid_discovery(labels: FoundLabels) -> bool:
    """Return whether labels are distinct and sorted, with all listed ones, and others above their threshold."""
    search, known = labels.discovery, set(labels.discovery.listed)
    ordered = list(labels.labels) == sorted(set(labels.labels)) and labels.counts.shape == (len(labels.labels),)
    if not ordered or labels.counts.dtype != np.int64 or not known <= set(labels.labels):
        return False
    pairs = zip(labels.labels, labels.counts.tolist(), strict=True)
    return all(count >= search.threshold or label in known for label, count in pairs)


def is_valid_measurement(measurement: Measurement) -> bool:
    """Return whether values are finite and have the shape and type of their query."""
    counted = isinstance(measurement.query, Counts | PairCounts)
    values, kind = measurement.values, np.int64 if counted else np.float64
    fits = values.shape == get_values_shape(measurement.query) and values.dtype == kind
    return fits and bool(np.isfinite(values).all()) and 0 < measurement.resolution < math.inf


def _encode_array(values: np.ndarray) -> dict[str, Any]:
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    data = base64.b64encode(zlib.compress(little.tobytes(), 6)).decode()
    return {"shape": list(values.shape), "kind": values.dtype.kind, "data": data}


def _decode_array(entry: dict[str, Any]) -> np.ndarray:
    dtype = {"i": "<i8", "f": "<f8"}[entry["kind"]]
    size = math.prod(int(side) for side in entry["shape"]) * np.dtype(dtype).itemsize
    # Unpack no more than the shape says: a few bytes can expand to any number of zeros.
    raw = zlib.decompressobj().decompress(base64.b64decode(entry["data"]), size + 1)
    values = np.frombuffer(raw, dtype=dtype).reshape(entry["shape"])
    return values.astype(np.dtype(dtype).newbyteorder("="))
