"""The web application of a studio: its routes and error handlers."""

from __future__ import annotations

import os
import secrets
import tempfile
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from sklar.errors import SklarError, UsageError
from sklar.export.atomic import describe_reason
from sklar.studio.folder import StudioFolder
from sklar.studio.jobs import Jobs
from sklar.studio.pages import budget, columns, files, fitting, history, look, release, tables
from sklar.studio.safety import UPLOAD_BYTES, Guard, Secrets, TooLargeError, too_large
from sklar.studio.visit import Page, Studio, Visit

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]
SCRIPTS = {"/htmx.js": "htmx.min.js", "/studio.js": "studio.js"}
MAX_FIELDS = 20_000
"""Maximum number of fields of a form: some ten for each column of a wide table."""
GETS: dict[str, Page] = {
    "/": tables.page,
    "/studio.css": files.style,
    "/favicon.ico": files.icon,
    "/file/{name}": files.file,
    "/t/{table}/columns": columns.page,
    "/t/{table}/budget": budget.page,
    "/t/{table}/fit": fitting.page,
    "/t/{table}/look": look.page,
    "/t/{table}/look/{model}": look.page,
    "/t/{table}/release": release.page,
    "/t/{table}/release/{model}": release.page,
    "/t/{table}/history": history.page,
    "/t/{table}/job": history.box,
}
"""Routes that show a page, and change nothing."""
POSTS: dict[str, tuple[Page, Page]] = {
    "/tables": (tables.add, tables.page),
    "/upload": (tables.upload, tables.page),
    "/t/{table}/forget": (tables.forget, columns.page),
    "/t/{table}/reading": (columns.reading, columns.page),
    "/t/{table}/draft": (columns.draft, columns.page),
    "/t/{table}/answer": (columns.answer, columns.page),
    "/t/{table}/answers": (columns.answer_all, columns.page),
    "/t/{table}/rule": (columns.rule, columns.page),
    "/t/{table}/person": (columns.person, columns.page),
    "/t/{table}/text": (columns.text, columns.page),
    "/t/{table}/ledger": (budget.make_ledger, budget.page),
    "/t/{table}/plan": (budget.plan, budget.page),
    "/t/{table}/begin": (fitting.fit, budget.page),
    "/t/{table}/fit": (fitting.fit, fitting.page),
    "/t/{table}/look/{model}/sample": (look.sample, look.page),
    "/t/{table}/look/{model}/evaluate": (look.evaluate, look.page),
    "/t/{table}/look/{model}/picture": (look.picture, look.page),
    "/t/{table}/look/{model}/page": (look.interactive_page, look.page),
    "/t/{table}/key": (release.key, release.page),
    "/t/{table}/release/{model}": (release.release, release.page),
    "/t/{table}/cancel": (history.cancel, history.page),
    "/t/{table}/resume": (history.resume, history.page),
}
"""Routes of actions, with the page that shows an error."""


def make_app(folder: StudioFolder, known: Secrets, port: int) -> Any:
    """Return the application behind its guard."""
    tempfile.tempdir = str(folder.state)  # temporary files of uploads stay in the folder
    studio = Studio(folder=folder, jobs=Jobs(folder), known=known)
    routes = [Route(address, _script(name)) for address, name in SCRIPTS.items()]
    routes += [Route(path, _shown(studio, page), methods=["GET"]) for path, page in GETS.items()]
    routes += [Route(path, _done(studio, *pages), methods=["POST"]) for path, pages in POSTS.items()]
    handlers: Any = {404: _not_there, 405: _not_there}
    handlers |= {TooLargeError: _too_large, OSError: _refused, Exception: _unexpected}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), known=known, port=port)


def _script(name: str) -> Endpoint:
    path = os.path.join(os.path.dirname(__file__), "static", name)

    async def endpoint(request: Request) -> Response:
        return FileResponse(path, media_type="text/javascript", headers={"cache-control": "private, max-age=3600"})

    return endpoint


def _shown(studio: Studio, page: Page) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        visit = Visit(studio=studio, path=_path(request), form=dict(request.query_params))
        return await run_in_threadpool(_safely, page, visit)

    return endpoint


def _done(studio: Studio, act: Page, page: Page) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        async with request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=1 << 20) as form:
            texts = {key: value for key, value in form.items() if isinstance(value, str)}
            if not secrets.compare_digest(texts.pop("secret", "").encode(), studio.known.form.encode()):
                raise HTTPException(403, "this form does not come from a page of this studio: reload the page")
            upload = next((value for value in form.values() if isinstance(value, UploadFile)), None)
            file = None if upload is None else (upload.filename or "", upload.file)
            visit = Visit(studio=studio, path=_path(request), form=texts, file=file)
            return await run_in_threadpool(_acted, act, page, visit)

    return endpoint


def _path(request: Request) -> dict[str, str]:
    return {key: str(value) for key, value in request.path_params.items()}


def _acted(act: Page, page: Page, visit: Visit) -> Response:
    try:
        return act(visit)
    except SklarError as error:
        return _safely(page, replace(visit, error=str(error)))


def _safely(page: Page, visit: Visit) -> Response:
    """Return a page, or the first page with the error if its table or address is wrong."""
    try:
        return page(visit)
    except SklarError as error:
        shown = tables.page(replace(visit, path={}, error=f"{visit.error} {error}".strip()))
        shown.status_code = 400 if visit.error or not isinstance(error, UsageError) else 404
        return shown


async def _not_there(request: Request, error: Exception) -> Response:
    return PlainTextResponse("There is no such page in the studio.", status_code=getattr(error, "status_code", 404))


async def _too_large(request: Request, error: Exception) -> Response:
    return PlainTextResponse(too_large(UPLOAD_BYTES), status_code=413, headers={"connection": "close"})


async def _refused(request: Request, error: Exception) -> Response:
    """Report an error of the system, as a full disk or a missing permission, without a path."""
    words = describe_reason(error) if isinstance(error, OSError) else ""
    return PlainTextResponse(f"The system refused: {words}. Nothing was lost: go back.", status_code=500)


async def _unexpected(request: Request, error: Exception) -> Response:
    """Report only the type of an error from elsewhere: its text could quote a cell."""
    if os.environ.get("SKLAR_DEBUG") == "1":
        traceback.print_exception(error)
    words = f"Unexpected error ({type(error).__name__}). Nothing was lost: go back, or restart the studio."
    return PlainTextResponse(words, status_code=500)
