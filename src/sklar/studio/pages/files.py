"""Results of jobs for the browser: reports to view, synthetic rows, releases and public keys to download."""

from __future__ import annotations

from starlette.responses import FileResponse, Response

from sklar.errors import UsageError
from sklar.report import colours
from sklar.studio.safety import REPORT_POLICY
from sklar.studio.visit import ENVIRONMENT, Visit

VIEWED_TYPES = {".html": "text/html; charset=utf-8", ".svg": "image/svg+xml"}
DOWNLOADED_TYPES = {
    ".csv": "text/csv; charset=utf-8", ".parquet": "application/octet-stream", ".zip": "application/zip",
    ".pub": "application/x-pem-file", ".sqlite": "application/octet-stream",
}  # fmt: skip
"""Media types by ending; other files are not served, and of these only results of jobs."""


def file(visit: Visit) -> Response:
    """Serve one file of the folder."""
    name = visit.path["name"]
    ending = name[name.rfind(".") :]
    if ending not in VIEWED_TYPES | DOWNLOADED_TYPES or not visit.jobs.has_made(name):
        raise UsageError("there is no such file")
    place = visit.folder.place(name)
    if ending in VIEWED_TYPES:
        headers = {"content-security-policy": REPORT_POLICY}
        return FileResponse(place, media_type=VIEWED_TYPES[ending], headers=headers)
    return FileResponse(place, media_type=DOWNLOADED_TYPES[ending], filename=name)


def icon(visit: Visit) -> Response:
    """Answer that there is no icon, which browsers request."""
    return Response(status_code=204)


def style(visit: Visit) -> Response:
    """Serve the stylesheet, in the colours of all pages."""
    sheet = ENVIRONMENT.get_template("studio.css").render(theme=colours.THEME)
    return Response(sheet, media_type="text/css", headers={"cache-control": "private, max-age=3600"})
