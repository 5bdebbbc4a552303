"""Guess: codes that look like numbers (zip codes, 1 = yes / 2 = no / 9 = unknown) and so must not be averaged."""

from __future__ import annotations

from sklar.disclosed.drafting.atoms import SENTINELS
from sklar.disclosed.drafting.guess import Guess
from sklar.disclosed.drafting.labels import category
from sklar.disclosed.drafting.names import hints_code
from sklar.disclosed.drafting.numerals import NUMERAL, Numbers, numbers_of
from sklar.disclosed.drafting.profile import Profile, is_missing_word

LAST_DIGITS = frozenset({7, 8, 9})
GAP = 2
"""Numbers left out between the last value and the first code for unknown; counts may skip one by chance."""
MOST_CODES = 12
MOST_NAMED_CODES = 60


def guess_code(profile: Profile) -> Guess | None:
    """Category, for numbers that name things."""
    if profile.form == "real" and profile.distinct > MOST_NAMED_CODES:
        return None
    numbers = numbers_of(profile)
    if numbers is None or not numbers.whole or len(numbers.values) < 2:
        return None
    if _padded(profile, numbers):
        return category(profile).with_notes("Written with leading zeros, so these are codes rather than numbers.")
    if _scale_with_unknown(numbers):
        return category(profile).with_notes(
            "Few whole numbers with a gap, so these look like codes: check what each stands for, and whether the last "
            "means missing."
        )
    if hints_code(profile.name) and len(numbers.values) <= MOST_NAMED_CODES:
        return category(profile).with_notes(
            "By its name a code rather than a number; if it counts, make it an integer."
        )
    return None


def _padded(profile: Profile, numbers: Numbers) -> bool:
    """Leading zeros in texts that are otherwise equally long, or in a column that is a code by its name."""
    if profile.form != "text" or not numbers.padded:
        return False
    lengths = {len(v.strip()) for v in profile.values if NUMERAL.fullmatch(v) and not is_missing_word(v)}
    return hints_code(profile.name) or len(lengths) == 1


def _scale_with_unknown(numbers: Numbers) -> bool:
    """0 or 1 up to k without a gap, and then one or more of the usual codes for unknown or refused."""
    if len(numbers.values) > MOST_CODES:
        return False
    unknown = [v for v in numbers.values if v in SENTINELS or v in LAST_DIGITS]
    run = [v for v in numbers.values if v not in unknown]
    gapless = len(run) >= 2 and run[0] in (0, 1) and run[-1] - run[0] == len(run) - 1
    return bool(unknown) and gapless and all(v < run[0] - 1 or v > run[-1] + GAP for v in unknown)
