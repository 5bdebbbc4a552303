"""Last step: all that was spent and done, by the ledger and by the jobs."""

from __future__ import annotations

from starlette.responses import Response

from sklar.studio import commands
from sklar.studio.pages.budget import fits_of, ledger_of, left_of
from sklar.studio.visit import Visit


def page(visit: Visit) -> Response:
    """The ledger with its chain, and every job with its commands."""
    entry = visit.table
    view, broken = ledger_of(visit)
    lines = commands.Lines(
        commands=(commands.typed(["ledger", "show", entry.ledger]), commands.typed(["ledger", "verify", entry.ledger])),
        python=("import sklar", f"sklar.verify_ledger({entry.ledger!r}).head"),
    )
    total = None if view is None else view.totals()
    return visit.show(
        "history.html", step="history", view=view, broken=broken, fits=fits_of(view), left=left_of(view), total=total,
        done=visit.jobs.of(entry.name), lines=lines,
    )  # fmt: skip
