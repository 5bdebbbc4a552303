"""The privacy-utility plot of a set of releases, as a file or for a report."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from sklar.errors import UsageError
from sklar.report.tradeoff import Tradeoff, TradeoffPoint, Triple, tradeoff_chart


def tradeoff_point(name: str, utility: Any, risk: Any, *, group: str | None = None) -> TradeoffPoint:
    """A point from a utility and an attack's number.

    Args:
        name: The method, level or epsilon.
        utility: A number, or (value, low, high).
        risk: A number of an attack, a plain number, or (value, low, high).
        group: Points of a group are joined: the levels or epsilons of one method.
    """
    return TradeoffPoint(name=name, group=group or name, utility=_triple(utility), risk=_triple(risk))


def tradeoff(
    points: Iterable[TradeoffPoint],
    *,
    utility: str,
    risk: str,
    better_utility: str = "higher",
    better_risk: str = "lower",
    path: str | PathLike[str] | None = None,
) -> Tradeoff:
    """A plot of releases by what they are worth and what an attack gets out of them; `.best` are those nobody beats.

    Args:
        points: From `tradeoff_point`.
        utility: What utility is, in words.
        risk: What the attack measures, in words.
        better_utility: "higher" or "lower".
        better_risk: "higher" (as for a privacy gain) or "lower" (as for a privacy score or MAB).
        path: Where to write it as .svg or .png, readable by its owner only: it is computed from real rows.
    """
    for word in (better_utility, better_risk):
        if word not in ("higher", "lower"):
            raise UsageError(f"better is 'higher' or 'lower'; found {word!r}.")
    plot = Tradeoff(
        points=tuple(points), utility_title=utility, risk_title=risk, better_utility=better_utility,
        better_risk=better_risk,
    )  # fmt: skip
    if path is not None:
        write_tradeoff(plot, path)
    return plot


def write_tradeoff(plot: Tradeoff, path: str | PathLike[str]) -> None:
    """Write the plot as .svg or .png, readable by its owner only: it is computed from real rows."""
    from sklar.report.canvas import write_picture

    if not plot.points:
        raise UsageError("there is no point to plot.")
    write_picture(tradeoff_chart(plot), path, mode=0o600)


def _triple(value: Any) -> Triple:
    attack = getattr(value, "attack", value)
    if hasattr(attack, "low"):
        return float(attack.value), float(attack.low), float(attack.high)
    if isinstance(attack, tuple | list):
        center, low, high = attack
        return float(center), float(low), float(high)
    return float(attack), float(attack), float(attack)
