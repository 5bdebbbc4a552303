"""The model of a table with few rows: a class, latent normals given the class, and released margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.conditioning import Proposals, Runs, merge_intervals
from sklar.model.correlation.bivariate import truncated_normal
from sklar.model.latent.normals import ClassNormals, whiten
from sklar.model.latent.scores import Latent
from sklar.model.latent.target import Classes
from sklar.model.margins.margin import Margin, restrict
from sklar.model.protocol import UNKNOWN_CODE, Codes, RowProposals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatentNormalModel:
    """Class ~ shares; z given the class normal; each column reads its code off its latent through its margin.

    A column without a latent is independent of the others; the target, if there is one, reads its code off its class.
    The axes (`latents`) are in the order of the normals.
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
        """Return independent rows."""
        classes = rng.choice(len(self.normals.share), size=rows, p=self.normals.share)
        z = self.normals.place(rng.standard_normal((rows, self.normals.size)), classes)
        return self.codes_of(self._uniforms(z), classes, [rng.random(rows) for _ in self.margins])

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows whose class sizes, margins and correlations follow the model as closely as whole rows allow."""
        steps = (np.arange(rows) + rng.random()) / max(rows, 1)
        classes = rng.permutation(np.searchsorted(np.cumsum(self.normals.share)[:-1], steps, side="right"))
        noise = rng.standard_normal((rows, self.normals.size))
        for k in range(len(self.normals.share)):
            noise[classes == k] = whiten(noise[classes == k])
        u = self._even_uniforms(self.normals.place(noise, classes), rng)
        spread = [rng.permutation(_even_steps(rows, rng)) for _ in self.margins]
        if self.classes is not None:
            spread[self.classes.column] = _even_within(classes, rng)
        return self.codes_of(u, classes, spread)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition: the class is drawn, then the latents by the sampler of Geweke, Hajivassiliou and
        Keane.

        Latents of conditioned columns come first, each from its normal distribution given the earlier ones, cut to the
        allowed intervals; what no latent decides is drawn from margins cut to the sets.
        """
        inside = replace(self, margins=_restricted_margins(self, allowed))
        cuts, share = _cuts(self, allowed), _class_shares(self, inside.margins)

        def propose(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            classes = rng.choice(len(share), size=rows, p=share)
            spread = [rng.random(rows) for _ in self.margins]
            z, log = _cut_latents(inside, classes, cuts, spread, rng)
            return inside.codes_of(self._uniforms(z), classes, spread), log

        return propose

    def row_proposals(self, first: Sequence[int]) -> RowProposals:
        """Return rows with known codes, each its own, in the same way."""
        places = [_places_of_codes(latent, self.margins[latent.column].size) for latent in self.latents]
        order = np.array(sorted(range(self.normals.size), key=lambda i: self.latents[i].column not in first), np.int64)
        factors = [np.linalg.cholesky((f @ f.T)[np.ix_(order, order)]) for f in self.normals.factors]

        def propose(known: Codes, rng: np.random.Generator) -> tuple[Codes, Floats]:
            classes = _own_classes(self, known, rng)
            noise = rng.standard_normal((len(known), len(order)))
            z, log = np.empty_like(noise), np.zeros(len(known))
            for k, factor in enumerate(factors):
                rows = np.flatnonzero(classes == k)
                w = noise[rows]
                for step, i in enumerate(order.tolist()):
                    place = places[i][known[rows, self.latents[i].column]]
                    if (place >= 0).any():
                        mean = self.normals.means[k, i] + w[:, :step] @ factor[step, :step]
                        runs = _own_runs(self, i, place)
                        w[:, step], inside = truncated_normal(runs, mean, float(factor[step, step]), rng)
                        log[rows] += inside
                z[np.ix_(rows, order)] = w @ factor.T + self.normals.means[k, order]
            drawn = self.codes_of(self._uniforms(z), classes, [rng.random(len(known)) for _ in self.margins])
            return np.where(known >= 0, known, drawn), log

        return propose

    def codes_of(self, u: Floats, classes: Ints, spread: list[Floats]) -> Codes:
        """Return base codes from uniforms of the latents, classes, and uniforms for all that no latent decides."""
        out = np.empty((len(u), len(self.margins)), np.int32, order="F")
        for j, margin in enumerate(self.margins):
            if self.classes is not None and j == self.classes.column:
                out[:, j] = codes_in_classes(margin, self.classes, classes, spread[j])
            else:
                out[:, j] = margin.ppf(spread[j])
        for i, latent in enumerate(self.latents):
            if not latent.marks_null:
                null = self.null_rows(latent, u, spread[latent.column])
                out[:, latent.column] = np.where(null, latent.null, latent.codes_at(u[:, i]))
        return out

    def null_marker(self, latent: Latent) -> int | None:
        """Return the position of the latent that decides whether this latent's column is null."""
        markers = (k for k, other in enumerate(self.latents) if other.marks_null and other.column == latent.column)
        return next(markers, None)

    def null_rows(self, latent: Latent, u: Floats, spread: Floats) -> Mask:
        """Return where a column is null: as its null latent says, else (a rare or all but certain null)
        independently."""
        if latent.null < 0:
            return np.zeros(len(u), np.bool_)
        marker = self.null_marker(latent)
        if marker is None:
            return spread < self.margins[latent.column].dense()[latent.null]
        return self.latents[marker].places_at(u[:, marker]) == 1

    def _uniforms(self, z: Floats) -> Floats:
        u = np.empty_like(z)
        for i in range(self.normals.size):
            u[:, i] = self.normals.uniform(z[:, i], i)
        return u

    def _even_uniforms(self, z: Floats, rng: np.random.Generator) -> Floats:
        """Return uniforms by rank: (rank + jitter) / rows. Values are ranked among the rows that are not null."""
        u = np.empty_like(z)
        for i, latent in sorted(enumerate(self.latents), key=lambda pair: not pair[1].marks_null):
            marker = None if latent.marks_null else self.null_marker(latent)
            group = np.zeros(len(z)) if marker is None else self.latents[marker].places_at(u[:, marker])
            u[:, i] = _even_within(group, rng, z[:, i])
        return u


def codes_in_classes(margin: Margin, classes: Classes, drawn: Ints, u: Floats) -> Ints:
    """Return base codes of the target: inside each class by the margin."""
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
    """Return one uniform in each of a number of equal steps."""
    return (np.arange(rows) + rng.random(rows)) / max(rows, 1)


def _even_within(group: Ints | Floats, rng: np.random.Generator, z: Floats | None = None) -> Floats:
    """Return uniforms that are even inside each group, in the order of z or, without it, in any."""
    u = np.empty(len(group))
    for k in np.unique(group):
        rows = np.flatnonzero(group == k)
        steps = _even_steps(len(rows), rng)
        order = slice(None) if z is None else np.argsort(z[rows], kind="stable")
        u[rows[order]] = rng.permutation(steps) if z is None else steps
    return u


def _places_of_codes(latent: Latent, size: int) -> Ints:
    """Return the place along the axis of each base code; -1 for one that the axis says nothing of, and for the unknown
    one."""
    if latent.marks_null:  # value, or null
        return np.append(np.where(np.arange(size) == latent.order[1], 1, 0), UNKNOWN_CODE)
    places = np.full(size + 1, UNKNOWN_CODE)
    places[latent.order] = np.arange(len(latent.order))
    return places


def _own_runs(model: LatentNormalModel, i: int, place: Ints) -> Runs:
    """Return for each row the interval of z of its place, or all of it."""
    edges = model.normals.quantile(model.latents[i].edges, i)
    low = np.where(place >= 0, edges[place], -np.inf)
    return Runs(low=low[None], high=np.where(place >= 0, edges[np.minimum(place + 1, len(edges) - 1)], np.inf)[None])


def _own_classes(model: LatentNormalModel, known: Codes, rng: np.random.Generator) -> Ints:
    """Return the class of each row: that of its target where it is known, else drawn."""
    drawn = rng.choice(len(model.normals.share), size=len(known), p=model.normals.share)
    if model.classes is None:
        return drawn
    codes = known[:, model.classes.column]
    return np.where(codes >= 0, model.classes.of_code[codes], drawn)


def _cuts(model: LatentNormalModel, allowed: Mapping[int, Mask]) -> dict[int, Runs]:
    """By conditioned latent, the intervals of z that it may fall into, unless its column is null.

    Null markers come before the values that depend on them.
    """
    cuts: dict[int, Runs] = {}
    for i, latent in sorted(enumerate(model.latents), key=lambda pair: not pair[1].marks_null):
        if latent.column in allowed:
            places = _places(latent, allowed[latent.column], model.margins[latent.column])
            runs = merge_intervals(latent.edges[:-1][places], latent.edges[1:][places])
            cuts[i] = Runs(low=model.normals.quantile(runs.low, i), high=model.normals.quantile(runs.high, i))
    return cuts


def _places(latent: Latent, mask: Mask, margin: Margin) -> Mask:
    """Return places along the axis that the set allows."""
    if not latent.marks_null:
        return mask[latent.order] & (np.diff(latent.edges) > 0)
    null = int(latent.order[1])
    return np.array([_has_values(margin, mask, null), mask[null]])


def _has_values(margin: Margin, mask: Mask, null: int) -> bool:
    """Return whether the set has a value of some mass other than null."""
    return bool(np.delete(mask & (margin.dense() > 0), null).any())


def _restricted_margins(model: LatentNormalModel, allowed: Mapping[int, Mask]) -> tuple[Margin, ...]:
    """Return margins cut to the sets; not where a set holds values and nulls that no latent decides: those come as
    ever."""
    margins = list(model.margins)
    for column, mask in allowed.items():
        margins[column] = restrict(margins[column], mask)
    for latent in model.latents:
        mask, margin = allowed.get(latent.column), model.margins[latent.column]
        if mask is not None and latent.null >= 0 and mask[latent.null] and _has_values(margin, mask, latent.null):
            margins[latent.column] = margin
    return tuple(margins)


def _class_shares(model: LatentNormalModel, inside: tuple[Margin, ...]) -> Floats:
    """Return the probability of each class given the set of the target."""
    if model.classes is None:
        return model.normals.share
    masses = [margins[model.classes.column].dense() for margins in (inside, model.margins)]
    of_class = [np.bincount(model.classes.of_code, mass, minlength=model.classes.count) for mass in masses]
    share = model.normals.share * of_class[0] / np.maximum(of_class[1], 1e-300)
    return share / share.sum()


def _cut_latents(
    model: LatentNormalModel, classes: Ints, cuts: dict[int, Runs], spread: list[Floats], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return latents with the conditioned ones inside their intervals, and the log-weights."""
    normals = model.normals
    order = np.array([*cuts, *(i for i in range(normals.size) if i not in cuts)], dtype=np.int64)
    noise = rng.standard_normal((len(classes), normals.size))
    z, u, log = np.empty_like(noise), np.zeros_like(noise), np.zeros(len(classes))
    for k in range(len(normals.share)):
        rows = np.flatnonzero(classes == k)
        factor = np.linalg.cholesky((normals.factors[k] @ normals.factors[k].T)[np.ix_(order, order)])
        w = noise[rows]
        for step, (i, runs) in enumerate(cuts.items()):
            mean = normals.means[k, i] + w[:, :step] @ factor[step, :step]
            latent = model.latents[i]
            free = model.null_rows(latent, u[rows], spread[latent.column][rows])
            inside, log_inside = truncated_normal(runs, mean, factor[step, step], rng)
            w[:, step] = np.where(free, w[:, step], inside)
            log[rows] += np.where(free, 0.0, log_inside)
            u[rows, i] = normals.uniform(mean + factor[step, step] * w[:, step], i)
        z[np.ix_(rows, order)] = w @ factor.T + normals.means[k, order]
    return z, log
