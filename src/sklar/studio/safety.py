"""Access control of a studio: requests must come from the custodian's browser and the studio's own pages.

Another page may make a browser send requests here, under another name (DNS rebinding) or from another port of this
computer, which browsers treat as the same site. So the host and the origin of a request are checked, a secret cookie is
required, and requests that change something carry a second secret that only the studio's pages contain.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

UPLOAD = "/upload"
FORM_BYTES = 1 << 20
"""Maximum size of a form: a schema edited as text is the longest, and wide ones have some 100 KB."""
UPLOAD_BYTES = 512 << 20
"""Maximum size of an upload. Larger tables are copied into the folder without the browser."""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""Policy for reports, which have styles of their own and no scripts."""
HEADERS = {
    "x-content-type-options": "nosniff", "referrer-policy": "same-origin", "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Secrets that only the custodian's browser has.

    Attributes:
        token: Part of the address that is printed at the terminal.
        session: Value of the cookie.
        form: Field of every form, against forged requests.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    form: str = field(default_factory=lambda: secrets.token_urlsafe(32))


class Guard:
    """Passes on requests from the custodian's browser and pages, and refuses others."""

    def __init__(self, app: App, *, known: Secrets, port: int):
        self._app, self._known = app, known
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"sklar-studio-{port}"  # cookies are shared between ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        if (refused := self._refusal(scope, headers)) is not None:
            await _answer(send, *refused)
            return
        limit = UPLOAD_BYTES if scope["path"] == UPLOAD else FORM_BYTES
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > limit:
            await _answer(send, 413, too_large(limit))
            return
        await self._app(scope, _bounded(receive, limit), _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """Return status, text and headers of a refusal; None if the request is passed on."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return 421, "This is a studio of Sklar, but not under this host name.", {}
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "Method not allowed.", {"allow": "GET, HEAD, POST"}
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and token:
            return self._let_in(token, headers.get("sec-fetch-site", "none"))
        # Cookies of other ports of this computer are sent, too; a strict parser would fail on malformed ones.
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        cookie = next((value for name, _, value in pairs if name == self._cookie), "")
        if not secrets.compare_digest(cookie.encode(), self._known.session.encode()):
            return 403, "Open the address that `sklar studio` printed, to give this browser access.", {}
        if scope["method"] == "POST" and headers.get("origin") != f"http://{host}":
            return 403, "This request does not come from a page of the studio.", {}
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "This request does not come from a page of the studio.", {}
        return None

    def _let_in(self, token: str, site: str) -> tuple[int, str, dict[str, str]]:
        if not secrets.compare_digest(token.encode(), self._known.token.encode()):
            return 403, "This is not the address that `sklar studio` printed last.", {}
        cookie = f"{self._cookie}={self._known.session}; HttpOnly; SameSite=Strict; Path=/"
        if site != "cross-site":
            return 303, "", {"location": "/", "set-cookie": cookie}
        # Coming from a file, which is another site, a browser would follow a redirect without the cookie.
        return 200, "", {"refresh": "0; url=/", "set-cookie": cookie}


class TooLargeError(Exception):
    """A request body exceeds its maximum size."""


def too_large(limit: int) -> str:
    """Return the message about a body that is too large."""
    return f"This is more than {limit >> 20} MB. Copy the file into the folder of the studio instead."


def _bounded(receive: Receive, limit: int) -> Receive:
    """Limit the size of a body by counting, since its stated length may be missing or wrong."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLargeError
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {key.lower() for key, _ in message["headers"]}
            more = {**HEADERS, "content-security-policy": PAGE_POLICY}
            added = [(k.encode(), v.encode()) for k, v in more.items() if k.encode() not in own]
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return sent


async def _answer(send: Send, status: int, words: str, headers: dict[str, str] | None = None) -> None:
    body = words.encode()
    own = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), "connection": "close"}
    every = {**HEADERS, "content-security-policy": PAGE_POLICY, **own, **(headers or {})}
    listed = [(key.encode(), value.encode()) for key, value in every.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
