"""All DP methods by name."""

from __future__ import annotations

from typing import Any

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
"""Names of the methods that promise nothing. They live in the laboratory, which is reached only if one is asked for."""


def find_method(name: str | None, check_share: float = 0.0) -> Method[Any]:
    """The method of this name, or the default one; with a share, it holds tables back to be checked by."""
    wanted = DEFAULT_METHOD if name is None else name
    if wanted not in METHODS:
        raise UsageError(
            f"there is no method '{wanted}'; the methods are: {', '.join(METHODS)}; and, without any guarantee: "
            f"{', '.join(BASELINE_NAMES)}"
        )
    return holding_back(METHODS[wanted], check_share) if check_share != 0.0 else METHODS[wanted]
