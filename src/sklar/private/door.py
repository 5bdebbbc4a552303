"""The Door itself: charge the ledger, read the rows, add noise, record; in this order, for every request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sklar.accounting.events import Event
from sklar.accounting.noise import Noise
from sklar.accounting.unit import VOTE_BITS, Unit
from sklar.arrays import Ints
from sklar.counting.evaluate import exact_values, require_room
from sklar.counting.scores import check_estimates, exact_scores
from sklar.counting.tables import exact_counts
from sklar.counting.whole_numbers import WholeNumbers
from sklar.errors import DoorError
from sklar.private.noise import NoiseSource, with_noise
from sklar.private.recorder import Recorder
from sklar.private.requests import check_discoveries, check_noise, check_requests, check_score
from sklar.release.charges import (
    choice_digest,
    choice_events,
    discovery_events,
    lattice_step,
    measure_digest,
    measure_events,
    released_step,
    request_digest,
)
from sklar.release.choices import Discovery, Score
from sklar.release.counts import Counts, PairCounts
from sklar.release.measurements import Asked, Choice, FoundLabels, Measurement, Release, Request
from sklar.rows import Rows, exact_label_counts
from sklar.schema.table import Schema


class PrivateDoor:
    """A Door over encoded rows. It holds the rows; what it returns carries noise that was paid for."""

    def __init__(
        self, rows: Rows, schema: Schema, unit: Unit, recorder: Recorder, noise: NoiseSource,
        doing: Callable[[str], None] | None = None,
    ):  # fmt: skip
        if unit.votes != rows.votes:
            raise DoorError("rows that share votes and a promise for them go together only")
        self._rows = rows
        self._schema = schema
        self._unit = unit
        self._recorder = recorder
        self._noise = noise
        self._doing = doing or (lambda what: None)

    @property
    def public_rows(self) -> int | None:
        """The number of persons under replace neighbours, where it is public by definition; else None.

        A person is a row, unless the schema says who is one.
        """
        return self._rows.exact_persons if self._unit.neighbours == "replace" else None

    def measure(self, requests: Sequence[Request], label: str) -> tuple[Measurement, ...]:
        requests = tuple(requests)  # a list could change between charge and read
        check_requests(requests, self._schema, self.public_rows)
        queries = [request.query for request in requests]
        require_room(queries, self._schema)  # before anything is charged
        steps = [lattice_step(query, self._unit) for query in queries]
        inside = [_noise_in_units(request.noise, step) for request, step in zip(requests, steps, strict=True)]
        events = measure_events(requests, label, self._unit)

        def read() -> tuple[Release, ...]:
            # Sensitivity: one person moves the values of each query by at most `query.sensitivity`, as proved in its
            # module of `sklar.release`; each was charged above for exactly that, at its own scale. Values and noise are
            # in whole units of the query's lattice.
            noisy = with_noise(self._noise, exact_values(queries, self._rows), inside, _tables(queries))
            return tuple(
                self._measurement(request, values, step, label)
                for request, values, step in zip(requests, noisy, steps, strict=True)
            )

        releases = self._step(label, events, measure_digest(requests), queries, read)
        return tuple(release for release in releases if isinstance(release, Measurement))

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> Choice:
        check_score(score, epsilon, picks, self._schema)
        require_room(score.tables, self._schema)  # before anything is charged
        check_estimates(score, self._unit)
        events = choice_events(epsilon, picks, label, self._unit)

        def read() -> tuple[Release, ...]:
            specs = [(table.columns, table.partitions) for table in score.tables]
            scores = exact_scores(score, exact_counts(self._rows, specs), self._unit)
            # Sensitivity: one person moves each score by at most this, as proved in release/choices.py.
            moved = score.sensitivity(self._unit)
            indices = self._noise.pick(scores, moved, epsilon, picks)
            return (Choice(indices=indices, epsilon=float(epsilon), score=score),)

        (release,) = self._step(label, events, choice_digest(score, epsilon, picks), (score,), read)
        assert isinstance(release, Choice)
        return release

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[FoundLabels, ...]:
        check_discoveries(requests, self._schema)
        self._rows.require_labels()  # before anything is charged
        events = discovery_events(requests, label, self._unit)

        def read() -> tuple[Release, ...]:
            floors = {request.column: request.floor for request in requests}
            return noisy_labels(requests, exact_label_counts(self._rows, floors), self._noise)

        releases = self._step(label, events, request_digest(tuple(requests)), tuple(requests), read)
        return tuple(release for release in releases if isinstance(release, FoundLabels))

    def _measurement(self, request: Request, noisy_values: WholeNumbers, step: float, label: str) -> Measurement:
        """Noisy whole numbers in the units of the query; votes are rounded to whole ones, which looks at no row."""
        query = request.query
        if isinstance(query, Counts | PairCounts):
            values: np.ndarray = whole_counts(noisy_values, self._unit)
        else:
            values = np.asarray(noisy_values * step, dtype=np.float64)
        resolution = released_step(query, self._unit)
        return Measurement(query=query, values=values, noise=request.noise, resolution=resolution, label=label)

    def _step(
        self, label: str, events: Sequence[Event], digest: str, asked: Sequence[Asked],
        read: Callable[[], tuple[Release, ...]],
    ) -> tuple[Release, ...]:  # fmt: skip
        recorded = self._recorder.recall(label, digest, asked)
        if recorded is not None:
            return recorded
        self._doing(f"measuring {label}")
        step = self._recorder.charge(events, label, digest)
        releases = read()
        self._recorder.record(step, label, digest, releases)
        self._doing(f"working on {label}")
        return releases


def _noise_in_units(noise: Noise, step: float) -> Noise:
    """The noise in units of what is counted: rows, parts of a vote, or units of a vector."""
    inside = Noise(kind=noise.kind, scale=noise.scale / step)
    check_noise(inside)
    return inside


def _tables(queries: Sequence[object]) -> Ints | None:
    """The cells of each of the tables that one vector of pair counts holds; None where each array is one table."""
    return queries[0].pair_cells if len(queries) == 1 and isinstance(queries[0], PairCounts) else None


def whole_counts(noisy_counts: Ints, unit: Unit) -> Ints:
    """Return noisy counts as measurements hold them: those of votes to the nearest whole one."""
    return (noisy_counts + (1 << VOTE_BITS - 1)) >> VOTE_BITS if unit.votes else noisy_counts


def noisy_labels(
    requests: Sequence[Discovery], exact_labels: Mapping[str, Mapping[str, int]], source: NoiseSource
) -> tuple[FoundLabels, ...]:
    """Add noise to the count of each label and keep those above the threshold.

    A row has at most one label, which depends on the row alone (`rows.codes.label_counts`). Where the schema says who a
    person is, a person names at most one, which depends on that person's rows alone (`persons.labels`). So the counts
    of labels are a table over all texts, which one person moves by (unit.l1, unit.l2) and no entry by more than
    rows_per_person. Two things differ from an ordinary table: labels with fewer than `floor` are left out, and only
    noisy counts from `threshold` on are shown. That a label which is in one neighbour's list and not in the other's
    stays hidden, except with the charged delta, is proved in `sklar.accounting.composition.discovery`.
    """
    listed = [[(x, n) for x, n in exact_labels[r.column].items() if n >= r.floor] for r in requests]
    exact = [np.array([count for _, count in labels], dtype=np.int64) for labels in listed]
    # Sensitivity: as argued above; each request was charged as one event at its own scale and threshold.
    noisy = source.add(exact, [request.noise for request in requests])
    return tuple(
        _labels_above(request, [label for label, _ in labels], counts)
        for request, labels, counts in zip(requests, listed, noisy, strict=True)
    )


def _labels_above(request: Discovery, labels: Sequence[str], noisy_counts: np.ndarray) -> FoundLabels:
    kept = np.flatnonzero(noisy_counts >= request.threshold)
    # Alphabetical, so that the order reveals nothing that the noisy counts do not.
    order = sorted(kept.tolist(), key=lambda i: labels[i])
    return FoundLabels(discovery=request, labels=tuple(labels[i] for i in order), counts=noisy_counts[order])
