"""Validation of requests: frozen data of a listed kind that fits the schema; everything else is refused unread."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from sklar.accounting.noise import Noise
from sklar.counting.evaluate import SUM_RULES
from sklar.counting.plans import MAX_BYTES
from sklar.errors import DoorError, TableTooLargeError
from sklar.private.noise import require_samplable
from sklar.release.choices import Candidate, Discovery, Score, SplitNorms, TableDistance, TailNorms
from sklar.release.counts import Counts, Interaction, PairCounts, Partitioned
from sklar.release.distances import Distances
from sklar.release.measurements import Query, Request
from sklar.release.scores import Scores
from sklar.release.sphere import Contrasts
from sklar.release.taus import SampledTaus, TauVector
from sklar.rows.codes.table import stored_places
from sklar.schema.columns import Labels
from sklar.schema.coordinates import views_of
from sklar.schema.table import Schema

FROZEN_TYPES = frozenset(
    {Request, Noise, Counts, PairCounts, Interaction, Scores, Contrasts, Candidate, TableDistance, TailNorms,
     SplitNorms, Discovery, *SUM_RULES}
)  # fmt: skip
"""All classes that a request may be made of. A subclass is another class: it could carry code."""


def check_requests(requests: Sequence[Request], schema: Schema, public_rows: int | None) -> None:
    """Refuse anything but a list of requests for listed queries that fit the schema, with usable noise."""
    if type(requests) not in (tuple, list) or not requests:
        raise DoorError("requests must be a list or tuple with at least one request")
    for request in requests:
        if type(request) is not Request:
            raise DoorError("only Request objects are accepted here, never functions or other objects")
        _require_frozen(request)
        check_noise(request.noise)
        _check_query(request.query, schema, public_rows)
    _check_one_table((request.query.columns for request in requests), schema)


def _check_query(query: Query, schema: Schema, public_rows: int | None) -> None:
    if type(query) in (Counts, PairCounts, Interaction):
        assert isinstance(query, Partitioned)
        _check_columns(query.columns, schema)
        _check_partitions(query.columns, query.partitions, schema)
        if type(query) is PairCounts and len(query.columns) < 2:
            raise DoorError("pairs need two or more columns")
        return
    if type(query) not in SUM_RULES:
        raise DoorError("only the listed queries, whose sensitivity has a proof, can be measured")
    if isinstance(query, Distances):
        if query.expected is None:
            raise DoorError("distances need what is expected of every cell")
        for table in query.tables:
            _check_query(table, schema, public_rows)
    if {name for name, _ in query.reads} != set(query.columns):
        raise DoorError("a query must state the number of base codes of every column that it reads")
    for name, codes in query.reads:
        _check_columns((name,), schema)
        if codes != schema.size(name):
            raise DoorError(f"a lookup for column '{name}' does not have one entry per base code")
    if isinstance(query, SampledTaus) and query.rows > (public_rows or 0):
        raise DoorError("the sample of a tau has more rows than the table")
    if type(query) is TauVector and query.rows != public_rows:
        raise DoorError("the number of rows stated for a tau is not that of the table")


def check_score(score: Score, epsilon: float, picks: int, schema: Schema) -> None:
    """Refuse a score that is not frozen data, or candidates that do not fit the schema."""
    if type(score) is TailNorms or type(score) is SplitNorms:
        _check_choice(score, score.count, epsilon, picks)
        _check_columns((score.column,), schema)
        _check_partitions((score.column,), (score.partition,), schema)
        bins = int(score.partition.max()) + 1
        if isinstance(score, SplitNorms) and score.end > bins:
            raise DoorError("runs can cover no more bins than the histogram has")
        if isinstance(score, TailNorms) and (not np.isfinite(score.penalties).all() or score.count > bins):
            raise DoorError("penalties must be finite, and at most one for each bin")
        return
    if type(score) is not TableDistance or type(score.candidates) is not tuple or not score.candidates:
        raise DoorError("only a TableDistance with candidates, TailNorms or SplitNorms is accepted as a score")
    _check_choice(score, len(score.candidates), epsilon, picks)
    if score.bonuses and len(score.bonuses) != len(score.candidates):
        raise DoorError("bonuses must be empty or one for each candidate")
    for candidate in score.candidates:
        if type(candidate) is not Candidate:
            raise DoorError("only Candidate tables are accepted in a score")
        _check_columns(candidate.columns, schema)
        _check_partitions(candidate.columns, candidate.partitions, schema)
        if candidate.estimate.shape != candidate.shape or not np.isfinite(candidate.estimate).all():
            raise DoorError("the estimate of a candidate must be finite and have the shape of its table")
    _check_one_table((candidate.columns for candidate in score.candidates), schema)


def _check_choice(score: Score, candidates: int, epsilon: float, picks: int) -> None:
    _require_frozen(score)
    if type(picks) is not int or not 1 <= picks <= candidates:
        raise DoorError("picks must lie between one and the number of candidates")
    if not (isinstance(epsilon, float | int) and 0 < epsilon < float("inf")):
        raise DoorError("the epsilon of a choice must be positive and finite")


def check_discoveries(requests: Sequence[Discovery], schema: Schema) -> None:
    """Refuse anything but a list of discoveries, each for a column of labels of its own."""
    if type(requests) not in (tuple, list) or not requests:
        raise DoorError("discoveries must be a list or tuple with at least one request")
    for request in requests:
        if type(request) is not Discovery:
            raise DoorError("only Discovery requests are accepted here, never functions or other objects")
        _require_frozen(request)
        _check_columns((request.column,), schema)
        if not isinstance(schema[request.column], Labels):
            raise DoorError(f"column '{request.column}' has no labels to find")
        check_noise(request.noise)
        if type(request.threshold) is not int or type(request.floor) is not int or request.floor < 1:
            raise DoorError("the threshold and the floor of a discovery must be whole numbers, the floor at least 1")
        if type(request.listed) is not tuple or not all(type(label) is str for label in request.listed):
            raise DoorError("the listed labels of a discovery must be a tuple of texts")
    if len({request.column for request in requests}) < len(requests):
        raise DoorError("a column is requested twice")


def check_step(label: str, noise: Noise, cells: int) -> None:
    """Refuse a planned step if its noise cannot be drawn or its counts do not fit into memory."""
    check_noise(noise)
    if 8 * cells > MAX_BYTES:
        raise TableTooLargeError(
            f"the step '{label}' would count {cells:,} cells at once, more than fit into {MAX_BYTES >> 30} GiB; use "
            "fewer columns, or fewer values or bins for the largest of them"
        )


def check_noise(noise: Noise) -> None:
    """Refuse noise that is not a plain Noise with a positive, finite scale within 64-bit integers."""
    if type(noise) is not Noise or noise.kind not in ("gaussian", "laplace"):
        raise DoorError("noise must be a Noise of kind gaussian or laplace")
    if not (isinstance(noise.scale, float | int) and 0 < noise.scale < float("inf")):
        raise DoorError("a noise scale must be positive and finite")
    require_samplable(noise)


def _check_columns(columns: object, schema: Schema) -> None:
    if type(columns) is not tuple or not all(type(name) is str for name in columns):
        raise DoorError("the columns of a request must be a tuple of names")
    unknown = [name for name in columns if name not in schema.modelled]
    if unknown:
        raise DoorError(f"column '{unknown[0]}' is not a modelled column of the schema")
    if len(set(columns)) < len(columns):
        raise DoorError("a request names a column twice")


def _check_one_table(requests: Iterable[tuple[str, ...]], schema: Schema) -> None:
    """Refuse one request over first rows and transitions of persons: they are stored as separate tables."""
    if views_of(schema):
        stored_places(schema, tuple({name for columns in requests for name in columns}))


def _check_partitions(columns: tuple[str, ...], partitions: tuple[np.ndarray, ...], schema: Schema) -> None:
    if len(partitions) != len(columns):
        raise DoorError("a table needs one partition per column")
    for name, partition in zip(columns, partitions, strict=True):
        if partition.shape != (schema.size(name),):
            raise DoorError(f"the partition of column '{name}' must have one group for each of its base codes")


def _require_frozen(value: object, depth: int = 0) -> None:
    """Refuse a request with anything but listed dataclasses, tuples, plain scalars and read-only plain arrays."""
    if depth > 6:
        raise DoorError("a request is nested too deeply")
    if value is None or type(value) in (str, int, float, bool):
        return
    if type(value) is np.ndarray and value.dtype.kind in "iuf" and not value.flags.writeable:
        return
    if type(value) is tuple:
        for item in value:
            _require_frozen(item, depth + 1)
    elif type(value) in FROZEN_TYPES:
        assert dataclasses.is_dataclass(value)
        for field in dataclasses.fields(value):
            _require_frozen(getattr(value, field.name), depth + 1)
    else:
        raise DoorError("a request may contain only names, numbers and read-only arrays, never functions or objects")
