"""The Door itself: charge the ledger, read the rows, add noise, record; in this order, for every request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sklar.accounting.allowance import Allowance
from sklar.accounting.events import Event
from sklar.accounting.noise import Noise
from sklar.accounting.unit import VOTE_BITS, Unit
from sklar.arrays import Ints
from sklar.errors import DoorError
from sklar.private.features import exact_feature
from sklar.private.interactions import exact_interactions
from sklar.private.noise import NoiseSource
from sklar.private.recorder import Recorder
from sklar.private.requests import (
    check_discoveries,
    check_feature,
    check_noise,
    check_pairs,
    check_score,
    check_tables,
)
from sklar.private.scores import check_estimates, exact_scores, score_sensitivity, score_tables
from sklar.private.wide import WholeNumbers, with_noise
from sklar.release.charges import (
    choice_event,
    count_events,
    discovery_events,
    interaction_events,
    pairs_event,
    request_digest,
    sum_event,
    sum_resolution,
)
from sklar.release.door import Discovery, Interaction, PairTables, RecodedTable, Score, Table
from sklar.release.features import Feature, SampledTaus, TauVector
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums, Release, pair_cells
from sklar.rows import Rows, exact_counts, exact_label_counts, exact_pair_counts, require_pair_room
from sklar.rows.counting.tables import plan_counts
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema

TableSpec = tuple[tuple[str, ...], tuple[npt.NDArray[np.int32], ...] | None]


class PrivateDoor:
    """A Door over encoded rows. It holds the rows; what it returns carries noise that was paid for."""

    def __init__(
        self, rows: Rows, schema: Schema, allowance: Allowance, unit: Unit, recorder: Recorder, noise: NoiseSource,
        doing: Callable[[str], None] | None = None,
    ):  # fmt: skip
        if unit.votes != rows.votes:
            raise DoorError("rows that share votes and a promise for them go together only")
        self._rows = rows
        self._recorder = recorder
        self._noise = noise
        self._doing = doing or (lambda what: None)
        self.schema = schema
        self.allowance = allowance
        self.unit = unit
        self.prior: PublicPrior | None = None

    @property
    def rows(self) -> int | None:
        """The number of persons under replace neighbours, where it is public by definition; else None.

        A person is a row, unless the schema says who is one.
        """
        return self._rows.exact_persons if self.unit.neighbours == "replace" else None

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        check_tables(tables, Table, self.schema)
        return self._count([(t.columns, None) for t in tables], [t.noise for t in tables], label, tuple(tables))

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        check_tables(tables, RecodedTable, self.schema)
        return self._count([(t.columns, t.lookups) for t in tables], [t.noise for t in tables], label, tuple(tables))

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        check_pairs(request, self.schema)
        sizes = request.shape
        require_pair_room(request.columns, sizes)  # refuses tables that would not fit, before anything is charged
        event = pairs_event(request, label, self.unit)
        (inside,) = self._inside([request.noise])

        def measure() -> tuple[Release, ...]:
            exact_tables = exact_pair_counts(self._rows, request.columns, request.lookups)
            # Sensitivity: as for any tables of counts. A row is in exactly one cell of the table of each pair; the
            # charge is for as many tables as there are pairs, all with the same noise.
            (noisy,) = self._noise.add([exact_tables], [inside], pair_cells(sizes))
            counts = whole_counts(noisy, self.unit)
            return (NoisyPairs(columns=request.columns, sizes=sizes, counts=counts, noise=request.noise),)

        (release,) = self._step(label, [event], request_digest(request), measure)
        assert isinstance(release, NoisyPairs)
        return release

    def count_interactions(self, tables: Sequence[Interaction], label: str) -> tuple[NoisySums, ...]:
        check_tables(tables, Interaction, self.schema)
        specs: list[TableSpec] = [(table.columns, table.lookups) for table in tables]
        plan_counts(self.schema, specs)  # refuses tables that would not fit, before anything is charged
        events = interaction_events(tables, label, self.unit)
        steps = [table.resolution * self.unit.resolution for table in tables]
        inside = [Noise(kind=t.noise.kind, scale=t.noise.scale / step) for t, step in zip(tables, steps, strict=True)]
        for noise in inside:
            check_noise(noise)

        def measure() -> tuple[Release, ...]:
            exact_tables = [exact_interactions(counts) for counts in exact_counts(self._rows, specs)]
            # Sensitivity: one person moves each table by at most `table.norms`, as proved in private/interactions.py;
            # each was charged as one event for exactly these norms at its own scale.
            noisy = with_noise(self._noise, exact_tables, inside)
            return tuple(
                _in_counts(values, table, step) for table, values, step in zip(tables, noisy, steps, strict=True)
            )

        releases = self._step(label, events, request_digest(tuple(tables)), measure)
        return tuple(release for release in releases if isinstance(release, NoisySums))

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        check_feature(feature, noise, self.schema)
        if isinstance(feature, SampledTaus) and feature.rows > (self.rows or 0):
            raise DoorError("a tau is asked for of a sample of more rows than the table has")
        if type(feature) is TauVector and feature.rows != self.rows:
            raise DoorError("the number of rows that a tau is asked for is not that of the table")
        event = sum_event(feature, noise, label, self.unit)
        step = sum_resolution(feature, self.unit)
        inside = Noise(kind=noise.kind, scale=noise.scale / step)
        check_noise(inside)

        def measure() -> tuple[Release, ...]:
            exact_sums = exact_feature(feature, self._rows)
            # Sensitivity: one person moves the vector by at most (l1, l2), as proved in the feature's own file; the
            # charge above is for exactly these norms at this scale.
            (noisy,) = with_noise(self._noise, [exact_sums], [inside])
            values = np.asarray(noisy * step, dtype=np.float64)
            return (NoisySums(values=values, noise=noise, resolution=step),)

        (release,) = self._step(label, [event], request_digest(feature, noise), measure)
        assert isinstance(release, NoisySums)
        return release

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        check_score(score, epsilon, picks, self.schema)
        specs = score_tables(score)
        plan_counts(self.schema, specs)  # refuses tables that would not fit, before anything is charged
        check_estimates(score, self.unit)
        events = [choice_event(epsilon, picks, label, self.unit)]

        def measure() -> tuple[Release, ...]:
            scores = exact_scores(score, exact_counts(self._rows, specs), self.unit)
            # Sensitivity: one person moves each score by at most this, as argued in private/scores.py.
            moved = score_sensitivity(score, self.unit)
            return (NoisyChoice(indices=self._noise.pick(scores, moved, epsilon, picks)),)

        (release,) = self._step(label, events, request_digest(score, float(epsilon), picks), measure)
        assert isinstance(release, NoisyChoice)
        return release

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[NoisyLabels, ...]:
        check_discoveries(requests, self.schema)
        self._rows.require_labels()  # before anything is charged
        events = discovery_events(requests, label, self.unit)

        def measure() -> tuple[Release, ...]:
            floors = {request.column: request.floor for request in requests}
            return noisy_labels(requests, exact_label_counts(self._rows, floors), self._noise)

        releases = self._step(label, events, request_digest(tuple(requests)), measure)
        return tuple(release for release in releases if isinstance(release, NoisyLabels))

    def _count(
        self, specs: list[TableSpec], noises: list[Noise], label: str, request: tuple[object, ...]
    ) -> tuple[NoisyCounts, ...]:
        plan_counts(self.schema, specs)  # refuses tables that would not fit, before anything is charged
        events, inside = count_events(noises, label, self.unit), self._inside(noises)

        def measure() -> tuple[Release, ...]:
            # Sensitivity: a row is in exactly one cell of each table, so one person moves a table by unit.l1 in L1 and
            # unit.l2 in L2, also where its rows share one vote (accounting/unit.py); each table was charged as one
            # event at its own scale. Votes are counted, and get noise, in parts of 2^-20.
            noisy = self._noise.add(exact_counts(self._rows, specs), inside)
            return tuple(
                NoisyCounts(columns=columns, counts=whole_counts(counts, self.unit), noise=noise)
                for (columns, _), counts, noise in zip(specs, noisy, noises, strict=True)
            )

        releases = self._step(label, events, request_digest(request), measure)
        return tuple(release for release in releases if isinstance(release, NoisyCounts))

    def _inside(self, noises: Sequence[Noise]) -> list[Noise]:
        """The noise in units of what is counted: rows, or parts of a vote."""
        inside = [Noise(kind=noise.kind, scale=noise.scale / self.unit.resolution) for noise in noises]
        for noise in inside if self.unit.votes else ():
            check_noise(noise)
        return inside

    def _step(
        self, label: str, events: Sequence[Event], digest: str, measure: Callable[[], tuple[Release, ...]]
    ) -> tuple[Release, ...]:
        recorded = self._recorder.recall(label, digest)
        if recorded is not None:
            return recorded
        self._doing(f"measuring {label}")
        step = self._recorder.charge(events, label, digest)
        releases = measure()
        self._recorder.record(step, label, digest, releases)
        self._doing(f"working on {label}")
        return releases


def _in_counts(noisy_values: WholeNumbers, table: Interaction, step: float) -> NoisySums:
    """Whole numbers of an interaction that carry their noise, in units of counts."""
    return NoisySums(values=np.asarray(noisy_values * step, dtype=np.float64), noise=table.noise, resolution=step)


def whole_counts(noisy_counts: Ints, unit: Unit) -> Ints:
    """Noisy counts as releases hold them: those of votes to the nearest whole one, which looks at no row."""
    return (noisy_counts + (1 << VOTE_BITS - 1)) >> VOTE_BITS if unit.votes else noisy_counts


def noisy_labels(
    requests: Sequence[Discovery], exact_labels: Mapping[str, Mapping[str, int]], source: NoiseSource
) -> tuple[NoisyLabels, ...]:
    """Labels that nobody listed: noise on the count of each, and only those above the threshold are shown.

    A row has at most one label, which depends on the row alone (`counting.labels`). Where the schema says who a person
    is, a person names at most one, which depends on that person's rows alone (`persons.labels`). So the counts of
    labels are a table over all texts, which one person moves by (unit.l1, unit.l2) and no entry by more than
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


def _labels_above(request: Discovery, labels: Sequence[str], noisy_counts: np.ndarray) -> NoisyLabels:
    kept = np.flatnonzero(noisy_counts >= request.threshold)
    # Alphabetical, so that the order tells nothing that the noisy counts do not.
    order = sorted(kept.tolist(), key=lambda i: labels[i])
    return NoisyLabels(
        column=request.column,
        labels=tuple(labels[i] for i in order),
        counts=noisy_counts[order],
        noise=request.noise,
        threshold=request.threshold,
        floor=request.floor,
    )
