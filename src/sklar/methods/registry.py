"""All DP methods by name."""

from __future__ import annotations

from sklar.errors import UsageError
from sklar.methods.independent import INDEPENDENT
from sklar.methods.method import Method
from sklar.methods.vine import VINE

METHODS: dict[str, Method] = {
    "vine": VINE,
    "independent": INDEPENDENT,
}

DEFAULT_METHOD = "vine"


def find_method(name: str | None) -> Method:
    """The method of this name, or the default one."""
    wanted = DEFAULT_METHOD if name is None else name
    if wanted not in METHODS:
        raise UsageError(f"there is no method '{wanted}'; the methods are: {', '.join(METHODS)}")
    return METHODS[wanted]
