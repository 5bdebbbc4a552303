"""Guess data that identify persons (names, addresses, free text), which are always left out."""

from __future__ import annotations

import re
from collections.abc import Callable

from sklar.lab.drafting.guess import PERSONAL_WORDS, Guess, has_word, leave_out, name_words, split_words
from sklar.lab.drafting.keys import MIN_KEY_ROWS, MIN_PROSE_LENGTH, mean_length
from sklar.lab.drafting.profile import Profile, is_excuse, is_missing_word

MAX_DISTINCT_PROSE, MAX_DISTINCT_PERSONAL = 0.5, 0.1
"""Distinct values as a share of the rows: above the first, long texts are free text; above the second, the texts of a
column that is personal by its name are names. Fewer repeat like the words of a list, unless they look like names."""
MIN_NAME_SHARE = 0.6
"""Share of the different texts that must look like names: not all names are on a list."""
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
WORD = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\.?"
CAPITAL = re.compile(rf"{WORD}(?: {WORD}){{0,3}}")
TITLED = re.compile(rf"(?:dr|mr|mrs|ms|miss|prof|herr|frau|mme|mlle|dott)\.? {WORD}.*", re.IGNORECASE)
NAME_WORDS = split_words("name names surname firstname lastname forename fullname")
PERSON_NAME_WORDS = split_words(
    "surname surnames firstname lastname forename forenames fullname middlename vorname nachname familienname prenom "
    "prénom apellido apellidos cognome voornaam achternaam"
)
NAME_PARTS = split_words("first last given family middle maiden full")
"""Words that, beside one for a name, say that it is of a person: values of such columns need not look like names."""
THING_WORDS = split_words(
    "account area bank branch brand chemical city clinic college common company country county course department "
    "disease district drug event facility file firm food generic hospital item job language location medication "
    "occupation organisation organization plan procedure product program project province region room scheme school "
    "sector service ship shop site species state station store supplier team test town trade unit university "
    "variable vendor village ward"
)
"""Words in names of columns that contain names of things."""
ROLE_WORDS = split_words(
    "advisor agent applicant assessor attending author caregiver carer client clerk clinician coach contact "
    "counselor customer doctor donor driver employee examiner gp guardian holder interviewer investigator judge "
    "lawyer manager member midwife nurse officer operator owner parent partner patient physician player "
    "practitioner prescriber provider radiologist referrer researcher resident seller staff student surgeon teacher "
    "technician tenant therapist user vet witness worker"
)
"""Roles of persons; columns with such names may contain names of persons."""
GIVEN_NAMES = split_words(
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
"""Frequent given names of several languages, to distinguish names of persons from names of things."""


def guess_personal(profile: Profile) -> Guess | None:
    """Leave out names, addresses and the like, and long free text."""
    if profile.form != "text" or profile.present < MIN_KEY_ROWS:
        return None
    emails = all(EMAIL.fullmatch(v.strip()) for v in profile.values[:1000])
    many = profile.distinct > MAX_DISTINCT_PERSONAL * profile.present
    if emails or (has_word(profile.name, PERSONAL_WORDS) and many):
        return leave_out("it seems to contain data that identify persons (names, addresses, phone numbers).")
    if profile.distinct > MAX_DISTINCT_PROSE * profile.present and mean_length(profile) > MIN_PROSE_LENGTH:
        return leave_out("free text, which is not modelled.")
    if contains_names(profile):
        return leave_out(
            "it seems to contain names of a few persons. If they are not persons, make it `category` with its values; "
            "else number the persons in the file, and make that a category."
        )
    return None


def contains_names(profile: Profile) -> bool:
    """Check whether most texts are names of persons, by their form or by the name of the column."""
    texts = [v.strip() for v in profile.values if isinstance(v, str) and not (is_missing_word(v) or is_excuse(v))]
    words = frozenset(name_words(profile.name))
    if not texts or words & THING_WORDS:
        return False
    if words & PERSON_NAME_WORDS or (words & NAME_WORDS and words & NAME_PARTS):
        return True
    if _holds_for_most(texts, lambda text: TITLED.fullmatch(text) is not None or _has_given_name(text)):
        return True
    whole = words & ROLE_WORDS and _holds_for_most(texts, lambda text: _is_name(text) and " " in text)
    return bool(whole) or (bool(words & NAME_WORDS) and _holds_for_most(texts, _is_name))


def _has_given_name(text: str) -> bool:
    """Check for a given name alone, in front of up to three other words, or after a comma."""
    first, _, behind = text.partition(",")
    words = (behind or first).split()
    return CAPITAL.fullmatch(text.replace(",", "")) is not None and bool(words) and words[0].lower() in GIVEN_NAMES


def _is_name(text: str) -> bool:
    """Check for one to four capitalized words, possibly with a comma after the surname."""
    plain = text.replace(",", "", 1)
    return CAPITAL.fullmatch(plain) is not None and all(word[0].isupper() for word in plain.split())


def _holds_for_most(texts: list[str], looks: Callable[[str], bool]) -> bool:
    return sum(looks(text) for text in texts) >= MIN_NAME_SHARE * len(texts)
