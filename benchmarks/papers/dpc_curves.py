"""Asghar et al. 2020, figures 2, 4, 5, 7 and 8: the share of queries whose error is at most so large, on Adult.

python -m benchmarks.papers.dpc_curves [--quick]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.dpc_adult import adult
from benchmarks.dpc_errors import DELTA, EPSILON, TRIPLES, Answers, kendall_runs, runs_of
from benchmarks.papers.figures import add_picture_options, panels, save
from sklar.lab.metrics.queries import three_way_places

AT = (10, 100, 1_000)
"""Errors at which the curves are printed."""
PRIVATE: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "neighbours": "replace"}
SYSTEMS: dict[str, dict[str, Any]] = {
    "dpc-laplace, published": {"binary": True, "method": "dpc-laplace", **PRIVATE, "published": True},
    "dpc-gauss, published": {"binary": True, "method": "dpc-gauss", **PRIVATE, "published": True},
    "dpc-gauss, ours": {"binary": False, "method": "dpc-gauss", **PRIVATE},
    "cop": {"binary": True, "method": "cop", "no_guarantee": True},
}  # fmt: skip


POINTS = 200
"""Of a curve: those of all queries would make a picture of megabytes."""


def draw(axis: Any, errors: np.ndarray, label: str) -> None:
    """The share of queries over their sorted errors."""
    at = np.unique(np.linspace(0, len(errors) - 1, POINTS).astype(int))
    axis.semilogx(errors[at] + 1, (at + 1) / len(errors), label=label)


def main() -> None:
    """Print and draw the curves of Q1, Q2 and Q3."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_picture_options(parser)
    asked = parser.parse_args()
    data = adult()
    places = three_way_places(data.real.owner, 20_000 if asked.quick else TRIPLES, np.random.default_rng(0))
    real = Answers(data.real, places)
    figure, axes = panels(["Q1", "Q2", "Q3"], "absolute error + 1", "share of queries")
    print(f"shares of queries with an error of at most {AT}")
    for label, settings in SYSTEMS.items():
        (made,) = runs_of(data, places, 1, **settings)
        for axis, field in zip(axes, ("q1", "q2", "q3"), strict=True):
            errors = np.sort(np.abs(getattr(made, field) - getattr(real, field)))
            draw(axis, errors, label)
            print(
                f"{label:22s} {field.upper()} " + " ".join(f"{np.mean(errors <= bound):.3f}" for bound in AT),
                flush=True,
            )
    (kendall,) = kendall_runs(data, 1, 1.0)
    errors = np.sort(np.abs(kendall.q2 - real.q2))
    draw(axes[1], errors, "dpcopula-kendall, epsilon 1, published")
    print(f"{'dpcopula-kendall':22s} Q2 " + " ".join(f"{np.mean(errors <= bound):.3f}" for bound in AT))
    axes[1].legend(fontsize="x-small")
    save(figure, asked.out, "dpc_curves")
    print("paper (charts and table 2): 99% of the answers of dpc-Gauss are within 278 (Q1), 471 (Q2) and 371 (Q3).")
    print("Why they differ: noise is added once per table of counts, not once per count; bins of numbers are ours.")


if __name__ == "__main__":
    main()
