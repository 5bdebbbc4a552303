"""Open a studio: one for a folder, at an address of this computer that only who reads the terminal knows."""

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
WAY_IN = "open.html"
"""The file that a browser is opened with; it leads on to the address."""
Tell = Callable[[str, str], None]
PORT = 8765
"""Where a studio is looked for; another free one if it is taken."""


def open_studio(
    folder: str | PathLike[str] = ".",
    port: int | None = None,
    browser: bool = True,
    tell: Tell = lambda told, address: print(told, flush=True),
) -> None:
    """Open the local page for a folder, and stay until interrupted. Work that runs then goes on.

    Args:
        folder: Where the tables are, and what is made of them goes.
        port: Of the address 127.0.0.1; by default 8765, or any that is free.
        browser: Whether to open a browser there.
        tell: Told what to say at the terminal, and the address, which lets in whoever opens it.
    """
    place = StudioFolder(folder)
    with (place.state / "studio.json").open("a+b") as lock:
        os.chmod(place.state / "studio.json", 0o600)
        if not try_lock(lock.fileno()):
            address = _running(place.state / "studio.json")
            tell(f"A studio of this folder is open already: {address}", address)
            _open(place, address, browser)
            return
        _serve(place, lock, port, browser, tell)


def _serve(place: StudioFolder, lock: object, port: int | None, browser: bool, tell: Tell) -> None:
    try:
        import uvicorn

        from sklar.studio.app import make_app
    except ImportError:
        raise MissingExtraError(
            "the studio needs the extra 'studio': pip install '.[studio]' in the folder of Sklar"
        ) from None
    from sklar.studio.safety import Secrets

    known, listening = Secrets(), _listen(port)
    found = listening.getsockname()[1]
    address = f"http://{ADDRESS}:{found}/?token={known.token}"
    note = place.state / "studio.json"
    note.write_text(json.dumps({"pid": os.getpid(), "address": address}))
    config = uvicorn.Config(
        make_app(place, known, found), log_level="critical", access_log=False, server_header=False, ws="none",
        lifespan="off", timeout_graceful_shutdown=1, h11_max_incomplete_event_size=64 << 10,
    )  # fmt: skip  # what went wrong unexpectedly could quote a cell: it is for the page, by its type
    told = f"The studio of {place.root} is at {address}\nKeep this address to yourself; Ctrl-C closes the studio."
    tell(told, address)
    _open(place, address, browser)
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        note.write_text("")
        (place.state / WAY_IN).unlink(missing_ok=True)


def _listen(port: int | None) -> socket.socket:
    for wanted in (PORT, 0) if port is None else (port,):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, wanted))
            listening.listen(BACKLOG)  # who comes before the page is ready waits
        except (OSError, OverflowError):
            listening.close()
            continue
        listening.set_inheritable(False)
        return listening
    raise UsageError(f"port {port} is taken, or not to be had: name another one, or none")


def _running(note: Path) -> str:
    try:
        return json.loads(note.read_text())["address"]
    except (OSError, ValueError, KeyError):
        raise UsageError("another studio is just opening or closing this folder: try again") from None


def _open(place: StudioFolder, address: str, browser: bool) -> None:
    """By way of a file: all users of a computer can read what its programs were started with."""
    if browser:
        page = f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">'
        write_bytes(place.state / WAY_IN, page.encode(), mode=0o600)
        with suppress(webbrowser.Error):
            webbrowser.open((place.state / WAY_IN).as_uri())
