"""Labels that nobody listed: noise on the count of each, and only those above the threshold are shown.

Sensitivity: a row has at most one label, which depends on the row alone (`counting.labels`). So the counts of labels
are a table over all texts, which one person moves by (unit.l1, unit.l2) and no entry by more than rows_per_person. Two
things differ from an ordinary table: labels with fewer than `floor` rows are left out, and only noisy counts from
`threshold` on are shown. That a label which is in one neighbour's list and not in the other's stays hidden, except with
the charged delta, is proved in `sklar.accounting.composition.discovery`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sklar.private.noise import NoiseSource
from sklar.release.requests import Discovery
from sklar.release.values import NoisyLabels


def noisy_labels(
    requests: Sequence[Discovery], exact_labels: Mapping[str, Mapping[str, int]], source: NoiseSource
) -> tuple[NoisyLabels, ...]:
    """What each request may show. The caller has charged a `DiscoveryEvent` for each."""
    listed = [[(x, n) for x, n in exact_labels[r.column].items() if n >= r.floor] for r in requests]
    exact = [np.array([count for _, count in labels], dtype=np.int64) for labels in listed]
    # Sensitivity: see the top of this file; each request was charged as one event at its own scale and threshold.
    noisy = source.add(exact, [request.noise for request in requests])
    return tuple(
        _shown(request, [label for label, _ in labels], counts)
        for request, labels, counts in zip(requests, listed, noisy, strict=True)
    )


def _shown(request: Discovery, labels: Sequence[str], noisy_counts: np.ndarray) -> NoisyLabels:
    kept = np.flatnonzero(noisy_counts >= request.threshold)
    # Alphabetical, so that the order tells nothing that the noisy counts do not.
    order = sorted(kept.tolist(), key=lambda i: labels[i])
    return NoisyLabels(
        column=request.column,
        labels=tuple(labels[i] for i in order),
        counts=noisy_counts[order],
        noise=request.noise,
        threshold=request.threshold,
    )
