"""Last step: what was spent and done, from the ledger and the jobs; and cancelling or resuming the current job."""

from __future__ import annotations

from starlette.responses import Response

from sklar.errors import UsageError
from sklar.studio import commands
from sklar.studio.pages.budget import fits_of, ledger_of, left_of
from sklar.studio.visit import STEPS, Visit, go_to


def page(visit: Visit) -> Response:
    """Show the ledger with its chain, and every job with its commands."""
    entry = visit.table
    view, broken = ledger_of(visit)
    lines = commands.Lines(
        commands=(
            commands.quote_typed(["ledger", "show", entry.ledger]),
            commands.quote_typed(["ledger", "verify", entry.ledger]),
        ),
        python=("import sklar", f"sklar.verify_ledger({entry.ledger!r}).head"),
    )
    total = None if view is None else view.totals()
    return visit.show(
        "history.html", step="history", view=view, broken=broken, fits=fits_of(view), left=left_of(view), total=total,
        done=visit.jobs.of(entry.name), lines=lines,
    )  # fmt: skip


def box(visit: Visit) -> Response:
    """Return the job's box, which a page reloads once a second; when the job has ended, the page is reloaded."""
    shown = visit.show("working.html", step=_step(visit))
    if visit.jobs.running(visit.table.name) is None:
        shown.headers["HX-Refresh"] = "true"
    return shown


def cancel(visit: Visit) -> Response:
    """Cancel the running job. What it was charged stays charged."""
    job = visit.jobs.running(visit.table.name)
    if job is not None:
        visit.jobs.cancel(job)
    return _back(visit)


def resume(visit: Visit) -> Response:
    """Resume the latest job."""
    job = visit.jobs.latest(visit.table.name)
    if job is None or not job.resumable:
        raise UsageError("there is nothing to resume: the latest job succeeded, or is still running")
    visit.jobs.again(job)
    return _back(visit)


def _back(visit: Visit) -> Response:
    return go_to("t", visit.table.name, _step(visit))


def _step(visit: Visit) -> str:
    """Return the page that contains the box."""
    return visit.text("step") if visit.text("step") in STEPS else "history"
