"""What jobs have made, for the browser: reports to look at, synthetic rows, releases and public keys to keep."""

from __future__ import annotations

from starlette.responses import FileResponse, Response

from sklar.errors import UsageError
from sklar.report import colours
from sklar.studio.safety import REPORT_POLICY
from sklar.studio.visit import ENVIRONMENT, Visit

LOOKED_AT = {".html": "text/html; charset=utf-8", ".svg": "image/svg+xml"}
KEPT = {
    ".csv": "text/csv; charset=utf-8", ".parquet": "application/octet-stream", ".zip": "application/zip",
    ".pub": "application/x-pem-file",
}  # fmt: skip
"""Kinds of files by their endings; no others are handed out, and of these only what a job has made."""


def file(visit: Visit) -> Response:
    """One file of the folder."""
    name = visit.path["name"]
    ending = name[name.rfind(".") :]
    if ending not in LOOKED_AT | KEPT or not visit.jobs.has_made(name):
        raise UsageError("there is no such file to be had here")
    place = visit.folder.place(name)
    if ending in LOOKED_AT:
        headers = {"content-security-policy": REPORT_POLICY}
        return FileResponse(place, media_type=LOOKED_AT[ending], headers=headers)
    return FileResponse(place, media_type=KEPT[ending], filename=name)


def icon(visit: Visit) -> Response:
    """Browsers ask for one; there is none."""
    return Response(status_code=204)


def style(visit: Visit) -> Response:
    """The stylesheet, in the colours of all pages of the house."""
    sheet = ENVIRONMENT.get_template("studio.css").render(theme=colours.THEME)
    return Response(sheet, media_type="text/css", headers={"cache-control": "private, max-age=3600"})
