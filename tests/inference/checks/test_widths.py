"""Half widths and worth follow from the noise alone."""

from __future__ import annotations

import numpy as np
import pytest

import sklar
from sklar.accounting.noise import Noise
from sklar.inference.checks.widths import compute_widths, effective_rows
from sklar.model.margins.margin import Margin
from sklar.release.counts import Counts
from sklar.release.measurements import Measurement
from sklar.sample.rng import generator


def histogram(cells: int, scale: float) -> Measurement:
    return Measurement(
        query=Counts(columns=("x",), partitions=(np.arange(cells),)), values=np.zeros(cells),
        noise=Noise(kind="gaussian", scale=scale), label="margins",
    )  # fmt: skip


def test_worth_is_all_rows_without_noise_and_none_with_too_much() -> None:
    assert effective_rows(0.0, 1_000) == 1_000
    assert effective_rows(30.0, 1_000) == pytest.approx(1_000 / 11)
    assert effective_rows(1e9, 1_000) < 1e-6


def test_the_mean_is_as_uncertain_as_noisy_histograms_make_it() -> None:
    column, rows, scale = sklar.Integer(0, 9), 1_000.0, 12.0
    mass = np.arange(1.0, 11.0) / 55
    margin = Margin(column="x", starts=np.arange(10), mass=mass, size=column.size)
    table = histogram(column.size, scale)
    width = compute_widths(column, margin, [table, histogram(column.size, 50.0)], rows)
    assert width is not None and width.mean is not None
    noise = generator(1).normal(0.0, scale, (20_000, column.size))[:, :10]
    values = np.arange(10.0)
    noisy = (rows * mass + noise) @ values / (rows + noise.sum(axis=1))
    assert width.mean == pytest.approx(1.96 * noisy.std(), rel=0.06)
    assert width.share == pytest.approx((1.96 * scale + 0.5) / rows, rel=1e-3)
    assert compute_widths(column, margin, [], rows) is None
    labels = sklar.Category(list("abcdefghij"))
    found = compute_widths(labels, margin, [table], rows)
    assert found is not None and found.mean is None
