"""All methods without a guarantee, by name."""

from __future__ import annotations

from sklar.disclosed.cop import COP, COP_IDENTITY, COP_ONES
from sklar.disclosed.method import DisclosedMethod
from sklar.disclosed.plain_gaussian import PLAIN_GAUSSIAN

DISCLOSED: dict[str, DisclosedMethod] = {
    "plain-gaussian": PLAIN_GAUSSIAN,
    "cop": COP,
    "cop-id": COP_IDENTITY,
    "cop-1": COP_ONES,
}
