"""Extract from a ledger what a release shows of it: the lines up to the end of the fit that made its model."""

from __future__ import annotations

from os import PathLike

from sklar.accounting.ledger import read_ledger
from sklar.accounting.ledger.records import GENESIS, seal_entry
from sklar.errors import LedgerError
from sklar.pipeline.model_file import Stored
from sklar.release.measurements import encode_step, hash_line


def extract_ledger(ledger: str | PathLike[str], stored: Stored) -> bytes:
    """Return the lines of a ledger up to the end of the fit that made this model, sealed as a chain of their own."""
    view = read_ledger(ledger)
    digests = {step.step: hash_line(encode_step(step)) for step in stored.recorded}
    fit = next((fit.id for fit in view.fits if digests and fit.digests == digests), None)
    if fit is None:
        raise LedgerError(f"no fit in the ledger {view.path} recorded the releases of this model: it is another ledger")
    last = max(place for place, entry in enumerate(view.entries) if entry.get("fit") == fit)
    lines, previous = [], GENESIS
    for entry in view.entries[: last + 1]:
        line, previous = seal_entry(entry, previous)
        lines.append(line)
    return b"".join(lines)
