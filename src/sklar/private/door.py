"""The Door over rows: charge the ledger, read the rows, add noise, record; in this order, for every request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sklar.accounting.events import Event
from sklar.accounting.noise import Noise
from sklar.accounting.unit import VOTE_BITS, Unit
from sklar.arrays import Ints
from sklar.counting.evaluate import exact_values, require_memory
from sklar.counting.scores import exact_scores, require_exact_estimates
from sklar.counting.tables import exact_counts
from sklar.counting.whole_numbers import WholeNumbers
from sklar.errors import DoorError
from sklar.private.noise import NoiseSource, add_noise
from sklar.private.recorder import Recorder
from sklar.private.requests import check_discoveries, check_noise, check_requests, check_score
from sklar.release.charges import (
    get_lattice_step,
    get_released_step,
    hash_request,
    price_choice,
    price_discoveries,
    price_measurements,
)
from sklar.release.choices import Discovery, Score
from sklar.release.counts import Counts, PairCounts
from sklar.release.measurements import AnyQuery, Choice, FoundLabels, Measurement, Release, Request
from sklar.rows import Rows, exact_label_counts
from sklar.schema.table import Schema


class PrivateDoor:
    """A Door over encoded rows. Everything it returns has noise that was charged before."""

    def __init__(
        self, rows: Rows, schema: Schema, unit: Unit, recorder: Recorder, noise: NoiseSource,
        report: Callable[[str], None] | None = None,
    ):  # fmt: skip
        if unit.votes != rows.votes:
            raise DoorError("the unit of privacy and the rows must agree on whether rows share votes")
        self._rows = rows
        self._schema = schema
        self._unit = unit
        self._recorder = recorder
        self._noise = noise
        self._report = report or (lambda what: None)

    @property
    def public_rows(self) -> int | None:
        """Number of persons (rows, unless the schema declares persons) where it is public: under replace neighbours."""
        return self._rows.exact_persons if self._unit.neighbours == "replace" else None

    def measure(self, requests: Sequence[Request], label: str) -> tuple[Measurement, ...]:
        requests = tuple(requests)  # a list could change between charge and read
        check_requests(requests, self._schema, self.public_rows)
        queries = [request.query for request in requests]
        require_memory(queries, self._schema)  # before anything is charged
        steps = [get_lattice_step(query, self._unit) for query in queries]
        inside = [_noise_in_units(request.noise, step) for request, step in zip(requests, steps, strict=True)]
        events = price_measurements(requests, label, self._unit)

        def read() -> tuple[Release, ...]:
            # Sensitivity: one person moves the values of each query by at most `query.sensitivity`; the proof is in its
            # module of `sklar.release`; each was charged above for exactly that, at its own scale. Values and noise are
            # in whole units of the query's lattice.
            noisy = add_noise(self._noise, exact_values(queries, self._rows), inside, _get_pair_cells(queries))
            return tuple(
                self._measurement(request, values, step, label)
                for request, values, step in zip(requests, noisy, steps, strict=True)
            )

        releases = self._run_step(label, events, hash_request(tuple(requests)), queries, read)
        return tuple(release for release in releases if isinstance(release, Measurement))

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> Choice:
        check_score(score, epsilon, picks, self._schema)
        require_memory(score.tables, self._schema)  # before anything is charged
        require_exact_estimates(score, self._unit)
        events = price_choice(epsilon, picks, label, self._unit)

        def read() -> tuple[Release, ...]:
            specs = [(table.columns, table.partitions) for table in score.tables]
            scores = exact_scores(score, exact_counts(self._rows, specs), self._unit)
            # Sensitivity: one person moves each score by at most this; the proof is in release/choices.py.
            moved = score.sensitivity(self._unit)
            indices = self._noise.pick(scores, moved, epsilon, picks)
            return (Choice(indices=indices, epsilon=float(epsilon), score=score),)

        (release,) = self._run_step(label, events, hash_request(score, float(epsilon), picks), (score,), read)
        assert isinstance(release, Choice)
        return release

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[FoundLabels, ...]:
        check_discoveries(requests, self._schema)
        self._rows.require_labels()  # before anything is charged
        events = price_discoveries(requests, label, self._unit)

        def read() -> tuple[Release, ...]:
            floors = {request.column: request.floor for request in requests}
            listed = {request.column: request.listed for request in requests}
            return add_noise_to_labels(requests, exact_label_counts(self._rows, floors, listed), self._noise)

        releases = self._run_step(label, events, hash_request(tuple(requests)), tuple(requests), read)
        return tuple(release for release in releases if isinstance(release, FoundLabels))

    def _measurement(self, request: Request, noisy_values: WholeNumbers, step: float, label: str) -> Measurement:
        """Convert noisy whole numbers to the units of the query; rounding votes to whole ones is post-processing."""
        query = request.query
        if isinstance(query, Counts | PairCounts):
            values: np.ndarray = round_votes(noisy_values, self._unit)
        else:
            values = np.asarray(noisy_values * step, dtype=np.float64)
        resolution = get_released_step(query, self._unit)
        return Measurement(query=query, values=values, noise=request.noise, resolution=resolution, label=label)

    def _run_step(
        self, label: str, events: Sequence[Event], digest: str, subjects: Sequence[AnyQuery],
        read: Callable[[], tuple[Release, ...]],
    ) -> tuple[Release, ...]:  # fmt: skip
        recorded = self._recorder.recall(label, digest, subjects)
        if recorded is not None:
            return recorded
        self._report(f"measuring {label}")
        step = self._recorder.charge(events, label, digest)
        releases = read()
        self._recorder.record(step, label, digest, releases)
        self._report(f"working on {label}")
        return releases


def _noise_in_units(noise: Noise, step: float) -> Noise:
    """Return the noise in units of the exact integers: rows, parts of a vote, or units of a vector."""
    inside = Noise(kind=noise.kind, scale=noise.scale / step)
    check_noise(inside)
    return inside


def _get_pair_cells(queries: Sequence[object]) -> Ints | None:
    """Return the size of each table in one vector of pair counts; None where each array is one table."""
    return queries[0].pair_cells if len(queries) == 1 and isinstance(queries[0], PairCounts) else None


def round_votes(noisy_counts: Ints, unit: Unit) -> Ints:
    """Round noisy counts of votes to the nearest whole vote; counts of rows are whole already."""
    return (noisy_counts + (1 << VOTE_BITS - 1)) >> VOTE_BITS if unit.votes else noisy_counts


def add_noise_to_labels(
    requests: Sequence[Discovery], exact_labels: Mapping[str, Mapping[str, int]], source: NoiseSource
) -> tuple[FoundLabels, ...]:
    """Add noise to the count of each label and keep listed ones and those above the threshold.

    A row has at most one label, which depends on the row alone (`rows.codes.label_counts`). Where the schema declares
    persons, a person has at most one, which depends on that person's rows alone (`persons.labels`). So the counts of
    labels are a table over all texts, which one person moves by (unit.l1, unit.l2) and no entry by more than
    rows_per_person. Two things differ from an ordinary table: labels with fewer than `floor` rows are left out, and
    only noisy counts of at least `threshold` are released. Neither holds for listed labels, which are cells like any
    other. The proof that a label of only one of two neighbours stays
    hidden, except with the charged delta, is in `sklar.accounting.composition.discovery`.
    """
    held = [_list_considered(request, exact_labels[request.column]) for request in requests]
    exact = [np.array(list(labels.values()), dtype=np.int64) for labels in held]
    # Sensitivity: as argued above; each request was charged as one event at its own scale and threshold.
    noisy = source.add(exact, [request.noise for request in requests])
    return tuple(
        _select_labels(request, list(labels), counts)
        for request, labels, counts in zip(requests, held, noisy, strict=True)
    )


def _list_considered(request: Discovery, exact_labels: Mapping[str, int]) -> dict[str, int]:
    """Return the labels that get noise: all listed ones, which no row need have, and others from the floor on."""
    others = {label: count for label, count in exact_labels.items() if count >= request.floor}
    return others | {label: exact_labels.get(label, 0) for label in request.listed}


def _select_labels(request: Discovery, labels: Sequence[str], noisy_counts: np.ndarray) -> FoundLabels:
    known = set(request.listed)
    kept = [i for i, label in enumerate(labels) if noisy_counts[i] >= request.threshold or label in known]
    # Alphabetical, so that the order reveals nothing that the noisy counts do not.
    order = sorted(kept, key=lambda i: labels[i])
    return FoundLabels(discovery=request, labels=tuple(labels[i] for i in order), counts=noisy_counts[order])
