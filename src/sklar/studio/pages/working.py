"""The job that runs: how far it is, and how it is stopped or taken up again."""

from __future__ import annotations

from starlette.responses import Response

from sklar.errors import UsageError
from sklar.studio.visit import STEPS, Visit, go_to


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
