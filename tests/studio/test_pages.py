"""Every page and what it refuses, asked without a browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import sklar
from sklar.studio.app import make_app
from sklar.studio.commands import Work
from sklar.studio.folder import StudioFolder
from sklar.studio.jobs import Jobs
from sklar.studio.safety import Secrets

ROOT = "http://127.0.0.1:8123"
KNOWN = Secrets()
DRAFT = {
    "age": sklar.Integer(20, 60, source="from-rows"),
    "sex": sklar.Category(["F", "M"], source="from-rows"),
    "fee": sklar.Real(0, 9.5, decimals=1, source="from-rows"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("age,sex,fee\n" + "30,F,1.5\n40,M,2.5\n" * 40)
    sklar.Schema(DRAFT).write(tmp_path / "t.toml")
    StudioFolder(tmp_path).new_table("t.csv", "", {})
    return tmp_path


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = make_app(StudioFolder(folder), KNOWN, 8123)
    with TestClient(app, base_url=ROOT, follow_redirects=False, headers={"origin": ROOT}) as client:
        client.get(f"/?token={KNOWN.token}")
        yield client


def send(client: TestClient, path: str, **values: str) -> tuple[int, str]:
    if path.endswith("/answer"):
        seen = re.findall(r'name="seen" value="(\w+)"', client.get("/t/t/columns").text)
        values = {"seen": seen[0], **values}
    told = client.post(path, data={"secret": KNOWN.form, **values})
    return told.status_code, told.text


def schema(folder: Path) -> sklar.Schema:
    return sklar.Schema.read(folder / "t.toml")


@pytest.mark.parametrize("step", ["columns", "budget", "fit", "look", "release", "history"])
def test_every_step_is_shown_before_anything_was_done(client: TestClient, step: str) -> None:
    shown = client.get(f"/t/t/{step}")
    assert shown.status_code == 200 and f'href="/t/t/{step}" aria-current="step"' in shown.text


def test_addresses_that_lead_nowhere(client: TestClient) -> None:
    for path in ("/t/none/fit", "/t/t/look/7", "/file/t.csv", "/t/t/look/x", f"/t/t/look/{'9' * 5000}", "/nothing"):
        assert client.get(path).status_code == 404, path


def test_answers_confirm_edit_pay_and_leave_out(client: TestClient, folder: Path) -> None:
    asked = client.get("/t/t/columns").text
    assert "taken from real rows" in asked and asked.count('class="card real"') == 3
    code, _ = send(client, "/t/t/answer", column="age", way="edit", lower="0", upper="120", kind="integer", by="Ada")
    assert code == 303 and schema(folder)["age"].upper == 120  # type: ignore[attr-defined]
    assert send(client, "/t/t/answer", column="fee", way="pay")[0] == 303
    assert schema(folder)["fee"].provenance("upper") == "pay"
    assert send(client, "/t/t/answer", column="sex", way="ignore")[0] == 303
    shown = client.get("/t/t/columns").text
    assert schema(folder)["sex"].kind == "ignore" and "Everything is confirmed" in shown
    assert schema(folder).confirmed[0].by == "Ada"
    assert send(client, "/t/t/answer", column="fee", way="edit", more="bins=20", by="Ada")[0] == 303
    assert schema(folder)["fee"].bins == 20  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"column": "age", "way": "edit", "lower": "x"}, "lower is a number"),
        ({"column": "age", "way": "edit", "lower": "99"}, "lower"),
        ({"column": "age", "way": "edit", "more": "bins"}, "write other facts"),
        ({"column": "age", "way": "edit", "kind": "nonsense"}, "kind must be one of"),
        ({"column": "none", "way": "yes"}, "no column"),
        ({"column": "age", "way": "yes", "seen": "of another day"}, "changed since this page"),
        ({"column": "age", "way": "perhaps"}, "an answer is"),
    ],
)
def test_answers_that_cannot_be_taken(client: TestClient, folder: Path, said: dict[str, str], words: str) -> None:
    before = (folder / "t.toml").read_bytes()
    code, text = send(client, "/t/t/answer", **said)
    assert code == 400 and words in text and (folder / "t.toml").read_bytes() == before


def test_rules_are_added_confirmed_and_dropped(client: TestClient, folder: Path) -> None:
    assert send(client, "/t/t/rule", rule="fee <= age")[0] == 303
    assert schema(folder).rules == (sklar.rules.Expression("fee <= age"),)
    for wrong in ("", "fee <=", "nothing > 3"):
        assert send(client, "/t/t/rule", rule=wrong)[0] == 400
    seen = schema(folder).fingerprint
    assert send(client, "/t/t/answer", column="rule 1", way="ignore", seen=seen)[0] == 303
    assert schema(folder).rules == ()


def test_the_person_is_said_and_taken_back(client: TestClient, folder: Path) -> None:
    send(client, "/t/t/answer", column="sex", way="ignore")
    assert send(client, "/t/t/person", key="sex", rows="5", order="age", weights="votes")[0] == 303
    assert schema(folder).person == sklar.Person(key="sex", rows=5, order="age")
    assert send(client, "/t/t/rule", rule="fee <= age")[0] == 303 and schema(folder).person is not None
    for wrong in ({"key": "age", "rows": "5"}, {"key": "sex", "rows": "many"}, {"key": "sex", "rows": ""}):
        assert send(client, "/t/t/person", **wrong)[0] == 400
    assert "at most 5 rows" in client.get("/t/t/columns").text
    assert send(client, "/t/t/person", key="", rows="")[0] == 303 and schema(folder).person is None


def test_the_whole_schema_as_text_unless_it_has_changed_meanwhile(client: TestClient, folder: Path) -> None:
    seen, text = schema(folder).fingerprint, schema(folder).toml().replace("upper = 60", "upper = 61")
    assert send(client, "/t/t/text", seen=seen, toml="nonsense")[0] == 400
    (folder / "t.toml.new").write_text("of somebody else")
    assert send(client, "/t/t/text", seen=seen, toml=text)[0] == 303
    assert schema(folder)["age"].upper == 61  # type: ignore[attr-defined]
    assert (folder / "t.toml.new").read_text() == "of somebody else"
    code, told = send(client, "/t/t/text", seen=seen, toml=text)
    assert code == 400 and "another tab" in told


def test_a_ledger_is_made_once_with_a_cap(client: TestClient, folder: Path) -> None:
    assert send(client, "/t/t/ledger", epsilon="much", delta="1e-8")[0] == 400
    assert send(client, "/t/t/ledger", epsilon="-1", delta="1e-8")[0] == 400
    assert not (folder / "t.csv.ledger").exists()
    assert send(client, "/t/t/ledger", epsilon="3", delta="1e-8")[0] == 303
    assert sklar.read_ledger(folder / "t.csv.ledger").header.cap is not None
    assert send(client, "/t/t/ledger", epsilon="30", delta="1e-8")[0] == 400
    assert "epsilon 3 at delta" in client.get("/t/t/budget").text
    (folder / "t.csv.ledger").write_text("torn")
    for step in ("budget", "history", "fit"):
        assert client.get(f"/t/t/{step}").status_code == 200
    assert "damaged" in client.get("/t/t/budget").text


def test_what_a_fit_and_a_plan_refuse_at_once(client: TestClient, folder: Path) -> None:
    code, told = send(client, "/t/t/fit", epsilon="1")
    assert code == 400 and "confirmed" in told
    for column in DRAFT:
        send(client, "/t/t/answer", column=column, way="yes", by="Ada")
    code, told = send(client, "/t/t/fit", epsilon="1")
    assert code == 400 and "no ledger" in told
    send(client, "/t/t/ledger", epsilon="3", delta="1e-8")
    for said in ({"epsilon": ""}, {"epsilon": "1", "rows_per_person": "x"}, {"epsilon": "1", "delta": "x"}):
        assert send(client, "/t/t/fit", **said)[0] == 400
    for said in ({"rows": "", "epsilons": "1"}, {"rows": "9", "epsilons": "x"}, {"rows": "9", "epsilons": ""}):
        assert send(client, "/t/t/plan", **said)[0] == 400
    assert Jobs(StudioFolder(folder)).latest("t") is None


def test_a_refused_fit_says_why_and_charges_nothing(client: TestClient, folder: Path) -> None:
    for column in DRAFT:
        send(client, "/t/t/answer", column=column, way="yes", by="Ada")
    send(client, "/t/t/ledger", epsilon="3", delta="1e-8")
    assert send(client, "/t/t/fit", epsilon="7")[0] == 303
    jobs = Jobs(StudioFolder(folder))
    deadline = time.monotonic() + 120
    while jobs.running("t") is not None:
        assert time.monotonic() < deadline
        assert client.get("/t/t/job").status_code == 200
        time.sleep(0.2)
    ended = client.get("/t/t/job")
    assert ended.headers["HX-Refresh"] == "true" and "Failed." in ended.text and "Try again" in ended.text
    assert "cap" in ended.text and not sklar.read_ledger(folder / "t.csv.ledger").fits
    assert send(client, "/t/t/look/1/sample", rows="10")[0] == 400


def test_how_to_read_a_table_is_said_after_a_draft_that_failed(client: TestClient, folder: Path) -> None:
    assert "How to read it" not in client.get("/t/t/columns").text
    (folder / "t.toml").unlink()
    assert "How to read it" in client.get("/t/t/columns").text
    assert send(client, "/t/t/reading", delimiter=";", encoding="", null_values="NA,?", other="x")[0] == 303
    assert StudioFolder(folder).table("t").reading == {"delimiter": ";", "null_values": "NA,?"}
    shown = client.get("/t/t/columns").text
    assert 'value="NA,?"' in shown and "--null-value NA" in shown


def test_a_table_is_forgotten_as_long_as_nothing_was_spent(client: TestClient, folder: Path) -> None:
    ledger = sklar.Ledger.create(folder / "t.csv.ledger", name="t", epsilon=20, delta=1e-7)
    assert "Forget this table" in client.get("/t/t/columns").text
    jobs = Jobs(StudioFolder(folder))
    jobs.start("t", Work(kind="k", label="listing", commands=(("methods",),)))
    code, told = send(client, "/t/t/forget")
    assert code == 400 and "listing is running" in told
    jobs.cancel(jobs.of("t")[0])
    while jobs.running("t") is not None:
        time.sleep(0.05)
    assert send(client, "/t/t/forget")[0] == 303
    assert StudioFolder(folder).tables() == {} and jobs.latest("t") is None and (folder / "t.toml").exists()

    StudioFolder(folder).new_table("t.csv", "", {})
    known = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"]), "fee": sklar.Ignore()})
    sklar.fit(folder / "t.csv", known, epsilon=1, method="independent", ledger=ledger.path)
    assert "Forget this table" not in client.get("/t/t/columns").text
    code, told = send(client, "/t/t/forget")
    assert code == 400 and "records spent budget" in told and "t" in StudioFolder(folder).tables()


def test_nothing_to_resume_or_cancel(client: TestClient) -> None:
    assert send(client, "/t/t/cancel")[0] == 303
    code, told = send(client, "/t/t/resume")
    assert code == 400 and "nothing to resume" in told
