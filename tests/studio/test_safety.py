"""Hostile requests: other names, no cookie, forged forms, ways out of the folder, bodies without end, a thousand."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sklar.studio import safety
from sklar.studio.app import GETS, POSTS, make_app
from sklar.studio.folder import StudioFolder
from sklar.studio.pages import tables
from sklar.studio.safety import PAGE_POLICY, Secrets

PORT = 8123
ROOT = f"http://127.0.0.1:{PORT}"
KNOWN = Secrets()
ORIGIN = {"origin": ROOT}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "people.csv").write_text("age,sex\n" + "30,F\n40,M\n" * 50)
    (tmp_path / "outside.csv").write_text("secret\n1\n")
    return inside


@pytest.fixture
def stranger(folder: Path) -> Iterator[TestClient]:
    with TestClient(make_app(StudioFolder(folder), KNOWN, PORT), base_url=ROOT, follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    assert stranger.get(f"/?token={KNOWN.token}").status_code == 303
    return stranger


def form(**values: str) -> dict[str, str]:
    return {"secret": KNOWN.form, **values}


def test_the_token_lets_a_browser_in_once_and_for_all(stranger: TestClient) -> None:
    assert stranger.get("/").status_code == 403
    assert stranger.get("/?token=guess").status_code == 403
    entered = stranger.get(f"/?token={KNOWN.token}")
    assert entered.status_code == 303 and entered.headers["location"] == "/"
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and KNOWN.token not in cookie
    shown = stranger.get("/")
    assert shown.status_code == 200 and KNOWN.token not in shown.text


@pytest.mark.parametrize("foreign", ['a="x', "a b=1", "{json}", "=", "ä=1", "_xsrf=2|x|y; [a]=(b)", ""])
def test_odd_cookies_of_others_lock_nobody_out(stranger: TestClient, foreign: str) -> None:
    own = f"sklar-studio-{PORT}={KNOWN.session}"
    for said in (f"{foreign}; {own}", f"{own}; {foreign}", f"{own};{foreign}"):
        assert stranger.get("/", headers={"cookie": said.encode("latin-1")}).status_code == 200, said


@pytest.mark.parametrize("path", [*GETS, "/htmx.js", "/studio.js", "/nothing"])
def test_nothing_is_shown_without_the_cookie(stranger: TestClient, path: str) -> None:
    place = path.replace("{table}", "people").replace("{model}", "1").replace("{name}", "people.csv")
    assert stranger.get(place).status_code == 403
    assert stranger.get(place, headers={"cookie": f"sklar-studio-{PORT}=guess"}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"0.0.0.0:{PORT}", ""])
def test_another_name_is_refused_also_with_the_cookie(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 421
    assert client.get(f"/?token={KNOWN.token}", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("path", POSTS)
def test_whatever_changes_something_needs_origin_and_secret(client: TestClient, path: str) -> None:
    place = path.replace("{table}", "people").replace("{model}", "1")
    for headers in ({}, {"origin": "null"}, {"origin": "http://evil.example"}, {"origin": "http://127.0.0.1:9999"}):
        assert client.post(place, data=form(), headers=headers).status_code == 403
    for data in ({}, {"secret": "guess"}):
        assert client.post(place, data=data, headers=ORIGIN).status_code == 403
    assert client.get(f"{place}/", headers=ORIGIN).status_code != 500


def test_pages_of_other_sites_get_nothing(client: TestClient) -> None:
    for site in ("cross-site", "same-site"):
        assert client.get("/", headers={"sec-fetch-site": site}).status_code == 403
    assert client.request("PUT", "/").status_code == 405
    assert client.request("OPTIONS", "/").status_code == 405


def test_every_answer_carries_its_policy(client: TestClient) -> None:
    for path in ("/", "/studio.css", "/htmx.js", "/studio.js", "/nothing", "/t/none/fit"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == PAGE_POLICY and headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in PAGE_POLICY and "script-src 'self'" in PAGE_POLICY


@pytest.mark.parametrize(
    "source",
    [
        "../outside.csv",
        "/etc/passwd",
        "..",
        ".",
        "people.csv/../../outside.csv",
        ".sklar-studio",
        "a\0b",
        "-x",
        "link.csv",
    ],
)
def test_a_table_lies_in_the_folder(client: TestClient, folder: Path, source: str) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "outside.csv")
    told = client.post("/tables", data=form(source=source, name="t"), headers=ORIGIN)
    assert told.status_code == 400 and "must be directly in the folder" in told.text
    assert StudioFolder(folder).tables() == {}


@pytest.mark.parametrize(
    "name",
    ["people.csv", "..%2Foutside.csv", "%2e%2e%2foutside.csv", "people.toml", ".sklar-studio%2Fstudio.json", "x.zip"],
)
def test_files_that_no_job_has_made_are_not_handed_out(client: TestClient, name: str) -> None:
    assert client.get(f"/file/{name}").status_code == 404
    assert client.get(f"/file/../{name}").status_code == 404


def test_passwords_are_not_taken(client: TestClient, folder: Path) -> None:
    for address in ("postgresql://ada:secret@host/db?table=t", "postgresql://host/db?table=t&password=secret"):
        told = client.post("/tables", data=form(address=address, name="t"), headers=ORIGIN)
        assert told.status_code == 400 and "omit the password" in told.text
        assert "ada" not in told.text and "=secret" not in told.text
    assert "secret" not in "".join(p.read_text() for p in folder.rglob("*.json"))


def test_uploads_are_bounded_private_and_never_overwrite(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = client.post("/upload", data=form(), files={"file": ("more.csv", b"x\n1\n")}, headers=ORIGIN)
    assert done.status_code == 303 and (folder / "more.csv").stat().st_mode & 0o777 == 0o600
    again = client.post("/upload", data=form(), files={"file": ("more.csv", b"x\n2\n")}, headers=ORIGIN)
    assert again.status_code == 400 and (folder / "more.csv").read_text() == "x\n1\n"
    for name in ("t.toml", "custodian.key", "t-1.sklar", "page.html"):
        told = client.post("/upload", data=form(), files={"file": (name, b"x")}, headers=ORIGIN)
        assert told.status_code == 400 and "must end in one of" in told.text
    for name in ("../out.csv", "..\\out.csv", ".hidden", "", "-x.csv"):
        client.post("/upload", data=form(), files={"file": (name, b"x\n1\n")}, headers=ORIGIN)
    kept = {p.name for p in folder.iterdir() if p.is_file()}
    assert kept <= {"people.csv", "more.csv", "out.csv"} and {p.name for p in folder.parent.iterdir()} == {
        "inside", "outside.csv"
    }  # fmt: skip
    monkeypatch.setattr(safety, "UPLOAD_BYTES", 1000)
    big = client.post("/upload", data=form(), files={"file": ("big.csv", b"x" * 2000)}, headers=ORIGIN)
    assert big.status_code == 413 and not (folder / "big.csv").exists()

    def pieces() -> Iterator[bytes]:  # no length is told
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\n'
        for _ in range(50):
            yield b"x" * 100

    said = {**ORIGIN, "content-type": "multipart/form-data; boundary=b"}
    assert client.post("/upload", content=pieces(), headers=said).status_code == 413
    assert not (folder / "big.csv").exists() and [p.name for p in (folder / ".sklar-studio").iterdir()] == ["jobs"]


def test_forms_are_bounded(client: TestClient) -> None:
    assert client.post("/tables", data=form(name="x" * (2 << 20)), headers=ORIGIN).status_code == 413
    said = {**ORIGIN, "content-length": "1073741824"}
    assert client.post("/upload", content=b"", headers=said).status_code == 413


@pytest.mark.slow
def test_a_thousand_requests(client: TestClient) -> None:
    found: list[int] = []

    def ask() -> None:
        for _ in range(125):
            found.append(client.get("/").status_code)

    askers = [threading.Thread(target=ask) for _ in range(8)]
    for one in askers:
        one.start()
    for one in askers:
        one.join()
    assert found == [200] * 1000


def test_it_listens_on_this_computer_only() -> None:
    from sklar.studio.serve import _listen

    listening = _listen(None)
    assert listening.getsockname()[0] == "127.0.0.1"
    with socket.socket() as other, pytest.raises(OSError):
        other.bind(("127.0.0.1", listening.getsockname()[1]))
        other.listen()
    listening.close()


def test_only_the_type_of_a_strange_error_is_told(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object) -> None:
        raise RuntimeError("CANARY")

    monkeypatch.setattr(StudioFolder, "candidates", fails)
    with TestClient(client.app, base_url=ROOT, raise_server_exceptions=False, cookies=client.cookies) as quiet:
        told = quiet.get("/")
    assert told.status_code == 500 and "RuntimeError" in told.text and "CANARY" not in told.text


def test_a_full_disk_is_told(client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/secret/place")

    monkeypatch.setattr(tables.shutil, "copyfileobj", full)
    told = client.post("/upload", data=form(), files={"file": ("more.csv", b"x\n")}, headers=ORIGIN)
    assert told.status_code == 500 and "no space left" in told.text and "/secret" not in told.text
    assert not (folder / "more.csv").exists()


def test_from_a_file_a_page_of_ours_leads_on(stranger: TestClient) -> None:
    entered = stranger.get(f"/?token={KNOWN.token}", headers={"sec-fetch-site": "cross-site"})
    assert entered.status_code == 200 and entered.headers["refresh"] == "0; url=/"
    assert stranger.get("/", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_its_own_folder_is_private(folder: Path) -> None:
    os.umask(0o022)
    assert StudioFolder(folder).state.stat().st_mode & 0o777 == 0o700
