"""A studio as a process: its address, one a folder, a port that is taken, a library that is missing, an orderly end."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

STUDIO = [sys.executable, "-m", "sklar", "studio"]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*STUDIO, *words, "--no-browser"], capture_output=True, text=True, check=False, timeout=60)


def test_it_opens_once_serves_and_ends(tmp_path: Path) -> None:
    words = [*STUDIO, str(tmp_path), "--port", "0", "--no-browser", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = json.loads("".join(process.stdout.readline() for _ in range(3)))["address"]
        found = urlsplit(address)
        connection = http.client.HTTPConnection(found.hostname or "", found.port or 0, timeout=30)
        connection.request("GET", f"/?{found.query}")
        entered = connection.getresponse()
        assert entered.status == 303 and found.hostname == "127.0.0.1"
        cookie = (entered.getheader("set-cookie") or "").split(";")[0]
        connection.close()
        connection.request("GET", "/", headers={"cookie": cookie})
        assert b"Tables of this folder" in connection.getresponse().read()
        connection.close()
        note = tmp_path / ".sklar-studio" / "studio.json"
        assert note.stat().st_mode & 0o777 == 0o600 and json.loads(note.read_text())["pid"] == process.pid
        second = run(str(tmp_path), "--json")
        assert second.returncode == 0 and json.loads(second.stdout)["address"] == address
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0 and note.read_text() == ""


def test_a_port_that_is_taken_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        refused = run(str(tmp_path), "--port", str(other.getsockname()[1]))
    assert refused.returncode == 1 and "is taken" in refused.stderr and "Traceback" not in refused.stderr
    refused = run(str(tmp_path / "none"))
    assert refused.returncode == 1 and "no folder" in refused.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklar.errors import MissingExtraError
    from sklar.studio.serve import open_studio

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"sklar\[studio\]"):
        open_studio(tmp_path, browser=False)
