"""Base class of queries for sums over rows, and upward rounding of sensitivity bounds."""

from __future__ import annotations

import math

from sklar.accounting.unit import Unit
from sklar.errors import DoorError


class Sums:
    """A query for a bounded vector that is summed over rows, or averaged over groups of them.

    Each subclass is frozen data with `columns`, whose base codes are read, without repeats and in the order in which
    they are expected; `reads`, (column, number of base codes it must have) for every lookup; `size`, the length of the
    vector; `resolution`, the real value of one integer unit of it; and `sensitivity(unit)`, (L1, L2) by which one
    person can move it, in real units, with its proof in the docstring of its module.
    """

    __slots__ = ()

    @property
    def size(self) -> int:
        """Length of the vector."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """The values are one vector."""
        return (self.size,)


def round_up(x: float) -> float:
    """Return the next float above x, so that no rounding of x makes a bound too small."""
    return math.nextafter(x, math.inf)


def sqrt_up(x: int) -> float:
    """Return the square root of x, never below the true one."""
    root = math.sqrt(x)
    return root if root.is_integer() and int(root) ** 2 == x else round_up(root)


def refuse_votes(unit: Unit, why: str) -> None:
    """Refuse a query that has no sensitivity proof for rows that share one vote."""
    if unit.votes:
        raise DoorError(
            f"{why}, and has no sensitivity proof for rows that share one vote; use weights='rows' for the person."
        )
