"""All guesses in the order they are tried, and the guesses for columns whose kind is stated beforehand."""

from __future__ import annotations

from collections.abc import Callable

from sklar.lab.drafting.codes import boolean, guess_amount, guess_boolean, guess_code
from sklar.lab.drafting.guess import Guess
from sklar.lab.drafting.keys import guess_empty, guess_key, guess_personal, key, leave_out, sharing_notes
from sklar.lab.drafting.labels import category, guess_category, nullable
from sklar.lab.drafting.moments import guess_moment, moment
from sklar.lab.drafting.ordered_words import guess_ordered_words
from sklar.lab.drafting.profile import Profile, numbers_of
from sklar.lab.drafting.quantities import guess_quantity, quantity
from sklar.schema.columns import Ignore, Ordinal
from sklar.schema.sdv import StatedKind

FEWEST_ROWS = 2


def guess_constant(profile: Profile) -> Guess | None:
    """Category of one value; times are left to the guess about times."""
    if profile.distinct != 1 or profile.present < FEWEST_ROWS or profile.form in ("moment", "other", "boolean"):
        return None
    return category(profile).with_notes("One single value was seen: if it tells nothing, make it `ignore`.")


GUESSES: tuple[Callable[[Profile], Guess | None], ...] = (
    guess_empty,
    guess_constant,
    guess_boolean,
    guess_key,
    guess_moment,
    guess_code,
    guess_quantity,
    guess_personal,
    guess_amount,
    guess_ordered_words,
    guess_category,
)
"""The first guess that fits is taken."""


def guess_column(profile: Profile) -> Guess:
    """What a column is, from its rows alone."""
    return next((guess for attempt in GUESSES if (guess := attempt(profile)) is not None), leave_out(profile))


def guess_stated(profile: Profile, stated: StatedKind) -> Guess:
    """A column of a stated kind, with only its domain taken from the rows; a plain guess if the rows do not fit it."""
    guess = _stated(profile, stated)
    if guess is None:
        return guess_column(profile).with_notes(f"The metadata say {stated.sdtype}, which does not fit the rows.")
    # Metadata may call a key a number or leave it out; that rows share it matters all the same.
    shared = sharing_notes(profile) if stated.kind != "id" and guess_key(profile) is not None else ()
    return guess.with_notes(*stated.notes, *shared)


def _stated(profile: Profile, stated: StatedKind) -> Guess | None:
    if stated.kind == "id":
        return key(profile)
    if stated.kind == "ignore":
        return Guess(column=Ignore(), notes=(f"left out: {stated.sdtype} data are not modelled.",))
    if stated.kind == "ordinal":
        column = Ordinal(stated.values, nullable=nullable(profile))
        return Guess(column=column, notes=("ordered values, as the metadata list them.",))
    if not profile.present:
        return guess_empty(profile)
    if stated.kind == "boolean":
        return boolean(profile)
    if stated.kind == "category":
        return category(profile)
    if stated.kind == "datetime":
        return moment(profile, None if profile.form == "moment" else stated.format)
    numbers = numbers_of(profile)
    return None if numbers is None else quantity(profile, numbers, real=stated.kind == "real")
