"""What a notebook shows: everything escaped, no colours of its own, and a bar for work that takes long."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sklar
from sklar import notebook
from sklar.errors import UsageError
from sklar.notebook import NotebookBar, count_rows, notebook_bar, notebook_rows

EVIL = "<script>alert('x')</script>"
ROWS = {"age": [20, 30, 40] * 40, EVIL: ["a", "b", EVIL] * 40}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of each thing that a notebook can show, with a name and a label that would run."""
    draft = sklar.draft_schema(ROWS)
    schema = draft.confirm("age", lower=0, upper=99, by=EVIL).confirm(EVIL, values=["a", "b", EVIL])
    schema = schema.confirm(*(question.column for question in schema.questions()))
    path = tmp_path_factory.mktemp("ledger") / "l.ledger"
    sklar.Ledger.create(path, name=EVIL, epsilon=3, delta=3e-9)
    model = sklar.fit(ROWS, schema, epsilon=1.0, ledger=path)
    synthetic = model.sample(100, seed=1)
    compared = sklar.compare(ROWS, schema, methods=["independent"], epsilons=[1], folds=2, metrics=["tvd1"])
    return {
        "draft": draft, "schema": schema, "claim": model.claim, "model": model,
        "evaluation": sklar.evaluate(ROWS, synthetic, schema, name=EVIL),
        "attack": sklar.attack("copies", ROWS, synthetic, schema, name=EVIL), "compared": compared,
        "ledger": sklar.Ledger.open(path), "view": sklar.read_ledger(path),
    }  # fmt: skip


KINDS = ["draft", "schema", "claim", "model", "evaluation", "attack", "compared", "ledger", "view"]


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_escaped_and_takes_the_colours_of_the_page(shown: dict[str, Any], kind: str) -> None:
    html = shown[kind]._repr_html_()
    assert "<script" not in html and 'class="sklar"' in html
    assert not re.search(r"[;\"](color|background)[^;\"]*:", html) and "#" not in re.sub(r"&#\w+;", "", html)
    if kind in ("draft", "schema", "claim", "model", "evaluation", "ledger", "view"):
        assert "&lt;script&gt;" in html


def test_what_a_card_says(shown: dict[str, Any]) -> None:
    assert "3 questions about columns and rules are open" in shown["draft"]._repr_html_()
    assert "are not confirmed" not in shown["schema"]._repr_html_()
    assert "integer from 0 to 99" in shown["model"]._repr_html_()
    assert "Left: one more fit" in shown["ledger"]._repr_html_()
    assert all("not private" in shown[kind]._repr_html_() for kind in ("evaluation", "attack", "compared"))


def test_long_tables_are_cut_with_a_word() -> None:
    html = notebook.make_table(("n",), [(i,) for i in range(100)])
    assert html.count("<tr>") == 1 + notebook.MAX_TABLE_ROWS and "and 40 more" in html


def test_pictures_of_an_evaluation_and_a_model(shown: dict[str, Any], tmp_path: Path) -> None:
    svg = shown["evaluation"].plot()._repr_svg_()
    assert svg.startswith("<svg") and "<script" not in svg and ">age<" in svg
    shown["evaluation"].plot(tmp_path / "e.custodian.svg")
    assert (tmp_path / "e.custodian.svg").stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="for the custodian"):
        shown["evaluation"].plot(tmp_path / "e.svg")
    assert shown["model"].plot()._repr_svg_().startswith("<svg")


def test_a_bar_is_patient_and_says_what_is_done() -> None:
    pictures: list[str] = []
    times = iter([0.0, 0.5, 1.5, 1.5, 1.6, 2.0, 2.0])
    bar = NotebookBar("fitting", pictures.append, clock=lambda: next(times))
    bar("early", 0.1)
    assert not pictures
    bar.doing("measuring <margins>")
    bar(0.25)
    bar(0.26)  # too soon for another picture
    bar("pairs", 7.0)
    bar.close()
    assert [re.sub("<[^>]+>", "", picture).strip() for picture in pictures] == [
        "fitting: measuring &lt;margins&gt; (25%)", "fitting: pairs (100%)", "",
    ]  # fmt: skip


def test_outside_of_notebooks_there_is_no_bar() -> None:
    assert notebook_bar("fitting") is None and notebook_rows("sampling", 10) is None


def test_a_bar_of_rows_counts_them_and_goes_away_with_the_last() -> None:
    pictures: list[str] = []
    times = iter([0.0, 1.5, 1.5, 2.0, 2.0])
    tell = count_rows(NotebookBar("sampling", pictures.append, clock=lambda: next(times)), 3_000)
    for more in (1_000, 1_000, 1_000):
        tell(more)
    assert [re.sub("<[^>]+>", "", picture).strip() for picture in pictures] == [
        "sampling: 1,000 of 3,000 rows (33%)", "sampling: 2,000 of 3,000 rows (67%)", "",
    ]  # fmt: skip


@pytest.mark.slow
def test_rows_are_told_while_they_are_drawn_and_written(tmp_path: Path) -> None:
    schema = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])})
    rows = {"age": [20, 30, 45, 70] * 750, "sex": ["F", "M", "F"] * 1_000}
    told: list[tuple[str, float]] = []

    class Bar:
        def doing(self, what: str) -> None:
            told.append((what, 0.0))

        def __call__(self, fraction: float) -> None:
            told.append(("", fraction))

    read = sklar.ReadOptions(progress=Bar())
    model = sklar.synth(rows, schema, tmp_path / "s.csv", epsilon=5.0, rows=130_000, sample_seed=1, read=read)
    sampled = [fraction for _, fraction in told[[what for what, _ in told].index("sampling rows") :]]
    assert len(sampled) > 4 and sampled == sorted(sampled) and sampled[0] == 0 and sampled[-1] == 1
    assert sampled[-2] < 0.81  # all are drawn, none is written
    drawn: list[int] = []
    table = model.draw_table(130_000, seed=1, given=None, iid=False, drawn=drawn.append)
    assert len(drawn) > 2 and sum(drawn) == 130_000 and table.equals(model.sample(130_000, seed=1))
    model.draw_table(500, seed=1, given={"sex": "F"}, iid=False, drawn=drawn.append)
    assert drawn[-1] == 500


def test_evaluations_and_attacks_tell_every_step_and_never_go_back() -> None:
    told: list[tuple[str, float]] = []
    schema = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])})
    rows = {"age": [20, 30, 40] * 40, "sex": ["F", "M", "F"] * 40}
    sklar.evaluate(rows, rows, schema, attacks=["copies", "linkability"], by="sex", learners="tree",
                   progress=lambda what, done: told.append((what, done)))  # fmt: skip
    words = [what for what, _ in told]
    assert words[0] == "reading the tables" and words[-1] == "done" and told[-1][1] == 1.0
    assert {"drawing pictures", "errors by sex", "attack linkability, linking"} <= set(words)
    assert all(a[1] <= b[1] + 1e-12 for a, b in pairwise(told))


def test_a_fit_tells_what_its_passes_are_for() -> None:
    class TableContent:
        def __init__(self) -> None:
            self.words: list[str] = []

        def __call__(self, fraction: float) -> None: ...

        def doing(self, what: str) -> None:
            self.words.append(what)

    told = TableContent()
    sklar.fit(ROWS, sklar.Schema({"age": sklar.Integer(0, 99)}), method="independent", epsilon=1.0,
              read=sklar.ReadOptions(progress=told))  # fmt: skip
    assert "measuring margins" in told.words and told.words[-1].startswith("working on")
