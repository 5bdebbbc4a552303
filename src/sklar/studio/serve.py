"""Open a studio for a folder, at a local address with a secret that is printed at the terminal."""

from __future__ import annotations

import json
import os
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path

from sklar.errors import MissingExtraError, UsageError
from sklar.export.atomic import write_bytes
from sklar.portable import try_lock
from sklar.studio.folder import StudioFolder

ADDRESS = "127.0.0.1"
BACKLOG = 256
REDIRECT_FILE = "open.html"
"""The file that the browser opens; it redirects to the address."""
Announce = Callable[[str, str], None]
PORT = 8765
"""Default port; another free one is used if it is taken."""


def open_studio(
    folder: str | PathLike[str] = ".",
    port: int | None = None,
    browser: bool = True,
    tell: Announce = lambda text, address: print(text, flush=True),
) -> None:
    """Serve the local page for a folder until interrupted; running jobs continue after that.

    Args:
        folder: The folder of the tables and of all results.
        port: Port of 127.0.0.1; by default 8765, or any free one.
        browser: Whether to open a browser.
        tell: Called with a text for the terminal and the address, which gives access to the studio.
    """
    place = StudioFolder(folder)
    with (place.state / "studio.json").open("a+b") as lock:
        os.chmod(place.state / "studio.json", 0o600)
        if not try_lock(lock.fileno()):
            address = _running(place.state / "studio.json")
            tell(f"A studio of this folder is already open: {address}", address)
            _open(place, address, browser)
            return
        _serve(place, lock, port, browser, tell)


def _serve(place: StudioFolder, lock: object, port: int | None, browser: bool, announce: Announce) -> None:
    try:
        import uvicorn

        from sklar.studio.app import make_app
    except ImportError:
        raise MissingExtraError("the studio needs the extra 'studio': pip install '.[studio]'") from None
    from sklar.studio.safety import Secrets

    known, listening = Secrets(), _listen(port)
    found = listening.getsockname()[1]
    address = f"http://{ADDRESS}:{found}/?token={known.token}"
    note = place.state / "studio.json"
    note.write_text(json.dumps({"pid": os.getpid(), "address": address}))
    config = uvicorn.Config(
        make_app(place, known, found), log_level="critical", access_log=False, server_header=False, ws="none",
        lifespan="off", timeout_graceful_shutdown=1, h11_max_incomplete_event_size=64 << 10,
    )  # fmt: skip  # no logs: an unexpected error could quote a cell; the page shows its type
    text = f"The studio of {place.root} is at {address}\nKeep this address secret; Ctrl-C closes the studio."
    announce(text, address)
    _open(place, address, browser)
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        note.write_text("")
        (place.state / REDIRECT_FILE).unlink(missing_ok=True)


def _listen(port: int | None) -> socket.socket:
    for wanted in (PORT, 0) if port is None else (port,):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, wanted))
            listening.listen(BACKLOG)  # early requests wait until the page is ready
        except (OSError, OverflowError):
            listening.close()
            continue
        listening.set_inheritable(False)
        return listening
    raise UsageError(f"port {port} is not available: use another one, or omit it")


def _running(note: Path) -> str:
    try:
        return json.loads(note.read_text())["address"]
    except (OSError, ValueError, KeyError):
        raise UsageError("another studio is opening or closing this folder: try again") from None


def _open(place: StudioFolder, address: str, browser: bool) -> None:
    """Open the browser with a file that redirects, since other users can read command lines."""
    if browser:
        page = f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">'
        write_bytes(place.state / REDIRECT_FILE, page.encode(), mode=0o600)
        with suppress(webbrowser.Error):
            webbrowser.open((place.state / REDIRECT_FILE).as_uri())
