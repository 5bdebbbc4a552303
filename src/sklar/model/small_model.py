"""The model of a table with few rows: a class, latent normals given the class, and released margins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.model.margin import Margin
from sklar.model.small_latent import Latent
from sklar.model.small_normals import ClassNormals
from sklar.model.small_target import Classes
from sklar.model.table import Codes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmallModel:
    """Class ~ shares; z given the class normal; each column reads its code off its latent through its margin.

    A column without a latent is independent of the others; the target reads its code off its class.

    Attributes:
        margins: One per modelled column.
        latents: The axes, in the order of the normals.
        normals: The latent normals.
        classes: Classes of the target, or None.
        rows: Estimated number of rows.
    """

    margins: tuple[Margin, ...]
    latents: tuple[Latent, ...]
    normals: ClassNormals
    classes: Classes | None
    rows: float

    @property
    def rows_estimate(self) -> int:
        """The estimated number of rows, rounded."""
        return max(1, round(self.rows))

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows."""
        classes = rng.choice(len(self.normals.share), size=rows, p=self.normals.share)
        z = self.normals.place(rng.standard_normal((rows, self.normals.size)), classes)
        u = np.empty_like(z)
        for i in range(self.normals.size):
            u[:, i] = self.normals.uniform(z[:, i], i)
        return self.codes_of(u, classes, [rng.random(rows) for _ in self.margins])

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows whose class sizes and margins follow the model as closely as whole rows allow."""
        steps = (np.arange(rows) + rng.random()) / max(rows, 1)
        classes = rng.permutation(np.searchsorted(np.cumsum(self.normals.share)[:-1], steps, side="right"))
        z = self.normals.place(rng.standard_normal((rows, self.normals.size)), classes)
        u = self._even(z, rng)
        spread = [rng.permutation(_even_steps(rows, rng)) for _ in self.margins]
        if self.classes is not None:
            spread[self.classes.column] = _even_within(classes, rng)
        return self.codes_of(u, classes, spread)

    def simulate_given(
        self, rows: int, allowed: Mapping[int, npt.NDArray[np.bool_]], rng: np.random.Generator
    ) -> tuple[Codes, float]:
        """Independent rows with allowed codes only, and the effective sample size behind them."""
        from sklar.model.small_given import draw_given

        return draw_given(self, rows, allowed, rng)

    def codes_of(self, u: Floats, classes: Ints, spread: list[Floats]) -> Codes:
        """Base codes from uniforms of the latents, classes, and uniforms for whatever no latent decides."""
        out = np.empty((len(u), len(self.margins)), np.int32, order="F")
        for j, margin in enumerate(self.margins):
            if self.classes is not None and j == self.classes.column:
                out[:, j] = codes_in_classes(margin, self.classes, classes, spread[j])
            else:
                out[:, j] = margin.ppf(spread[j])
        for i, latent in enumerate(self.latents):
            if not latent.marks_null:
                null = self._null_rows(latent, u, spread[latent.column])
                out[:, latent.column] = np.where(null, latent.null, latent.codes_at(u[:, i]))
        return out

    def null_marker(self, latent: Latent) -> int | None:
        """Position of the latent that decides whether this latent's column is null."""
        found = [k for k, other in enumerate(self.latents) if other.marks_null and other.column == latent.column]
        return found[0] if found else None

    def _null_rows(self, latent: Latent, u: Floats, spread: Floats) -> npt.NDArray[np.bool_]:
        """Where a column is null: as its null latent says, else (a rare or all but certain null) independently."""
        if latent.null < 0:
            return np.zeros(len(u), np.bool_)
        marker = self.null_marker(latent)
        if marker is None:
            return spread < self.margins[latent.column].dense()[latent.null]
        return self.latents[marker].places_at(u[:, marker]) == 1

    def _even(self, z: Floats, rng: np.random.Generator) -> Floats:
        """Uniforms by rank: (rank + jitter) / rows. Values are ranked among the rows that are not null."""
        u = np.empty_like(z)
        for i, latent in sorted(enumerate(self.latents), key=lambda pair: not pair[1].marks_null):
            group = np.zeros(len(z), np.int64)
            if not latent.marks_null:
                marker = self.null_marker(latent)
                group = group if marker is None else self.latents[marker].places_at(u[:, marker])
            u[:, i] = _even_ranks(z[:, i], group, rng)
        return u


def codes_in_classes(margin: Margin, classes: Classes, drawn: Ints, u: Floats) -> Ints:
    """Base codes of the target: inside each class by the margin."""
    dense = margin.dense()
    out = np.empty(len(drawn), np.int64)
    for k in range(classes.count):
        codes = np.flatnonzero(classes.of_code == k)
        mass = dense[codes]
        mass = mass if mass.sum() > 0 else np.ones(len(codes))
        rising = np.cumsum(mass / mass.sum())
        rows = drawn == k
        out[rows] = codes[np.minimum(np.searchsorted(rising, u[rows], side="right"), np.flatnonzero(mass)[-1])]
    return out


def _even_steps(rows: int, rng: np.random.Generator) -> Floats:
    return (np.arange(rows) + rng.random(rows)) / max(rows, 1)


def _even_within(classes: Ints, rng: np.random.Generator) -> Floats:
    u = np.empty(len(classes))
    for k in np.unique(classes):
        rows = np.flatnonzero(classes == k)
        u[rows] = rng.permutation(_even_steps(len(rows), rng))
    return u


def _even_ranks(z: Floats, group: Ints, rng: np.random.Generator) -> Floats:
    u = np.empty(len(z))
    for k in np.unique(group):
        rows = np.flatnonzero(group == k)
        u[rows[np.argsort(z[rows], kind="stable")]] = _even_steps(len(rows), rng)
    return u
