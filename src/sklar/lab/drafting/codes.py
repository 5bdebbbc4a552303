"""Guess: what is not the number it looks like: codes (zip codes, 1 = yes / 2 = no / 9 = unknown), which must not be
averaged; two values that stand for true and false; and amounts with signs, units or separators."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sklar.lab.drafting.guess import CODE_WORDS, Guess, hints, leave_out
from sklar.lab.drafting.labels import MOST_LABELS, category, label_text
from sklar.lab.drafting.profile import NUMERAL, SENTINELS, Numbers, Profile, is_missing_word, numbers_of
from sklar.lab.drafting.quantities import quantity
from sklar.methods.facts.kinds import number_format
from sklar.rows.encode.classes import cell_class
from sklar.rows.encode.text import text_of
from sklar.rows.encode.written_numbers import plain_numbers
from sklar.schema.cell_classes import CELL_CLASSES
from sklar.schema.columns import Boolean, truth_of
from sklar.schema.number_formats import NumberFormat, read_number_format

LAST_DIGITS = frozenset({7, 8, 9})
"""Besides SENTINELS, digits that questionnaires use for unknown and refused."""
GAP = 2
"""Numbers left out between the last value and the first code for unknown; counts may skip one by chance."""
MOST_CODES = 12
"""Different numbers of a scale with a code for unknown: more are counts or measures."""
MOST_NAMED_CODES = 60
"""Different numbers of a column that is a code by its name: more would be too many labels."""
PAIRS = tuple(frozenset(pair.split()) for pair in ("true false", "t f", "yes no", "y n", "1 0"))
MOST_SPELLINGS = 20
"""The two words in several spellings, and some words for missing."""
SIGNED = r"(?:[$€£¥₹]|usd|eur|gbp|chf|kr|rs\.?)"
AMOUNT = re.compile(
    rf"[-+(]?\s*{SIGNED}?\s*[-+]?\d[\d.,' \u00a0\u202f]*(?:e[-+]?\d+)?\s*(?:%|{SIGNED}|k|m|bn)?\s*\)?", re.IGNORECASE
)
UNIT = re.compile(r"[^\W\d_]{1,3}(/[^\W\d_]{1,3})?")
FEWEST = 12
"""With fewer different texts a category will do."""
ENOUGH = 0.95
"""Share of the texts that must look like amounts; fewer are words."""
FIRST = 5000
"""Texts that are looked at."""


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
    if hints(profile.name, CODE_WORDS) and len(numbers.values) <= MOST_NAMED_CODES:
        return category(profile).with_notes(
            "By its name a code rather than a number; if it counts, make it an integer."
        )
    return None


def _padded(profile: Profile, numbers: Numbers) -> bool:
    """Leading zeros in texts that are otherwise equally long, or in a column that is a code by its name."""
    if profile.form != "text" or not numbers.padded:
        return False
    lengths = {len(v.strip()) for v in profile.values if NUMERAL.fullmatch(v) and not is_missing_word(v)}
    return hints(profile.name, CODE_WORDS) or len(lengths) == 1


def _scale_with_unknown(numbers: Numbers) -> bool:
    """0 or 1 up to k without a gap, and then one or more of the usual codes for unknown or refused."""
    if len(numbers.values) > MOST_CODES:
        return False
    unknown = [v for v in numbers.values if v in SENTINELS or v in LAST_DIGITS]
    run = [v for v in numbers.values if v not in unknown]
    gapless = len(run) >= 2 and run[0] in (0, 1) and run[-1] - run[0] == len(run) - 1
    return bool(unknown) and gapless and all(v < run[0] - 1 or v > run[-1] + GAP for v in unknown)


def guess_boolean(profile: Profile) -> Guess | None:
    """Boolean, if both words of one pair occur and no other."""
    if profile.form not in ("boolean", "text", "integer", "real") or profile.distinct > MOST_SPELLINGS:
        return None
    words = frozenset(label_text(v).strip().lower() for v in profile.values if not is_missing_word(v))
    if profile.form != "boolean" and words not in PAIRS:
        return None
    guess = boolean(profile)
    spelling = _spelling(profile)
    if spelling:
        column = replace(guess.column, spelling=spelling)  # type: ignore[call-arg]
        return Guess(
            column=column, notes=(*guess.notes, f"The output says {spelling[0]} and {spelling[1]}, as the rows do.")
        )
    if words != PAIRS[0]:
        shown = " and ".join(sorted(words))
        return guess.with_notes(f"The output says true and false; to have {shown}, say how under `spelling`.")
    return guess


def _spelling(profile: Profile) -> tuple[str | int, ...]:
    """How the rows write false and true, if in one way only; nothing where they hold truth values as such."""
    if profile.form == "boolean":
        return ()
    words = {label_text(v).strip() for v in profile.values if not is_missing_word(v)}
    written = sorted(words, key=lambda word: truth_of(word) is True)
    if len(written) != 2 or profile.form in ("integer", "real") or set(written) == {"0", "1"}:
        return (0, 1) if words == {"0", "1"} else ()
    return tuple(written) if not Boolean(spelling=written).faults() else ()


def boolean(profile: Profile) -> Guess:
    """The drafted column; its two values follow from the kind."""
    missing = profile.missing > 0 or any(is_missing_word(v) for v in profile.values)
    return Guess(column=Boolean(nullable=missing), notes=(f"true or false{', or missing' if missing else ''}.",))


def guess_amount(profile: Profile) -> Guess | None:
    """Numbers in a format, for amounts written for people; ignore with a note if no one format reads them."""
    if profile.form != "text" or profile.distinct <= FEWEST:
        return None
    texts = [v.strip() for v in profile.values[:FIRST] if not is_missing_word(v)]
    units = {t.lstrip("+-0123456789.,").strip() for t in texts}
    unit = units.pop() if len(units) == 1 else ""
    same_unit = UNIT.fullmatch(unit) is not None
    amounts = len(texts) if same_unit else sum(1 for t in texts if AMOUNT.fullmatch(t))
    decorated = sum(1 for t in texts if re.search(r"[^\d.+-]", t))
    few = profile.distinct <= MOST_LABELS and profile.distinct < 0.05 * profile.present
    if amounts < ENOUGH * len(texts) or decorated < 0.05 * len(texts) or few:
        return None
    return _formatted(profile, unit if same_unit else "") or leave_out(
        "amounts written with signs, units or separators in several ways are not read as numbers. Write them in one "
        "way in the file, as 1234.50, then make it `real` with lower and upper."
    )


def _formatted(profile: Profile, unit: str) -> Guess | None:
    """The column of numbers in the one format that reads nearly all of them; None if there is none."""
    form = _written_format(profile, unit)
    if form is None or read_number_format(form.example) != form:
        return None
    read = plain_numbers(text_of(pa.array(profile.values, pa.large_string())), form)
    places = np.flatnonzero(read.valid)
    plain = replace(
        profile, values=tuple(read.entry(at).decode() for at in places.tolist()), counts=profile.counts[places]
    )
    numbers = numbers_of(plain)
    words = sum(int(n) for v, n in zip(profile.values, profile.counts, strict=True) if is_missing_word(v))
    if numbers is None or plain.present < ENOUGH * (profile.present - words):
        return None
    guess = quantity(plain, numbers)
    column = replace(guess.column, format=form.example)  # type: ignore[call-arg]
    said = f"They are written as {form.example}, which is how 1234.56 would be: `format`."
    return Guess(column=column, notes=guess.notes).with_notes(said)


def _written_format(profile: Profile, unit: str) -> NumberFormat | None:
    """How most of the numbers are written, by the classes of their texts without the unit."""
    counts = dict.fromkeys(CELL_CLASSES, 0)
    for value, count in zip(profile.values, profile.counts.tolist(), strict=True):
        counts[cell_class(value.strip().removesuffix(unit))] += count
    form = number_format(counts)
    return replace(form or NumberFormat(), suffix=unit) if unit else form
