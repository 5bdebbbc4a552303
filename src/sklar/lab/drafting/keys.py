"""Guess: keys of rows or persons, row names, and columns without values; none of them is ever modelled."""

from __future__ import annotations

import re

from sklar.lab.drafting.guess import Guess, hints_key, hints_strong_key, leave_out
from sklar.lab.drafting.profile import Profile, numbers_of
from sklar.schema.columns import Id

FEWEST_ROWS = 20
"""Fewer rows than this say little about whether a value can occur twice."""
LONG_TEXT = 40
"""Letters: texts that are longer on average are prose rather than names or codes."""
UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def guess_key(profile: Profile) -> Guess | None:
    """Id, for values that name a row or a person."""
    if profile.form not in ("text", "integer") or profile.present < FEWEST_ROWS:
        return None
    texts = [v for v in profile.values if isinstance(v, str)]
    if texts and all(UUID.fullmatch(v.strip()) for v in texts[:1000]):
        return key(profile)
    if profile.unique and (hints_key(profile.name) or _counts_rows(profile) or _compact(profile)):
        return key(profile)
    many = profile.distinct > max(100, profile.present // 20)
    return key(profile) if hints_strong_key(profile.name) and many else None


def guess_empty(profile: Profile) -> Guess | None:
    """Ignore, for columns without any value, and for values that are not single numbers or words."""
    if profile.form == "other" and profile.rows and not profile.values:
        return leave_out("it is empty, or its values are not single numbers, words or times.")
    if not profile.present:
        return leave_out("no value was seen. If it can have values, give its kind and domain.")
    return None


def row_names_key(profile: Profile) -> Guess:
    """A first column without a name: row names or an index, as R and pandas write them."""
    return key(profile).with_notes("It had no name: row names or an index, as R and pandas write them. Is it no more?")


def key(profile: Profile) -> Guess:
    """The drafted key."""
    return Guess(column=Id(), notes=("a key: never read; the output gets fresh numbers.", *sharing_notes(profile)))


def sharing_notes(profile: Profile) -> tuple[str, ...]:
    """What the custodian should know about a key that several rows share."""
    if profile.unique:
        return ()
    return (
        "Several rows share a key: if it stands for a person, fit with rows_per_person set to the most rows a person "
        "can have, or the guarantee covers single rows only.",
    )


def _counts_rows(profile: Profile) -> bool:
    """Whole numbers without a gap, each once: a running number."""
    numbers = numbers_of(profile) if profile.distinct >= 100 else None
    if numbers is None or not numbers.whole or len(numbers.values) < profile.distinct:
        return False
    return numbers.values[-1] - numbers.values[0] == profile.distinct - 1


def _compact(profile: Profile) -> bool:
    """Short texts without spaces, most with digits: codes rather than prose."""
    if profile.form != "text" or mean_length(profile) > LONG_TEXT:
        return False
    texts = [v.strip() for v in profile.values[:1000]]
    shaped = sum(1 for t in texts if " " not in t and re.search(r"\d", t) and not re.fullmatch(r"[-+.\d]+", t))
    padded = all(re.fullmatch(r"\d+", t) for t in texts) and len({len(t) for t in texts}) == 1 and len(texts[0]) > 5
    return shaped > 0.9 * len(texts) or padded


def mean_length(profile: Profile) -> float:
    """Letters of a text, on average over the distinct ones."""
    return sum(len(v) for v in profile.values) / max(profile.distinct, 1)
