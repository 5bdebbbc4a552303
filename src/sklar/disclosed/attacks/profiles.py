"""How often games are played and with how many rows: the parameters of attacks on methods."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from sklar.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowProfile:
    """Parameters of membership inference by shadow models (Griesbauer et al. 2025, table 1, in brackets).

    Attributes:
        iterations: Games (nIter).
        reference: Real rows that the attacker has to train on (sizeRawA).
        shadows: Shadow models without the target, and as many with it (nShadows).
        tables: Synthetic tables drawn from each shadow model (nSynA).
        size: Rows that each model is fitted on (sizeRawT).
        synthetic: Rows of each synthetic table (sizeSynT).
        test_tables: Synthetic tables with, and without, the target that the attacker has to judge (nSynT).
    """

    iterations: int = 10
    reference: int = 500
    shadows: int = 10
    tables: int = 10
    size: int = 400
    synthetic: int = 400
    test_tables: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeProfile:
    """Parameters of attribute inference from fits (Griesbauer et al. 2025, table 1, in brackets).

    Attributes:
        iterations: Games (nIter).
        reference: Real rows that the method is fitted on (sizeRawT).
        size: Rows of each synthetic table and each bootstrap (sizeSynT, bootstrapSize).
        tables: Synthetic tables and bootstraps of a game (nSynT).
    """

    iterations: int = 10
    reference: int = 500
    size: int = 500
    tables: int = 50


SHADOW_PROFILES: dict[str, ShadowProfile] = {
    "paper": ShadowProfile(),
    "quick": ShadowProfile(iterations=4, reference=250, shadows=4, tables=5, size=200, synthetic=200, test_tables=20),
}
ATTRIBUTE_PROFILES: dict[str, AttributeProfile] = {
    "paper": AttributeProfile(),
    "quick": AttributeProfile(iterations=4, reference=250, size=250, tables=10),
}


def find_profile(profiles: dict[str, Any], name: str, changes: dict[str, Any]) -> Any:
    """The profile of this name, with some parameters changed."""
    if name not in profiles:
        raise UsageError(f"there is no profile '{name}'; the profiles are: {', '.join(profiles)}.")
    profile = profiles[name]
    for key, value in changes.items():
        if key not in asdict(profile):
            raise UsageError(f"a profile has no parameter '{key}'; it has: {', '.join(asdict(profile))}.")
        if isinstance(value, bool) or not isinstance(value, int) or value < 2:
            raise UsageError(f"{key} must be a whole number of at least 2; found {value!r}.")
    return replace(profile, **changes)
