r"""Discrete Gaussian noise on a fine lattice is no worse than continuous Gaussian noise: the lemma and its proof.

A vector of integers x (sums in units of their resolution, or counts) is released as x + Z, the coordinates of Z being
independent discrete Gaussians of parameter sigma > s. Neighbours have integer vectors x, x' with |x - x'|_2 <= D. For
discrete noise the worst x - x' of a given length is not known. But the noise is, almost exactly, continuous Gaussian
noise followed by a step that does not look at the rows, and for continuous noise only the length matters.

**Lemma.** Let K(y, w), y real and w an integer, be the discrete Gaussian of parameter s centered at y, and let t^2 =
sigma^2 - s^2. Draw Y ~ N(x, t^2 I), then W_i ~ K(Y_i, .) for each of the d coordinates. With
theta(s) = 2 (e^(-2 pi^2 s^2) + e^(-8 pi^2 s^2) + ...) the probabilities of W and of x + Z satisfy, at every point w,

    e^(-d kappa) <= P(W = w) / P(x + Z = w) <= e^(d kappa),   kappa = log[(1 + theta(sigma)) / (1 - theta(s))].

**Proof.** One coordinate is enough. Write r_s(y) for the sum of exp(-(k - y)^2 / (2 s^2)) over all integers k. By
Poisson summation r_s(y) = s sqrt(2 pi) (1 + 2 sum_j e^(-2 pi^2 s^2 j^2) cos(2 pi j y)), which lies between 1 - theta(s)
and 1 + theta(s) times s sqrt(2 pi). Hence, up to such a factor in the denominator,

    P(W = w) = integral of N(y; x, t^2) exp(-(w - y)^2 / (2 s^2)) / r_s(y) dy  ~  integral of N(y; x, t^2) N(w; y, s^2)

which is N(w; x, sigma^2): variances of Gaussians add. And P(x + Z = w) = exp(-(w - x)^2 / (2 sigma^2)) / r_sigma(0) is
the same density but for the factor r_sigma(0) / (sigma sqrt(2 pi)), between 1 and 1 + theta(sigma), x being an integer.
So the ratio lies between 1 / (1 + theta(s)) and (1 + theta(sigma)) / (1 - theta(s)), and kappa covers_vector both. QED.

**What follows.** Call a release ideal if it is W instead of x + Z. Ideal releases are post-processing of Y, and
N(x, t^2 I) against N(x', t^2 I) is dominated by N(D / t, 1) against N(0, 1), since a rotation puts the shift into one
coordinate and shorter shifts are dominated by longer ones. So ideal releases compose, adaptively and together with any
others, as their fixed pairs (see `exact`). Let that give delta(epsilon). All outputs of a fit together are at every
point within e^(+-c) of the ideal ones, c being kappa times the number of noisy coordinates, for any dependence among
them: conditional probabilities multiply. Hence for every set S of outputs

    P(M(D) in S) <= e^c P(ideal(D) in S) <= e^c (e^(epsilon - 2c) P(ideal(D') in S) + delta(epsilon - 2c))
                 <= e^epsilon P(M(D') in S) + e^c delta(epsilon - 2c),

and e^c delta(epsilon - 2c) <= e^c (delta(epsilon) + 2c), as the slope of delta(epsilon) is at least -1. For s = 2,
theta < 1.1e-34 and kappa < 3e-34. Even 2^40 coordinates, more than any memory holds, give c < 1e-21, far below the
slack for rounding that `exact` adds to every delta. What the lemma costs is the factor sigma / t in the shift: 2e-6
beyond 1 at sigma = 1,024, and 3% at 8.

The same holds for tables of counts, whose lattice is that of the integers, with any number of rows per person, for
tables of votes, whose lattice is that of parts of a vote, and for the labels of a discovery that both neighbours count
(see `discovery`), whose lattice is always that of the integers: of a person with a vote one label is counted.
Reference for the idea (convolutions of discrete Gaussians): Peikert (2010), "An efficient and parallel Gaussian sampler
for lattices". The discrete Gaussian: Canonne, Kamath, Steinke (2020).
"""

from __future__ import annotations

from sklar.accounting.composition.discovery import LABEL_RESOLUTION
from sklar.accounting.events import ChoiceEvent, CountEvent, DiscoveryEvent, Event, SumEvent

DITHER_SCALE = 2.0
"""s of the lemma, in units of the lattice."""
MIN_FINENESS = 8.0
"""Least sigma in units of the lattice: below it the lemma costs more than 3%."""
FINE_LATTICE = 1024.0
"""Least sigma of planned vectors in units of the lattice: the lemma then costs two millionths."""


def why_no_shift(event: Event, min_fineness: float = MIN_FINENESS) -> str | None:
    """Explain in a clause why the lemma does not apply to an event; None if it does."""
    if not isinstance(event, CountEvent | SumEvent | DiscoveryEvent):
        return "a measurement is neither a table of counts nor a sum"
    if event.noise.kind != "gaussian":
        return "Laplace noise on a vector, or with several rows per person, has no single worst case"
    fineness = _fineness(event)
    if fineness is None:
        return "the resolution of a sum is not known"
    enough = fineness >= min_fineness and fineness > DITHER_SCALE
    return None if enough else f"a noise scale is below {min_fineness:g} units of its lattice"


def squared_shift(event: Event, min_fineness: float = MIN_FINENESS) -> float:
    """Return (D / t)^2: the squared shift, in its own standard deviations, of the Gaussian that dominates the event.

    A discovery also has a delta, which this does not contain.
    """
    why = why_no_shift(event, min_fineness)
    if why is not None or isinstance(event, ChoiceEvent):
        raise ValueError(why)
    fineness = _fineness(event)
    assert fineness is not None
    left = 1.0 - (DITHER_SCALE / fineness) ** 2
    if isinstance(event, SumEvent):
        return (event.l2 / event.noise.scale) ** 2 / left
    tables = event.tables if isinstance(event, CountEvent) else 1
    return tables * (event.unit.l2 / event.noise.scale) ** 2 / left


def covers_vector(planned: SumEvent, requested: SumEvent, rounding: float) -> bool:
    """Return whether a requested vector loses no more than the planned one, in any common units."""
    if requested.noise.kind != planned.noise.kind:
        return False
    if requested.noise.kind == "laplace":
        return requested.epsilon <= planned.epsilon * (1 + rounding)
    least, fineness = _fineness(planned), _fineness(requested)
    fine = least is None or (fineness is not None and fineness >= least * (1 - rounding))
    return fine and requested.l2 / requested.noise.scale <= planned.l2 / planned.noise.scale * (1 + rounding)


def _fineness(event: CountEvent | SumEvent | DiscoveryEvent) -> float | None:
    """Return sigma in units of the lattice; None if that is not known."""
    if isinstance(event, CountEvent):
        return event.noise.scale / event.unit.resolution
    if isinstance(event, DiscoveryEvent):
        return event.noise.scale / LABEL_RESOLUTION
    return None if event.resolution is None else event.noise.scale / event.resolution
