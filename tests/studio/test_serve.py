"""A studio as a process: its address, one a folder, a port that is taken, a library that is missing, an orderly end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

STUDIO = [sys.executable, "-m", "sklar", "studio"]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*STUDIO, *words, "--no-browser"], capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.slow
def test_it_opens_once_serves_and_ends(tmp_path: Path) -> None:
    words = [*STUDIO, str(tmp_path), "--port", "0", "--no-browser", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = json.loads("".join(process.stdout.readline() for _ in range(3)))["address"]
        found = urlsplit(address)
        connection = http.client.HTTPConnection(found.hostname or "", found.port or 0, timeout=300)
        connection.request("GET", f"/?{found.query}")
        entered = connection.getresponse()
        assert entered.status == 303 and found.hostname == "127.0.0.1"
        cookie = (entered.getheader("set-cookie") or "").split(";")[0]
        connection.close()
        connection.request("GET", "/", headers={"cookie": cookie})
        home = connection.getresponse().read()
        connection.close()
        note = tmp_path / ".sklar-studio" / "studio.json"
        assert note.stat().st_mode & 0o777 == 0o600 and json.loads(note.read_text())["pid"] == process.pid
        second = run(str(tmp_path), "--json")
        assert second.returncode == 0 and json.loads(second.stdout)["address"] == address
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0 and note.read_text() == ""
    assert b"Make a table of people safe to share" in home


def test_the_token_is_in_no_command_line_and_nothing_unexpected_at_the_terminal(tmp_path: Path) -> None:
    """A browser that notes what it was started with, and a page that fails."""
    browser, noted = tmp_path / "browser", tmp_path / "noted"
    browser.write_text(f'#!/bin/sh\necho "$@" > {noted}.new; mv {noted}.new {noted}\n')
    browser.chmod(0o700)
    code = (
        "import sys; from sklar.studio.folder import StudioFolder; from sklar import open_studio\n"
        "def fails(self): raise RuntimeError('CANARY')\n"
        "StudioFolder.candidates = fails\n"
        "open_studio(sys.argv[1], port=0, tell=lambda told, address: print(address, flush=True))\n"
    )
    words, told = [sys.executable, "-c", code, str(tmp_path)], {**os.environ, "BROWSER": str(browser)}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=told) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            address = process.stdout.readline().strip()
            deadline = time.monotonic() + 60
            while not noted.exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            opened = noted.read_text().strip()
            way_in = Path(urlsplit(opened).path)
            assert opened.startswith("file://") and "token=" not in opened and address in way_in.read_text()
            assert way_in.stat().st_mode & 0o777 == 0o600
            cookie = urllib.request.Request(address, headers={"sec-fetch-site": "cross-site"})
            with urllib.request.urlopen(cookie, timeout=300) as entered:
                held = entered.headers["set-cookie"].split(";")[0]
            root = urllib.request.Request(address.partition("?")[0], headers={"cookie": held})
            with pytest.raises(urllib.error.HTTPError, match="500"):
                urllib.request.urlopen(root, timeout=300)
            process.send_signal(signal.SIGINT)
            assert process.wait(300) == 0 and not way_in.exists() and process.stderr.read() == ""
        finally:
            process.kill()


@pytest.mark.slow
def test_a_port_that_is_taken_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        refused = run(str(tmp_path), "--port", str(other.getsockname()[1]))
    assert refused.returncode == 1 and "is not available" in refused.stderr and "Traceback" not in refused.stderr
    refused = run(str(tmp_path / "none"))
    assert refused.returncode == 1 and "does not exist" in refused.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklar.errors import MissingExtraError
    from sklar.studio.serve import open_studio

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"'\.\[studio\]'"):
        open_studio(tmp_path, browser=False)
