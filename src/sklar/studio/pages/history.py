"""Last step: all that was spent and done, by the ledger and by the jobs; and the job that runs, stopped or taken up."""

from __future__ import annotations

from starlette.responses import Response

from sklar.errors import UsageError
from sklar.studio import commands
from sklar.studio.pages.budget import fits_of, ledger_of, left_of
from sklar.studio.visit import STEPS, Visit, go_to


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


def box(visit: Visit) -> Response:
    """The box that a page replaces once a second; when the job has ended, the page is shown anew."""
    shown = visit.show("working.html", step=_step(visit))
    if visit.jobs.running(visit.table.name) is None:
        shown.headers["HX-Refresh"] = "true"
    return shown


def cancel(visit: Visit) -> Response:
    """End the job that runs. What it was charged stays charged."""
    job = visit.jobs.running(visit.table.name)
    if job is not None:
        visit.jobs.cancel(job)
    return _back(visit)


def resume(visit: Visit) -> Response:
    """Go on with the latest job."""
    job = visit.jobs.latest(visit.table.name)
    if job is None or not job.resumable:
        raise UsageError("there is nothing to go on with: the latest job ended well, or is still running")
    visit.jobs.again(job)
    return _back(visit)


def _back(visit: Visit) -> Response:
    return go_to("t", visit.table.name, _step(visit))


def _step(visit: Visit) -> str:
    """The page that the box stands on."""
    return visit.text("step") if visit.text("step") in STEPS else "history"
