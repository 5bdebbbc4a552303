"""Guess: columns that hold one single value."""

from __future__ import annotations

from sklar.disclosed.drafting.guess import Guess
from sklar.disclosed.drafting.labels import category
from sklar.disclosed.drafting.profile import Profile

FEWEST_ROWS = 2


def guess_constant(profile: Profile) -> Guess | None:
    """Category of one value; times are left to the guess about times."""
    if profile.distinct != 1 or profile.present < FEWEST_ROWS or profile.form in ("moment", "other", "boolean"):
        return None
    return category(profile).with_notes("One single value was seen: if it tells nothing, make it `ignore`.")
