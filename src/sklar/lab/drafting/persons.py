"""Guess: data that point at persons (names, addresses, free text), which are left out however few they are."""

from __future__ import annotations

import re
from collections.abc import Callable

from sklar.lab.drafting.guess import PERSONAL_WORDS, Guess, hints, leave_out, word_set, words_of
from sklar.lab.drafting.keys import FEWEST_ROWS, LONG_TEXT, mean_length
from sklar.lab.drafting.profile import Profile, is_excuse, is_missing_word

MANY, SEVERAL = 0.5, 0.1
"""Distinct values, as a share of the rows: beyond MANY long texts are free text, and beyond SEVERAL the texts of a
column that is personal by its name are names. Fewer repeat like the words of a list, unless they look like names."""
MOST = 0.6
"""Share of the different texts that must look like names: not all names are on a list."""
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
WORD = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\.?"
CAPITAL = re.compile(rf"{WORD}(?: {WORD}){{0,3}}")
TITLED = re.compile(rf"(?:dr|mr|mrs|ms|miss|prof|herr|frau|mme|mlle|dott)\.? {WORD}.*", re.IGNORECASE)
NAME_WORDS = word_set("name names surname firstname lastname forename fullname")
THINGS = word_set(
    "account area bank branch brand chemical city clinic college common company country county course department "
    "disease district drug event facility file firm food generic hospital item job language location medication "
    "occupation organisation organization plan procedure product program project province region room scheme school "
    "sector service ship shop site species state station store supplier team test town trade unit university "
    "variable vendor village ward"
)
"""What has names too; a column called so holds names of things."""
ROLES = word_set(
    "advisor agent applicant assessor attending author caregiver carer client clerk clinician coach contact "
    "counselor customer doctor donor driver employee examiner gp guardian holder interviewer investigator judge "
    "lawyer manager member midwife nurse officer operator owner parent partner patient physician player "
    "practitioner prescriber provider radiologist referrer researcher resident seller staff student surgeon teacher "
    "technician tenant therapist user vet witness worker"
)
"""Persons by what they do; a column called so may hold their names."""
GIVEN_NAMES = word_set(
    "aaron abdul adam ahmed aisha alan albert alejandro alex alexander alexandra alice amanda amy ana andrea "
    "andreas andrew angela anita ann anna anne anthony antonio arthur barbara ben benjamin beth betty bob brandon "
    "brenda brian bruce carl carla carlos carol caroline catherine charles charlotte chen chris christian christina "
    "christine christopher claire clara claudia cynthia daniel daniela david deborah dennis diana diego donald "
    "donna dorothy edward elena elisabeth elizabeth ella emily emma eric erik eva fatima felix fernando fiona "
    "francesca francesco frank franz fred gary george gerald giovanni giulia grace greg gregory hannah hans harold "
    "hassan heather helen helena henry ibrahim ines ingrid irene isabel isabella jack jacob james jan jane janet "
    "jason javier jean jeff jeffrey jennifer jessica jim joan joe johan johann john jonathan jorge jose joseph "
    "joshua juan judith julia julie karen karl kate katherine kathleen kelly kenneth kevin kim klaus kumar larry "
    "laura lars lauren lee lena leo leon lily linda lisa louis luca lucas lucia lucy luis luke magda manuel marco "
    "margaret maria marie mario mark markus marta martha martin mary matthew max megan mehmet melissa mia michael "
    "michelle miguel mike mohamed mohammed monica monika nancy natalia nathan nicholas nicole nina noah nora olga "
    "oliver olivia omar oscar pablo pamela patricia patrick paul paula pedro peter petra philip pierre rachel ralph "
    "raymond rebecca ricardo richard rita robert roberto robin roger ronald rosa ruth ryan samantha samuel sandra "
    "sara sarah scott sean sharon silvia simon sofia sophia sophie stefan stephanie stephen steven susan susanne "
    "sven tara teresa thomas tim timothy tom tony ursula valentina vanessa vera victor victoria walter wei william "
    "wolfgang xin yan yuki yusuf zhang zoe"
)
"""Frequent given names of several languages, to tell names of persons from names of things."""


def guess_personal(profile: Profile) -> Guess | None:
    """Ignore, for names, addresses and the like, and for long free text."""
    if profile.form != "text" or profile.present < FEWEST_ROWS:
        return None
    emails = all(EMAIL.fullmatch(v.strip()) for v in profile.values[:1000])
    if emails or (hints(profile.name, PERSONAL_WORDS) and profile.distinct > SEVERAL * profile.present):
        return leave_out("it seems to hold data that point at persons (names, addresses, phone numbers).")
    if profile.distinct > MANY * profile.present and mean_length(profile) > LONG_TEXT:
        return leave_out("free text, which is not modelled.")
    if holds_names(profile):
        return leave_out(
            "it seems to hold names of persons, few as they are. If they name no persons, make it `category` with its "
            "values; else number the persons in the file, and make that a category."
        )
    return None


def holds_names(profile: Profile) -> bool:
    """Whether most of the texts are names of persons, by how they are written or by what the column is called."""
    texts = [v.strip() for v in profile.values if isinstance(v, str) and not (is_missing_word(v) or is_excuse(v))]
    words = frozenset(words_of(profile.name))
    if not texts or words & THINGS:
        return False
    if _most(texts, lambda text: TITLED.fullmatch(text) is not None or _has_given_name(text)):
        return True
    whole = words & ROLES and _most(texts, lambda text: _is_name(text) and " " in text)
    return bool(whole) or (bool(words & NAME_WORDS) and _most(texts, _is_name))


def _has_given_name(text: str) -> bool:
    """A given name alone, at the front of two to four words, or behind a comma."""
    first, _, behind = text.partition(",")
    words = (behind or first).split()
    return CAPITAL.fullmatch(text.replace(",", "")) is not None and bool(words) and words[0].lower() in GIVEN_NAMES


def _is_name(text: str) -> bool:
    """One to four words with capitals, perhaps the last one first."""
    plain = text.replace(",", "", 1)
    return CAPITAL.fullmatch(plain) is not None and all(word[0].isupper() for word in plain.split())


def _most(texts: list[str], looks: Callable[[str], bool]) -> bool:
    return sum(looks(text) for text in texts) >= MOST * len(texts)
