"""The fast vine engine beside pyvinecopulib's own fit: time, log-likelihood, and dependence of drawn rows.

    python -m benchmarks.vine_engine [--quick]

The tables are made here, so anyone can run it. Both engines fit the same pseudo-observations with the same families
(at most two parameters), AIC and Dissmann's trees by Kendall's tau, one thread each, in one process and in turn. Times
are processor time. Log-likelihoods are pyvinecopulib's of both vines, on the rows they were fitted to.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from pyvinecopulib.utils import wdm

from sklar.lab.vines import fit_rvine
from sklar.model.rvine.vine import RegularVine, inverse_rosenblatt

SIZES = {"1,000 x 10": (1_000, 10, 0), "1,000 x 8, three discrete": (1_000, 8, 3), "20,000 x 5": (20_000, 5, 0)}
QUICK = {"500 x 4": (500, 4, 0), "500 x 4, one discrete": (500, 4, 1)}
DRAWN = 20_000
SETTINGS: dict[str, Any] = {"families": "two-parameter", "criterion": "tau", "threads": 1}


def table(rows: int, columns: int, discrete: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, list[bool]]:
    """F(x), F(x-) and which columns are discrete: a chain with tails, asymmetry and a bend, the first columns cut."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns))
    for j in range(1, columns):
        before = x[:, j - 1] / x[:, j - 1].std()
        x[:, j] += (before, np.exp(0.6 * before), -np.maximum(before, 0), before * rng.gamma(2, size=rows))[j % 4]
    kinds = [j < discrete for j in range(columns)]
    u = (x.argsort(axis=0).argsort(axis=0) + 1) / (rows + 1)
    upper, lower = u.copy(), u.copy()
    for j in range(discrete):
        steps = np.array([0, 0.35, 0.6, 0.9, 1])[: 3 + j]
        steps[-1] = 1
        at = np.digitize(u[:, j], steps[1:-1])
        lower[:, j], upper[:, j] = steps[at], steps[at + 1]
    return upper, lower, kinds


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """A result and the processor seconds it took."""
    start = time.process_time()
    return work(), time.process_time() - start


def loglik(vine: RegularVine, upper: np.ndarray, lower: np.ndarray, kinds: list[bool]) -> float:
    """pyvinecopulib's log-likelihood of a vine."""
    data = np.asfortranarray(np.column_stack([upper, lower[:, kinds]]).clip(1e-10, 1 - 1e-10))
    return float(vine.to_vinecop(discrete=True).loglik(data))


def pair_taus(u: np.ndarray) -> np.ndarray:
    """Kendall's tau of all pairs of columns."""
    columns = [np.ascontiguousarray(column) for column in u.T]
    return np.array([wdm(a, b, "tau") for a, b in combinations(columns, 2)])


def compare(name: str, rows: int, columns: int, discrete: int) -> None:
    """Fit by both engines, draw from both, and print one line of each."""
    upper, lower, kinds = table(rows, columns, discrete)
    given: dict[str, Any] = {**SETTINGS, "lower": lower, "discrete": kinds}
    fast, quick = timed(lambda: fit_rvine(upper, **given))
    slow, long = timed(lambda: fit_rvine(upper, engine="pyvinecopulib", **given))
    w = np.asfortranarray(np.random.default_rng(2).random((DRAWN, columns)))
    made = fast.to_vinecop()
    ours, drawing = timed(lambda: inverse_rosenblatt(made, w))
    theirs, searching = timed(lambda: made.inverse_rosenblatt(w))
    other = slow.to_vinecop().inverse_rosenblatt(w)
    one, two = (loglik(vine, upper, lower, kinds) for vine in (fast, slow))
    tree = [
        set(map(frozenset, zip(v.first[: columns - 1], v.second[: columns - 1], strict=True))) for v in (fast, slow)
    ]
    print(f"{name}: fit {quick:.2f} s, pyvinecopulib {long:.2f} s, {long / quick:.0f} times")
    print(
        f"  log-likelihood {one:.0f} and {two:.0f} ({fast.free_parameters} and {slow.free_parameters} parameters); "
        f"first trees share {len(tree[0] & tree[1])} of {columns - 1} edges"
    )
    agreed = np.quantile(np.abs(ours - theirs), 0.9999)
    apart = np.abs(pair_taus(ours) - pair_taus(other)).max()
    print(
        f"  {DRAWN:,} rows drawn in {drawing:.2f} s, by the library's bisection {searching:.2f} s; all but one value "
        f"in 10,000 agree to {agreed:.0e}; pairs' taus of the two fits differ by at most {apart:.3f}",
        flush=True,
    )


def main() -> None:
    """All sizes, after a fit that compiles and loads."""
    for rows in (200, 11_000):
        fit_rvine(table(rows, 3, 0)[0], **SETTINGS)
    for name, size in (QUICK if "--quick" in sys.argv else SIZES).items():
        compare(name, *size)


if __name__ == "__main__":
    main()
