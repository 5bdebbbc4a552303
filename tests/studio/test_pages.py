"""Every page and what it refuses, asked without a browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import sklar
from sklar.schema.rules import AtMost, Never, Ratio
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
    if path.endswith(("/answer", "/answers")):
        seen = re.findall(r'name="seen" value="(\w+)"', client.get("/t/t/columns").text)
        values = {"seen": seen[0], **values}
    told = client.post(path, data={"secret": KNOWN.form, **values})
    return told.status_code, told.text


def confirm_all(client: TestClient) -> None:
    """Confirm all columns as they stand, and wait for the plan that follows only if there was a draft."""
    assert send(client, "/t/t/answers", by="Ada", **{f"tick-{at}": "yes" for at in range(len(DRAFT))})[0] == 303


def schema(folder: Path) -> sklar.Schema:
    return sklar.Schema.read(folder / "t.toml")


@pytest.mark.parametrize("step", ["columns", "budget", "fit", "look", "release", "history"])
def test_every_step_is_shown_before_anything_was_done(client: TestClient, step: str) -> None:
    shown = client.get(f"/t/t/{step}")
    assert shown.status_code == 200 and f'href="/t/t/{step}" aria-current="step"' in shown.text


def test_addresses_that_lead_nowhere(client: TestClient) -> None:
    for path in ("/t/none/fit", "/t/t/look/7", "/file/t.csv", "/t/t/look/x", f"/t/t/look/{'9' * 5000}", "/nothing"):
        assert client.get(path).status_code == 404, path


def test_all_columns_are_answered_at_once_by_one_person(client: TestClient, folder: Path) -> None:
    asked = client.get("/t/t/columns").text
    assert "taken from real rows" in asked and asked.count('class="open"') == 3
    edits = {"lower-0": "0", "upper-0": "120", "way-1": "ignore", "way-2": "pay"}
    ticks = {f"tick-{at}": "yes" for at in range(3)}
    assert send(client, "/t/t/answers", by="Ada", **ticks, **edits)[0] == 303
    now = schema(folder)
    assert now["age"] == sklar.Integer(0, 120) and now["sex"].kind == "ignore"
    assert now["fee"].provenance("upper") == "pay" and not now.questions()
    assert now.confirmed[0].by == "Ada" and "age.upper" in now.confirmed[0].facts
    assert "Everything is confirmed" in client.get("/t/t/columns").text
    assert send(client, "/t/t/answers", by="Ada", **{"decimals-2": "2"})[0] == 303  # later, without a tick
    assert schema(folder)["fee"].decimals == 2  # type: ignore[attr-defined]


def test_what_is_not_ticked_stays_open(client: TestClient, folder: Path) -> None:
    assert send(client, "/t/t/answers", by="Ada", **{"tick-1": "yes", "way-0": "ignore"})[0] == 303
    assert [question.column for question in schema(folder).questions()] == ["age", "fee"]


def test_another_kind_has_fields_of_its_own_and_labels_may_have_commas(client: TestClient, folder: Path) -> None:
    shown = client.get("/t/t/columns").text
    assert 'data-kinds="integer real datetime"' in shown and 'data-kinds="category ordinal"' in shown
    edits = {"kind-0": "category", "values-0": "20, or less\r\n30\r\n40", "nullable-0": "yes", "lower-0": "nonsense"}
    assert send(client, "/t/t/answers", by="Ada", **edits)[0] == 303
    assert schema(folder)["age"] == sklar.Category(["20, or less", "30", "40"], nullable=True)
    edits = {"kind-0": "real", "lower-0": "0", "upper-0": "30"}
    assert send(client, "/t/t/answers", by="Ada", **edits)[0] == 303
    assert schema(folder)["age"] == sklar.Real(0, 30, nullable=True)


def test_a_proposed_calendar_is_refused_in_a_field(client: TestClient, folder: Path) -> None:
    drafted = {
        "seen": sklar.Datetime("1950-01-01", "2020-12-31", calendar=("month", "weekday"), source="from-rows"),
        "ill": sklar.Boolean(spelling=["F", "T"], source="from-rows"),
    }
    sklar.Schema(drafted).write(folder / "t.toml")
    shown = client.get("/t/t/columns").text
    assert 'value="month, weekday"' in shown and 'value="F, T"' in shown
    edits = {"tick-0": "yes", "tick-1": "yes", "calendar-0": "weekday", "spelling-1": "no, yes"}
    assert send(client, "/t/t/answers", by="Ada", **edits)[0] == 303
    known = schema(folder)
    assert known["seen"] == sklar.Datetime("1950-01-01", "2020-12-31", calendar=("weekday",))
    assert known["ill"] == sklar.Boolean(spelling=["no", "yes"])
    assert send(client, "/t/t/answers", by="Ada", **{"calendar-0": ""})[0] == 303
    assert schema(folder)["seen"] == sklar.Datetime("1950-01-01", "2020-12-31")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"tick-0": "yes", "lower-0": "x"}, "age: lower is a number"),
        ({"tick-0": "yes", "lower-0": "99"}, "lower"),
        ({"tick-0": "yes", "kind-0": "nonsense"}, "must be one of"),
        ({"tick-0": "yes", "kind-0": "category"}, "at least one label"),
        ({"tick-0": "yes", "by": " "}, "write your name"),
        ({"tick-0": "yes", "seen": "of another day"}, "changed since this page"),
        ({"tick-0": "yes", "way-0": "perhaps"}, "an answer is"),
    ],
)
def test_answers_that_cannot_be_taken(client: TestClient, folder: Path, said: dict[str, str], words: str) -> None:
    before = (folder / "t.toml").read_bytes()
    code, text = send(client, "/t/t/answers", **{"by": "Ada", "tick-1": "yes", "upper-2": "9.7", **said})
    assert code == 400 and words in text and (folder / "t.toml").read_bytes() == before
    assert 'value="9.7"' in text  # what was typed is still there


def test_proposed_rules_are_answered_with_yes_and_no(client: TestClient, folder: Path) -> None:
    proposed = [
        AtMost(low="fee", high="age", source="from-rows"),
        Ratio(column="fee", of="age", upper=1, source="from-rows"),
    ]
    sklar.Schema(DRAFT, rules=proposed).write(folder / "t.toml")
    shown = client.get("/t/t/columns").text
    assert "Fee is at most age." in shown and shown.count("Must that be so in every row?") == 2
    assert re.findall(r'name="rule-(\d)" value="(\w+)" checked', shown) == []  # what rows show is not what must be
    assert "Yes to it, no to 1 range of ratios" in shown
    ticks = {f"tick-{at}": "yes" for at in range(3)}
    assert send(client, "/t/t/answers", by="Ada", **ticks, **{"rule-0": "yes", "rule-1": "no"})[0] == 303
    assert schema(folder).rules == (AtMost(low="fee", high="age"),) and not schema(folder).questions()
    seen = schema(folder).fingerprint
    assert send(client, "/t/t/answer", column="rule 1", way="ignore", seen=seen)[0] == 303 and not schema(folder).rules


def test_rules_stay_open_unless_each_or_all_are_answered(client: TestClient, folder: Path) -> None:
    proposed = [
        AtMost(low="fee", high="age", source="from-rows"),
        Ratio(column="fee", of="age", upper=1, source="from-rows"),
        Never(values={"sex": "F", "age": 20}, source="from-rows"),
    ]
    sklar.Schema(DRAFT, rules=proposed).write(folder / "t.toml")
    ticks = {f"tick-{at}": "yes" for at in range(3)}
    assert send(client, "/t/t/answers", by="Ada", **ticks)[0] == 303
    assert [rule.source for rule in schema(folder).rules] == ["from-rows"] * 3
    assert send(client, "/t/t/answers", by="Ada", all="yes", **{"rule-2": "no"})[0] == 303
    assert schema(folder).rules == (AtMost(low="fee", high="age"),) and not schema(folder).questions()


def test_rules_are_added_confirmed_and_dropped(client: TestClient, folder: Path) -> None:
    assert send(client, "/t/t/rule", left="fee", sign="<=", right="age")[0] == 303
    assert schema(folder).rules == (sklar.rules.Expression("`fee` <= `age`"),)
    for wrong in ("", "fee <=", "nothing > 3"):
        assert send(client, "/t/t/rule", rule=wrong)[0] == 400
    seen = schema(folder).fingerprint
    assert send(client, "/t/t/answer", column="rule 1", way="ignore", seen=seen)[0] == 303
    assert schema(folder).rules == ()


def test_the_person_is_said_and_taken_back(client: TestClient, folder: Path) -> None:
    send(client, "/t/t/answers", by="Ada", **{"tick-1": "yes", "way-1": "ignore"})
    assert send(client, "/t/t/person", key="sex", rows="5", order="age", weights="votes")[0] == 303
    assert schema(folder).person == sklar.Person(key="sex", rows=5, order="age")
    assert send(client, "/t/t/rule", rule="fee <= age")[0] == 303 and schema(folder).person is not None
    for wrong in ({"key": "age", "rows": "5"}, {"key": "sex", "rows": "many"}, {"key": "sex", "rows": ""}):
        assert send(client, "/t/t/person", **wrong)[0] == 400
    assert "at most 5 rows" in client.get("/t/t/columns").text
    assert send(client, "/t/t/person", key="", rows="")[0] == 303 and schema(folder).person is None


def test_a_changed_person_keeps_what_its_form_does_not_say(client: TestClient, folder: Path) -> None:
    columns = {
        "nr": sklar.Id(), "sex": sklar.Category(["F", "M"]), "born": sklar.Integer(1920, 2020),
        "year": sklar.Integer(2010, 2024),
    }  # fmt: skip
    steps = [AtMost(low="previous year", high="year", at_least=1)]
    known = sklar.Person(key="nr", rows=5, order="year", static=["sex"], steps=steps, source="from-rows")
    sklar.Schema(columns, person=known).write(folder / "t.toml")
    shown = client.get("/t/t/columns").text
    assert 'name="static-1" value="yes" checked' in shown and 'name="static-2" value="yes">' in shown
    said = {"key": "nr", "rows": "9", "order": "year", "weights": "votes", "static-1": "yes", "static-2": "yes"}
    assert send(client, "/t/t/person", **said)[0] == 303
    assert schema(folder).person == sklar.Person(key="nr", rows=9, order="year", static=["sex", "born"], steps=steps)
    assert send(client, "/t/t/person", **{**said, "order": ""})[0] == 303  # rows without an order are not linked
    assert schema(folder).person == sklar.Person(key="nr", rows=9)
    (folder / "t-1.sklar").touch()
    assert "Draw the vine" in client.get("/t/t/look").text
    sklar.Schema(columns, person=known).write(folder / "t.toml")
    assert "Draw the vine" not in client.get("/t/t/look").text  # a model of linked rows has none


def test_the_whole_schema_as_text_unless_it_has_changed_meanwhile(client: TestClient, folder: Path) -> None:
    seen, text = schema(folder).fingerprint, schema(folder).toml().replace("upper = 60", "upper = 61")
    assert send(client, "/t/t/text", seen=seen, toml="nonsense")[0] == 400
    (folder / "t.toml.new").write_text("of somebody else")
    assert send(client, "/t/t/text", seen=seen, toml=text)[0] == 303
    assert schema(folder)["age"].upper == 61  # type: ignore[attr-defined]
    assert (folder / "t.toml.new").read_text() == "of somebody else"
    code, told = send(client, "/t/t/text", seen=seen, toml=text)
    assert code == 400 and "another tab" in told


def test_the_page_of_the_budget_explains_its_terms_and_links_to_more(client: TestClient) -> None:
    shown = client.get("/t/t/budget").text
    assert re.findall("<dt>(.*?)</dt>", shown) == ["epsilon", "delta", "neighbours", "cap"]
    assert shown.index('href="#choosing"') < shown.index('id="choosing"')


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
    confirm_all(client)
    code, told = send(client, "/t/t/fit", epsilon="1")
    assert code == 400 and "no ledger" in told
    send(client, "/t/t/ledger", epsilon="3", delta="1e-8")
    for said in ({"epsilon": ""}, {"epsilon": "1", "rows_per_person": "x"}, {"epsilon": "1", "delta": "x"}):
        assert send(client, "/t/t/fit", **said)[0] == 400
    for said in ({"rows": "", "epsilons": "1"}, {"rows": "9", "epsilons": "x"}, {"rows": "9", "epsilons": ""}):
        assert send(client, "/t/t/plan", **said)[0] == 400
    assert Jobs(StudioFolder(folder)).latest("t") is None


def test_a_refused_fit_says_why_and_charges_nothing(client: TestClient, folder: Path) -> None:
    confirm_all(client)
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


def test_the_first_fit_sets_the_cap_and_is_refused_before_that_if_it_exceeds_it(
    client: TestClient, folder: Path
) -> None:
    confirm_all(client)
    for said in (
        {"epsilon": "2", "cap": "1"},
        {"epsilon": "1", "cap": "x"},
        {"epsilon": "0", "cap": "1"},
        {"cap": "3"},
    ):
        assert send(client, "/t/t/begin", **said)[0] == 400
        assert not (folder / "t.csv.ledger").exists()
    assert send(client, "/t/t/begin", epsilon="1", cap="3", cap_delta="1e-7", method="nonsense")[0] == 303
    wait(client, folder)
    cap = sklar.read_ledger(folder / "t.csv.ledger").header.cap
    assert cap is not None and (cap.epsilon, cap.delta) == (3, 1e-7)


def wait(client: TestClient, folder: Path) -> None:
    jobs, deadline = Jobs(StudioFolder(folder)), time.monotonic() + 120
    while jobs.running("t") is not None:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_a_table_is_drafted_checked_and_planned_without_being_asked(client: TestClient, folder: Path) -> None:
    (folder / "u.csv").write_text("nr;höhe;note\n" + "".join(f"{i};{i % 7},5;secret{i}\n" for i in range(60)))
    assert "u.csv" in client.get("/").text
    assert send(client, "/tables", source="u.csv")[0] == 303
    while Jobs(StudioFolder(folder)).running("u") is not None:
        time.sleep(0.1)
    shown = client.get("/t/u/columns").text
    assert "60 rows" in shown and "<code>;</code>" in shown and "0.5 · 1.5 · 2.5" in shown  # commas are read
    assert "secret7" not in shown and "<rect" in shown
    seen = re.findall(r'name="seen" value="(\w+)"', shown)[0]
    ticks = {f"tick-{at}": "yes" for at in range(3)}
    assert send(client, "/t/u/answers", seen=seen, by="Ada", **ticks)[0] == 303
    while Jobs(StudioFolder(folder)).running("u") is not None:
        time.sleep(0.1)
    shown = client.get("/t/u/budget").text
    assert (
        "All columns can be read" in shown
        and "With about 60 rows" in shown
        and shown.count('name="epsilon" value') == 4
    )


@pytest.mark.slow
def test_columns_that_cannot_be_read_are_named_before_a_charge(client: TestClient, folder: Path) -> None:
    sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Real(0, 9), "fee": sklar.Real(0, 9)}).write(
        folder / "t.toml"
    )
    assert send(client, "/t/t/plan", rows="80", epsilons="1")[0] == 303
    wait(client, folder)
    shown = client.get("/t/t/budget").text
    assert "sex: none of 80 values can be read as numbers" in shown and "before anything is charged" in shown
    assert not (folder / "t.csv.ledger").exists()


def test_a_file_is_read_in_another_way_as_long_as_nothing_was_answered(client: TestClient, folder: Path) -> None:
    assert "Read the file in another way" not in client.get("/t/t/columns").text  # not a draft of this studio
    code, text = send(client, "/t/t/reading", delimiter=";")
    assert code == 400 and "answered already" in text
    (folder / "t.toml").unlink()
    assert "How to read it" in client.get("/t/t/columns").text
    assert send(client, "/t/t/reading", delimiter=";", encoding="", null_values="NA,?", other="x")[0] == 303
    wait(client, folder)
    assert StudioFolder(folder).table("t").reading == {"delimiter": ";", "null_values": "NA,?"}
    job = Jobs(StudioFolder(folder)).latest("t")
    assert job is not None and job.state == "done", job and (job.state, job.says, job.codes)
    shown = client.get("/t/t/columns").text
    assert [text for text in ('value="NA,?"', "--null-value NA", "Done.") if text not in shown] == []


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
