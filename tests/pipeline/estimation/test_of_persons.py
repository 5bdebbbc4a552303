"""Questions about persons whose rows follow one another: answered by the one of their tables that has the columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import UsageError
from sklar.methods.vine import ask as vine
from tests.pipeline import test_linked as panel
from tests.pipeline import test_tables as clinic

Rows = list[tuple[int, str, str]]


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return panel.scripted(epsilon=3.0)


@pytest.fixture(scope="module")
def family() -> sklar.Model:
    return clinic.scripted(epsilon=3.0)


@pytest.fixture(scope="module")
def people() -> list[Rows]:
    return [sorted(rows) for rows in panel.by_person(panel.made()).values()]


def of_steps(people: list[Rows], told: Callable[[Any, Any], float]) -> float:
    """The mean over persons with steps of the mean of theirs."""
    return float(np.mean([np.mean([told(a, b) for a, b in itertools.pairwise(rows)]) for rows in people if rows[1:]]))


def where_b(people: list[Rows], told: Callable[[Any], float]) -> float:
    """The mean over steps from b, in which each person has one vote for all its steps."""
    return of_steps(people, lambda a, b: (a[2] == "b") * told(b)) / of_steps(people, lambda a, b: a[2] == "b")


@pytest.mark.parametrize(
    ("question", "truth"),
    [
        ("share(group=x)", lambda people: np.mean([rows[0][1] == "x" for rows in people])),
        ("mean(rows of the person)", lambda people: np.mean([len(rows) for rows in people])),
        ("share(first state=b) where group=x",
         lambda people: np.mean([rows[0][2] == "b" for rows in people if rows[0][1] == "x"])),
        ("share(state=end) where previous state=a,b", lambda people: of_steps(people, lambda a, b: b[2] == "end")),
        ("share(state=b) where previous state=b", lambda people: where_b(people, lambda b: b[2] == "b")),
    ],
)  # fmt: skip
def test_answers_hold_the_truth_with_persons_as_the_unit(
    model: sklar.Model, people: list[Rows], question: str, truth: Any
) -> None:
    """At 99.99% intervals, which are a few hundredths wide: far from what other persons, or shuffled rows, have."""
    found = model.estimate(question, confidence=0.9999)
    assert found.low <= truth(people) <= found.high
    assert found.high - found.low < 0.2
    assert found.name == question.split(" where")[0]
    assert 1_000 < found.effective_rows <= 3_000
    assert "counts once" in found.how
    assert found.how.endswith("at most 4 rows of each person are counted")


def test_groups_and_differences_are_told(model: sklar.Model) -> None:
    both = model.estimate("share", "first state", value="b", by="group")
    apart = model.estimate("difference", "first state", value="b", by="group", between=("x", "y"))
    assert [one.group for one in both] == ["x", "y"]
    assert apart.value == pytest.approx(both[0].value - both[1].value, abs=0.02)


@pytest.mark.slow
def test_what_rules_turn_into_others_is_told_by_replicas_of_its_table(
    model: sklar.Model, people: list[Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The year is told by how far it lies from the one before; 5 replicas, at 99.9%. Their trees join what the tree of
    the model joined first: columns of the row before."""
    fits: dict[int, Any] = {}
    ask_tree = vine._ask_tree  # pyright: ignore[reportPrivateUsage]

    def noted(evidence: Any) -> Any:
        fits[id(evidence.known)] = evidence  # all evidences of one fit share what is known
        return ask_tree(evidence)

    monkeypatch.setattr(vine, "_ask_tree", noted)
    found = model.estimate("mean(year) where previous state=b", replicas=5, confidence=0.999)
    assert "replicas" in found.how
    assert found.low <= where_b(people, lambda b: b[0]) <= found.high
    assert found.high - found.low < 2
    replicas = [evidence.setting.given for evidence in fits.values() if evidence.setting.given]
    assert len(replicas) >= 5 and all("previous state" in names for names in replicas)


@pytest.mark.slow
def test_parents_and_their_first_rows_are_told(family: sklar.Model) -> None:
    kinds = family.estimate("share(kind=b)", confidence=0.9999)
    wards = family.estimate("share(first ward=y) by kind", confidence=0.9999)
    assert kinds.low <= np.mean([kind == "b" for kind in clinic.made()["p"]["kind"].to_pylist()]) <= kinds.high
    assert wards[0].high < 0.4 < 0.6 < wards[1].low
    assert "with a row counts once" in wards[0].how
    assert family.estimate("mean(rows of the person)").value == pytest.approx(1.5, abs=0.2)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("share(state=b)", "use 'first state'.*previous state"),
        ("share(first state=b) where previous state=b", "not measured together"),
        ("share(nothing=1)", "nothing"),
        ("mean(group)", "group"),
    ],
)  # fmt: skip
def test_what_no_table_answers_is_refused_in_words(model: sklar.Model, question: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        model.estimate(question)


def test_the_command_answers(model: sklar.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.sklar")
    ran = CliRunner().invoke(app, ["estimate", str(tmp_path / "m.sklar"), "share(state=b) where previous state=b"])
    assert ran.exit_code == 0, ran.output
    assert "counts once" in " ".join(ran.output.split())
    assert "effective persons" in ran.output


def groups_of_a_panel() -> tuple[dict[str, Any], sklar.Schema]:
    """300 persons with three rows each; a tenth is in group a, where pay is lower by half a standard deviation."""
    rng = np.random.default_rng(2)
    group = rng.choice(list("abc"), 300, p=[0.1, 0.3, 0.6])
    pay = rng.normal(50 - 5 * (group == "a"), 10).clip(0, 100)
    of, place = np.repeat(np.arange(300), 3), np.tile(np.arange(3), 300)
    rows = {"id": of, "year": 2000 + place, "group": group[of], "pay": np.rint(pay[of]).astype(int), "up": of % 2 == 1}
    columns = {
        "year": sklar.Integer(2000, 2002), "group": sklar.Category(list("abc")), "pay": sklar.Integer(0, 100),
        "up": sklar.Boolean(),
    }  # fmt: skip
    return rows, sklar.Schema(columns, person=sklar.Person(key="id", rows=3, order="year", static=["group"]))


@pytest.mark.slow
def test_no_group_of_persons_has_a_narrower_interval_than_its_size_allows() -> None:
    """Nothing is measured about labels and numbers together where persons are few: replicas would not see that."""
    rows, schema = groups_of_a_panel()
    first = np.asarray(rows["year"]) == 2000
    model = sklar.fit(rows, schema, epsilon=2.0)
    held = []
    for one in model.estimate("mean(first pay) by group"):
        own = np.asarray(rows["pay"])[first & (np.asarray(rows["group"]) == one.group)]
        assert one.error is not None and one.effective_rows is not None and one.low is not None and one.high is not None
        assert one.error > 0.7 * own.std() / len(own) ** 0.5
        assert one.effective_rows <= len(own) * 1.5 and one.effective_rows < 300  # sizes of groups are estimated, too
        # With a little more noise on the number of persons, tables of pairs are released after all.
        assert "together with others was released" in one.how or "of the joint distribution" in one.how
        held.append(one.low <= own.mean() <= one.high)
    assert all(held)


def test_effective_sizes_are_rounded_down_and_are_those_of_the_group(model: sklar.Model) -> None:
    (whole,) = (model.estimate("share(first state=b)"),)
    for one in model.estimate("share(first state=b) by group"):
        assert (
            whole.effective_rows is not None
            and one.effective_rows is not None
            and one.effective_rows < whole.effective_rows <= model.rows_estimate
        )
