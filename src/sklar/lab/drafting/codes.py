"""Guess columns that only look like numbers, or do not look like them: codes (zip codes, 1 = yes / 2 = no / 9 =
unknown), two values for true and false, and amounts with signs, units or separators."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.lab.drafting.guess import CODE_WORDS, Guess, has_word, leave_out
from sklar.lab.drafting.labels import MAX_LABELS, draft_category, label_text
from sklar.lab.drafting.profile import (
    MAX_SCALE_CODES,
    NUMERAL,
    SENTINELS,
    Numbers,
    Profile,
    is_missing_word,
    list_excuses,
    parse_numbers,
)
from sklar.lab.drafting.quantities import describe_unread, draft_quantity
from sklar.methods.facts.kinds import number_format
from sklar.rows.encode.classes import cell_class
from sklar.rows.encode.text import text_of
from sklar.rows.encode.written_numbers import plain_numbers
from sklar.schema.cell_classes import CELL_CLASSES, UNITS
from sklar.schema.columns import Boolean, parse_truth
from sklar.schema.number_formats import APOSTROPHES, SPACES, NumberFormat, read_number_format

UNKNOWN_DIGITS = frozenset({7, 8, 9})
"""In addition to SENTINELS, digits that questionnaires use for unknown and refused."""
MIN_CODE_GAP = 2
"""Numbers that must be unused between the last value and the first code for unknown; counts may skip one by chance."""
MAX_NAMED_CODES = 60
"""Maximum number of different values of a column that is a code by its name: more would be too many labels."""
BOOLEAN_WORDS = tuple(frozenset(pair.split()) for pair in ("true false", "t f", "yes no", "y n", "1 0"))
MAX_SPELLINGS = 20
"""Maximum number of different texts of a boolean: two words in several spellings, and words for missing values."""
CURRENCY = r"(?:[$€£¥₹]|usd|eur|gbp|chf|kr|rs\.?)"
AMOUNT = re.compile(
    rf"[-+(]?\s*{CURRENCY}?\s*[-+]?\d[\d.,' \u00a0\u202f]*(?:e[-+]?\d+)?\s*(?:%|{CURRENCY}|k|m|bn)?\s*\)?",
    re.IGNORECASE,
)
DECIMAL_COMMA = re.compile(r"[-+]?\d+(,\d+)?")
"""Numbers with a decimal comma; few of them are a scale like few numbers with a decimal point."""
UNIT = re.compile(r"[^\W\d_]{1,3}(/[^\W\d_]{1,3})?")
BEFORE_UNIT = f"+-0123456789.,{SPACES}{APOSTROPHES}"
"""Characters of a number that stand before its unit."""
MAX_CATEGORY_AMOUNTS = 12
"""Up to this number of different texts, amounts become a category."""
MIN_AMOUNT_SHARE = 0.95
"""Minimum share of texts that must look like amounts, else they are words."""
MAX_TEXTS = 5000
"""Number of different texts that are examined."""


def guess_code(profile: Profile) -> Guess | None:
    """Guess a category for numbers that are codes."""
    if profile.form == "real" and profile.distinct > MAX_NAMED_CODES:
        return None
    numbers = parse_numbers(profile)
    if numbers is None or not numbers.whole or len(numbers.values) < 2:
        return None
    if _has_padded_codes(profile, numbers):
        return draft_category(profile).with_notes("Written with leading zeros, so these are codes rather than numbers.")
    if _is_scale_with_unknown(numbers):
        return draft_category(profile).with_notes(
            "Few whole numbers with a gap, so these look like codes: check what each means, and whether the last "
            "means missing."
        )
    if has_word(profile.name, CODE_WORDS) and len(numbers.values) <= MAX_NAMED_CODES:
        return draft_category(profile).with_notes(
            "By its name a code rather than a number; if it counts something, make it an integer."
        )
    return None


def _has_padded_codes(profile: Profile, numbers: Numbers) -> bool:
    """Check for leading zeros in texts of equal length, or in a column that is a code by its name."""
    if profile.form != "text" or not numbers.padded:
        return False
    lengths = {len(v.strip()) for v in profile.values if NUMERAL.fullmatch(v) and not is_missing_word(v)}
    return has_word(profile.name, CODE_WORDS) or len(lengths) == 1


def _is_scale_with_unknown(numbers: Numbers) -> bool:
    """Check for a scale from 0 or 1 to k without a gap, followed by usual codes for unknown or refused."""
    if len(numbers.values) > MAX_SCALE_CODES:
        return False
    unknown = [v for v in numbers.values if v in SENTINELS or v in UNKNOWN_DIGITS]
    run = [v for v in numbers.values if v not in unknown]
    gapless = len(run) >= 2 and run[0] in (0, 1) and run[-1] - run[0] == len(run) - 1
    return bool(unknown) and gapless and all(v < run[0] - 1 or v > run[-1] + MIN_CODE_GAP for v in unknown)


def guess_boolean(profile: Profile) -> Guess | None:
    """Guess a boolean if both words of one pair occur and no other."""
    if profile.form not in ("boolean", "text", "integer", "real") or profile.distinct > MAX_SPELLINGS:
        return None
    words = frozenset(_truth_text(v).lower() for v in profile.values if not is_missing_word(v))
    if profile.form != "boolean" and words not in BOOLEAN_WORDS:
        return None
    guess = draft_boolean(profile)
    if spelling := _find_spelling(profile):
        column = replace(guess.column, spelling=spelling)  # type: ignore[call-arg]
        note = f"The output has {spelling[0]} and {spelling[1]}, as in the rows."
        return Guess(column=column, notes=(*guess.notes, note))
    if words != BOOLEAN_WORDS[0]:
        shown = " and ".join(sorted(words))
        return guess.with_notes(f"The output has true and false; for {shown}, give them under `spelling`.")
    return guess


def _truth_text(value: Any) -> str:
    """Return a value as text; zeros and ones that a missing value turned into fractions are whole again."""
    text = label_text(value).strip()
    return text.removesuffix(".0") if text in ("0.0", "1.0") else text


def _find_spelling(profile: Profile) -> tuple[str | int, ...]:
    """Return how the rows write false and true, if in one way only; empty for columns of type boolean."""
    if profile.form == "boolean":
        return ()
    words = {_truth_text(v) for v in profile.values if not is_missing_word(v)}
    written = sorted(words, key=lambda word: parse_truth(word) is True)
    if len(written) != 2 or profile.form in ("integer", "real") or set(written) == {"0", "1"}:
        return (0, 1) if words == {"0", "1"} else ()
    return tuple(written) if not Boolean(spelling=written).faults() else ()


def draft_boolean(profile: Profile) -> Guess:
    """Draft a boolean column."""
    missing = profile.missing > 0 or any(is_missing_word(v) for v in profile.values)
    return Guess(column=Boolean(nullable=missing), notes=(f"true or false{', or missing' if missing else ''}.",))


def guess_amount(profile: Profile) -> Guess | None:
    """Guess numbers in a format for amounts written for people; leave them out if no single format reads them."""
    if profile.form != "text":
        return None
    excuses = list_excuses(profile)
    texts = [v.strip() for v in profile.values[:MAX_TEXTS] if not (is_missing_word(v) or v in excuses)]
    unit = _find_unit(texts)
    same_unit = unit != ""
    amounts = len(texts) if same_unit else sum(1 for t in texts if AMOUNT.fullmatch(t))
    decorated = sum(1 for t in texts if re.search(r"[^\d.+-]", t))
    plain = bool(texts) and all(DECIMAL_COMMA.fullmatch(t) for t in texts)
    if profile.distinct <= MAX_CATEGORY_AMOUNTS and not plain:
        return None
    few = not plain and profile.distinct <= MAX_LABELS and profile.distinct < 0.05 * profile.present
    if amounts < MIN_AMOUNT_SHARE * len(texts) or decorated < 0.05 * len(texts) or few:
        return None
    return _draft_formatted(profile, unit) or leave_out(
        "amounts in several formats (signs, units or separators) are not read as numbers. Write them in one format in "
        "the file, such as 1234.50, then make it `real` with lower and upper."
    )


def _find_unit(texts: list[str]) -> str:
    """Return the unit after all numbers, or a usual one after some of them; empty if there is none."""
    units = {text.lstrip(BEFORE_UNIT).strip() for text in texts}
    known = units - {""}
    unit = known.pop() if len(known) == 1 else ""
    return unit if unit in UNITS or (len(units) == 1 and UNIT.fullmatch(unit)) else ""


def _draft_formatted(profile: Profile, unit: str) -> Guess | None:
    """Draft a numeric column in the format that reads nearly all texts; None if there is none."""
    form = _find_format(profile, unit)
    if form is None or read_number_format(form.example) != form:
        return None
    read = plain_numbers(text_of(pa.array(profile.values, pa.large_string())), form)
    places = np.flatnonzero(read.valid)
    plain = replace(
        profile, values=tuple(read.entry(at).decode() for at in places.tolist()), counts=profile.counts[places]
    )
    numbers = parse_numbers(plain)
    counted = list(zip(profile.values, profile.counts.tolist(), strict=True))
    absent, excuses = sum(n for v, n in counted if is_missing_word(v)), list_excuses(profile)
    words = absent + sum(n for v, n in counted if v in excuses)
    if numbers is None or plain.present < MIN_AMOUNT_SHARE * (profile.present - words):
        return None
    guess = draft_quantity(plain, numbers)
    if unread := profile.present - plain.present - absent:
        guess = guess.with_notes(describe_unread(unread, profile.present))
    column = replace(guess.column, format=form.example)  # type: ignore[call-arg]
    note = f"Numbers are written in the form {form.example}, which stands for 1234.56: the fact `format`."
    return Guess(column=column, notes=guess.notes).with_notes(note)


def _find_format(profile: Profile, unit: str) -> NumberFormat | None:
    """Find the format of most numbers by the classes of their texts without the unit."""
    counts = dict.fromkeys(CELL_CLASSES, 0)
    for value, count in zip(profile.values, profile.counts.tolist(), strict=True):
        counts[cell_class(value.strip().removesuffix(unit))] += count
    form = number_format(counts)
    if unit or form is None:
        return replace(form or NumberFormat(), suffix=unit) if unit else None
    texts = [value.strip() for value in profile.values]
    before, after = any(t.startswith(form.prefix) for t in texts), any(t.endswith(form.suffix) for t in texts)
    return replace(form, prefix=form.prefix if before else "", suffix=form.suffix if after else "")
