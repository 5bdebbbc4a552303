"""All DP methods by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from sklar.errors import UsageError
from sklar.methods.dpc.fit import DPC_GAUSS, DPC_LAPLACE
from sklar.methods.dpcopula.hybrid import HYBRID
from sklar.methods.dpcopula.kendall import KENDALL
from sklar.methods.dpcopula.mle import MLE
from sklar.methods.held_back import holding_back
from sklar.methods.independent import INDEPENDENT
from sklar.methods.method import Method
from sklar.methods.side_by_side import for_linked_rows
from sklar.methods.vine.fit import VINE

METHODS: dict[str, Method[Any]] = {
    "vine": for_linked_rows(VINE),
    "independent": INDEPENDENT,
    "dpcopula-kendall": KENDALL,
    "dpcopula-mle": MLE,
    "dpcopula-hybrid": HYBRID,
    "dpc-gauss": DPC_GAUSS,
    "dpc-laplace": DPC_LAPLACE,
}

DEFAULT_METHOD = "vine"
BASELINE_NAMES = (
    "plain-gaussian", "plain-vine", "cop", "cop-id", "cop-1", "shirley", "tvine", "rvine", "rvine-star1",
)  # fmt: skip
"""Names of the methods that promise nothing. They are in `sklar.lab`, which is imported only if one is requested."""


ENTRY_POINTS = "sklar.methods"
"""The group of entry points by which other packages offer methods: the name of the method, and its `Method`."""
FOREIGN_METHOD_NOTE = (
    "the method '{}' is not part of Sklar: the promise holds if its code sees nothing of the rows but what it measures"
)
_handed_over: dict[str, Method[Any]] = {}
"""Methods that were handed over as objects in this process: a model knows its method by name."""


def find_method(name: str | None, check_share: float = 0.0) -> Method[Any]:
    """Return the method of this name, or the default one; with a share, it holds tables back to be checked by."""
    wanted = DEFAULT_METHOD if name is None else name
    found = METHODS.get(wanted) or _handed_over.get(wanted) or _installed(wanted)
    if found is None:
        raise UsageError(
            f"there is no method '{wanted}'; the methods are: {', '.join(METHODS)}; and, without any guarantee: "
            f"{', '.join(BASELINE_NAMES)}"
        )
    return holding_back(found, check_share) if check_share != 0.0 else found


def hand_over_method(method: Method[Any]) -> str:
    """Make an own method known to this process; returns its name.

    Other processes, as those that verify a release, find it if a package offers it as an entry point.
    """
    own = METHODS.get(method.name)
    if own is not None and own is not method:
        raise UsageError(f"'{method.name}' is the name of a method of Sklar: give your own another one")
    if method.name in BASELINE_NAMES:
        raise UsageError(f"'{method.name}' is the name of a method without a guarantee: give your own another one")
    if own is None:
        _handed_over[method.name] = _as_foreign(method)
    return method.name


def _installed(name: str) -> Method[Any] | None:
    """Return the method that an installed package offers by this name."""
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=name):
        method = point.load()
        if not isinstance(method, Method) or method.name != name:
            raise UsageError(f"the entry point {point.value} must be a Method called '{name}'")
        return _as_foreign(cast("Method[Any]", method))
    return None


def _as_foreign(method: Method[Any]) -> Method[Any]:
    """Return the method with a sentence for the claim that says whose it is."""
    return replace(method, caveats=(*method.caveats, FOREIGN_METHOD_NOTE.format(method.name)))
