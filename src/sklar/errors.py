"""Every deliberate exception of Sklar: the rule, what was found, and what to do, in one or two plain sentences.

Messages from ``rows`` and ``private`` name columns and row-independent facts only, never a cell or an exact count. What
says that an argument is wrong is a ValueError, too, so that callers who know nothing of Sklar catch it as usual.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence


class SklarError(Exception):
    """Base of all deliberate errors; the command line prints its message without a traceback and exits with 1."""


class UsageError(SklarError, ValueError):
    """An argument is outside what the function accepts."""


class SchemaError(SklarError, ValueError):
    """The schema breaks one or more rules; ``faults`` lists all of them at once."""

    def __init__(self, faults: Sequence[str]):
        self.faults = tuple(faults)
        head = "the schema has a fault: " if len(self.faults) == 1 else f"the schema has {len(self.faults)} faults: "
        super().__init__(head + "; ".join(self.faults))


SHOWN_FAULTS = 8
"""Faults that a message tells; the error carries all of them."""


class UnconfirmedFactError(SchemaError):
    """The schema holds facts taken from the rows that nobody confirmed or paid for; ``faults`` lists them."""

    def __init__(self, faults: Sequence[str]):
        super().__init__(faults)
        shown = "; ".join(self.faults[:SHOWN_FAULTS])
        more = len(self.faults) - SHOWN_FAULTS
        self.args = (
            f"nobody has confirmed these facts, marked from-rows: {shown}{f'; and {more} more' if more > 0 else ''}. "
            "`sklar schema confirm FILE`, or schema.questions() and schema.confirm(...), asks column by column; bounds "
            'and values can be paid for instead (source = "pay")',
        )


class SourceError(SklarError):
    """The data cannot be read as a table: a structural fault of the file or frame, never of a value."""


class TableTooLargeError(SklarError):
    """A table of counts would not fit into memory; raised before any row is read."""


class BudgetError(SklarError, ValueError):
    """Epsilon, delta, rho or a noise scale is not usable."""


class OverspendError(BudgetError):
    """A charge would exceed what the fit reserved or what the ledger allows; nothing was read."""


class LedgerError(SklarError):
    """The ledger file is damaged, belongs to other settings, or cannot be written."""


class DoorError(SklarError):
    """A request at the Door is not frozen data of the listed kinds, or does not fit the schema."""


class ModelFileError(SklarError):
    """The model file is corrupted, edited, of an unknown version, or not a model file."""


class UnsupportedConditionError(SklarError):
    """A conditional sample asks for values that have no, or too little, support under the model."""


class OutputError(SklarError):
    """An output cannot be written where it was asked for; nothing half-written is left behind."""


class MissingExtraError(SklarError):
    """An optional library is needed for this; the message names the extra to install."""


class NotAcceptedError(SklarError):
    """A model was fitted, and does not meet the criteria of its release; its budget is spent.

    Attributes:
        reasons: What could not be shown.
    """

    def __init__(self, message: str, *, reasons: tuple[str, ...] = ()):
        super().__init__(message)
        self.reasons = reasons


class PeerError(SklarError):
    """A peer of a comparison came to no usable table; ``stopped`` names the limit it met, if any."""

    def __init__(self, reason: str, stopped: str | None = None):
        super().__init__(reason)
        self.stopped = stopped


class SklarWarning(UserWarning):
    """Base of all deliberate warnings; the command line prints them in plain words on standard error."""


class NoSignalWarning(SklarWarning):
    """The noise is so large that the released margins say next to nothing about the rows."""


class FlatColumnWarning(NoSignalWarning):
    """A column came out nearly all missing, unlisted or one number, as one does that is not read as it is written."""


class NewLedgerWarning(SklarWarning):
    """A ledger without a cap was made; what was spent on the same rows elsewhere is not in it."""


class OtherLedgerWarning(SklarWarning):
    """Budget for the same rows seems to be kept in a further ledger, so no single total covers them."""


class StreamedWarning(SklarWarning):
    """Counts inside a database were asked for, and something of them cannot be done there: rows are streamed."""


class NewMomentWarning(SklarWarning):
    """A fit was taken up again on a database: what is measured from now on is measured on the table as it is now."""


class WeakPromiseWarning(SklarWarning):
    """Epsilon or delta is so large that the promise protects a person but little."""


class PaidRangesWarning(SklarWarning):
    """Ranges that metadata state are measured again, and paid for: nobody has said that they are public."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the call by which a user entered the package, however deep inside it the reason was found."""
    import inspect  # slow to load, and rarely needed

    frame = inspect.currentframe()
    level = found = 0
    while frame is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == "sklar":
            found = level + 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=found)
