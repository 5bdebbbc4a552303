"""Scales of words that everyone puts in the same order, from low to high."""

from __future__ import annotations

SCALES: tuple[str, ...] = (
    "extremely low | very low | low | medium low | medium, moderate, mid, middle, average, normal | medium high | high "
    "| very high | extremely high",
    "never | rarely, seldom | occasionally | sometimes | often, frequently | usually | very often | always",
    "never | yearly, annually | quarterly | monthly | weekly | daily | hourly",
    "none, no | minimal | slight | mild | moderate | marked | severe | very severe | critical",
    "very poor | poor | fair | average | good | very good | excellent | outstanding",
    "strongly disagree | disagree | somewhat disagree | neutral, neither, neither agree nor disagree, undecided "
    "| somewhat agree | agree | strongly agree",
    "very dissatisfied | dissatisfied | neutral | satisfied | very satisfied",
    "very unlikely | unlikely | neutral | likely | very likely",
    "not at all | a little, slightly | somewhat, moderately | very, quite a bit | extremely",
    "xxs | xs | s | m | l | xl | xxl | xxxl",
    "tiny | small | medium | large | huge",
    "infant | child | adolescent, teenager | young adult | adult | elderly, senior",
    "beginner | intermediate | advanced | expert",
    "junior | mid | senior | lead | principal",
    "bronze | silver | gold | platinum",
    "monday, mon | tuesday, tue | wednesday, wed | thursday, thu | friday, fri | saturday, sat | sunday, sun",
    "january, jan | february, feb | march, mar | april, apr | may | june, jun | july, jul | august, aug "
    "| september, sep, sept | october, oct | november, nov | december, dec",
    "i | ii | iii | iv | v | vi | vii | viii | ix | x",
    "first | second | third | fourth | fifth",
    "none, no schooling | preschool, kindergarten | 1st 4th | 5th 6th | 7th 8th | primary, elementary | 9th | 10th "
    "| 11th | 12th | lower secondary | secondary, high school, hs grad, upper secondary | some college | assoc voc "
    "| assoc acdm, associate, associates | bachelor, bachelors, college, undergraduate "
    "| master, masters, graduate, postgraduate | prof school, professional | doctorate, phd, doctoral",
)
"""Words between commas stand at the same place. Only small letters, and single spaces between words."""


def places_on(scale: str) -> dict[str, int]:
    """The place of each word on a scale."""
    steps = enumerate(scale.split("|"))
    return {word.strip(): place for place, words in steps for word in words.split(",")}
