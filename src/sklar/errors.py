"""All deliberate exceptions and warnings of Sklar. Messages state what is wrong, what was given and what to do.

Messages from ``rows`` and ``private`` contain column names and row-independent facts only, never a cell or an exact
count. Errors about arguments are ValueErrors, too, so that general code can catch them.
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


MAX_SHOWN_FAULTS = 8
"""Maximum number of faults in a message; the error has all of them."""


class UnconfirmedFactError(SchemaError):
    """The schema contains facts from the rows that were neither confirmed nor paid for; ``faults`` lists them."""

    def __init__(self, faults: Sequence[str]):
        super().__init__(faults)
        shown = "; ".join(self.faults[:MAX_SHOWN_FAULTS])
        more = len(self.faults) - MAX_SHOWN_FAULTS
        self.args = (
            f"these facts, marked from-rows, are not confirmed: {shown}{f'; and {more} more' if more > 0 else ''}. "
            "Confirm them with `sklar schema confirm FILE`, or schema.questions() and schema.confirm(...); bounds and "
            'values can be measured and paid for instead (source = "pay")',
        )


class SourceError(SklarError):
    """The data cannot be read as a table because of a structural fault of the file or frame, never of a value."""


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
    """A conditional sample has conditions with no, or too little, support under the model."""


class OutputError(SklarError):
    """An output cannot be written; no incomplete file is left."""


class MissingExtraError(SklarError):
    """An optional library is missing; the message names the extra to install."""


class NotAcceptedError(SklarError):
    """A fitted model does not meet the criteria of its release; its budget is spent.

    Attributes:
        reasons: The criteria that could not be shown to hold.
    """

    def __init__(self, message: str, *, reasons: tuple[str, ...] = ()):
        super().__init__(message)
        self.reasons = reasons


class PeerError(SklarError):
    """A peer of a comparison produced no usable table; ``stopped`` names the limit that it exceeded, if any."""

    def __init__(self, reason: str, stopped: str | None = None):
        super().__init__(reason)
        self.stopped = stopped


class SklarWarning(UserWarning):
    """Base of all deliberate warnings; the command line prints them on standard error."""


class NoSignalWarning(SklarWarning):
    """The released margins are below the noise level."""


class FlatColumnWarning(NoSignalWarning):
    """A column came out nearly all missing, unlisted or one number, probably because it was not parsed correctly."""


class NewLedgerWarning(SklarWarning):
    """A ledger without a cap was created; it does not contain what was spent on the same rows elsewhere."""


class OtherLedgerWarning(SklarWarning):
    """A second ledger seems to be about the same rows, so no single total covers them."""


class StreamedWarning(SklarWarning):
    """Counting inside a database was requested but is not possible in part: rows are streamed."""


class NewMomentWarning(SklarWarning):
    """A fit on a database was resumed: the remaining measurements use the table as it is now."""


class WeakPromiseWarning(SklarWarning):
    """Epsilon or delta is so large that the guarantee is weak."""


class PaidRangesWarning(SklarWarning):
    """Ranges in metadata are measured again and paid for, since they were not declared public."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called the package."""
    import inspect  # slow to import, and rarely needed

    frame = inspect.currentframe()
    level = found = 0
    while frame is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == "sklar":
            found = level + 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=found)
