"""The privacy-utility plot of a set of releases, as a file or for a report."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from sklar.errors import UsageError
from sklar.report.tradeoff import Tradeoff, TradeoffPoint, tradeoff_png, tradeoff_svg, undominated

if TYPE_CHECKING:
    from sklar.disclosed.attacks.result import Number


def tradeoff_point(name: str, utility: Any, risk: Number | Any, *, group: str | None = None) -> TradeoffPoint:
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
) -> Tradeoff:
    """A plot of points; `utility` and `risk` say what is measured, `better_*` which way is better."""
    for word in (better_utility, better_risk):
        if word not in ("higher", "lower"):
            raise UsageError(f"better is 'higher' or 'lower'; found {word!r}.")
    return Tradeoff(
        points=tuple(points), utility_title=utility, risk_title=risk, better_utility=better_utility,
        better_risk=better_risk,
    )  # fmt: skip


def best_points(plot: Tradeoff) -> tuple[TradeoffPoint, ...]:
    """The points that no other point beats in both respects."""
    return tuple(point for point, best in zip(plot.points, undominated(plot), strict=True) if best)


def write_tradeoff(plot: Tradeoff, path: str | PathLike[str]) -> None:
    """Write the plot as .svg or .png, readable by its owner only: it is computed from real rows."""
    from sklar.export.atomic import atomic_file

    name = fspath(path).lower()
    if not name.endswith((".svg", ".png")):
        raise UsageError(f"a plot is written as .svg or .png; found {fspath(path)}.")
    if not plot.points:
        raise UsageError("there is no point to plot.")
    content = tradeoff_png(plot) if name.endswith(".png") else tradeoff_svg(plot).encode()
    with atomic_file(path, mode=0o600) as file:
        file.write(content)


def _triple(value: Any) -> tuple[float, float, float]:
    attack = getattr(value, "attack", value)
    if hasattr(attack, "low"):
        return float(attack.value), float(attack.low), float(attack.high)
    if isinstance(attack, tuple | list):
        center, low, high = attack
        return float(center), float(low), float(high)
    return float(attack), float(attack), float(attack)
