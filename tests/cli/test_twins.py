"""Every command has a public Python twin, and they do the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pytest
import typer
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app

TWINS = {
    "mcp": "serve_model",
    "demo": "demo", "plan": "plan", "synth": "synth", "fit": "fit", "sample": "Model.write_rows",
    "inspect": "Model.inspect", "report": "Model.report", "page": "Model.page", "evaluate": "evaluate",
    "attack": "attack", "attack-method": "attack_method", "complete": "complete", "estimate": "Model.estimate",
    "levels": "compare_levels", "split": "split", "bundle": "bundle", "verify": "verify", "key": "make_key",
    "compare": "compare", "audit": "audit", "methods": "list_methods", "schema draft": "draft_schema",
    "schema check": "check_schema", "schema confirm": "Schema.confirm", "schema pay": "pay",
    "ledger create": "Ledger.create", "ledger show": "read_ledger",
    "ledger verify": "verify_ledger", "bench verify": "verify_entry", "studio": "open_studio",
}  # fmt: skip
SCHEMA = {"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])}


def commands(group: typer.Typer, before: str = "") -> list[str]:
    own = [f"{before}{command.name}" for command in group.registered_commands]
    return own + [name for sub in group.registered_groups for name in commands(sub.typer_instance, f"{sub.name} ")]


def test_every_command_has_a_twin_and_every_twin_a_command() -> None:
    assert sorted(commands(app)) == sorted(TWINS)


@pytest.mark.parametrize("twin", TWINS.values())
def test_a_twin_is_public(twin: str) -> None:
    head, _, verb = twin.partition(".")
    home = sklar if head in sklar.__all__ else sklar.lab
    assert head in home.__all__
    found = getattr(home, head)
    assert callable(getattr(found, verb) if verb else found)


def test_the_list_of_methods_begins_with_those_that_have_a_guarantee() -> None:
    from sklar.methods import registry

    assert [method["name"] for method in sklar.list_methods()][: len(registry.METHODS)] == list(registry.METHODS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = "".join(f"{20 + i % 60},{'FM'[i % 2]}\n" for i in range(400))
    (tmp_path / "t.csv").write_text("age,sex\n" + rows)
    sklar.Schema(SCHEMA).write(tmp_path / "t.toml")
    return tmp_path / "t.csv"


def test_synth_writes_the_rows_of_the_model_it_keeps(table: Path) -> None:
    out, kept = table.with_name("out.csv"), table.with_name("m.sklar")
    model = sklar.synth(
        table, table.with_name("t.toml"), out, rows=50, sample_seed=3, model=kept, epsilon=1, method="dpcopula-kendall",
        k=2.0,
    )  # fmt: skip
    assert model.fit_facts["options"]["k"] == 2.0
    again = table.with_name("again.csv")
    assert sklar.load(kept).write_rows(again, 50, seed=3) == 50
    assert again.read_bytes() == out.read_bytes()
    assert pyarrow.csv.read_csv(out).num_rows == 50


def test_synth_spends_nothing_where_the_output_is_refused(table: Path) -> None:
    with pytest.raises(sklar.errors.SklarError):
        sklar.synth(table, table.with_name("t.toml"), table.with_name("out.docx"), epsilon=1)
    assert not table.with_name("t.csv.ledger").exists()


def test_sample_and_its_twin_write_the_same(table: Path) -> None:
    sklar.synth(table, table.with_name("t.toml"), table.with_name("out.csv"), epsilon=1, model=table.with_name("m"))
    sklar.load(table.with_name("m")).write_rows(table.with_name("a.csv"), 20, seed=7, given={"sex": "F"})
    words = ["sample", str(table.with_name("m")), "-n", "20", "--seed", "7", "--given", "sex=F", "-o"]
    assert CliRunner().invoke(app, [*words, str(table.with_name("b.csv"))]).exit_code == 0
    assert table.with_name("a.csv").read_bytes() == table.with_name("b.csv").read_bytes()


def test_the_vine_of_a_model_is_drawn(table: Path) -> None:
    model = sklar.fit(table, table.with_name("t.toml"), epsilon=50)
    model.plot(table.with_name("vine.svg"))
    sklar.lab.draw_model(model, table.with_name("same.svg"), "trees")
    assert table.with_name("vine.svg").read_bytes() == table.with_name("same.svg").read_bytes()
    with pytest.raises(sklar.errors.UsageError, match="no picture"):
        sklar.lab.draw_model(model, table.with_name("x.svg"), "faces")


@pytest.mark.slow
def test_a_demo_leaves_its_files(tmp_path: Path) -> None:
    made = sklar.demo(tmp_path / "d", rows=500, method="independent")
    assert all(path.exists() for path in made.files)
    assert sklar.read_ledger(tmp_path / "d/people.ledger").fits[0].method == "independent"
    assert sklar.verify_ledger(tmp_path / "d/people.ledger").head


def test_a_schema_is_checked_for_a_method(table: Path) -> None:
    bare = {"x": sklar.Category(["a", "b"]), "y": sklar.Category(["c", "d"])}
    sklar.Schema(bare).write(table.with_name("labels.toml"))
    asked = ["schema", "check", str(table.with_name("labels.toml")), "--method"]
    assert "vine: can be fitted" in CliRunner().invoke(app, [*asked, "vine"]).output
    assert CliRunner().invoke(app, [*asked, "vine", "--target", "y"]).exit_code == 0
    assert sklar.check_schema(sklar.Schema(bare), method="vine", target="y").method == "vine"
    faults = {"no method": ["nothing"], "z": ["vine", "--target", "z"], "option": ["vine", "-O", "a=1"]}
    for words, more in faults.items():
        refused = CliRunner().invoke(app, [*asked, *more])
        assert refused.exit_code == 1 and words in refused.output
    with pytest.raises(sklar.errors.UsageError, match="makes no use of a target"):
        sklar.check_schema(sklar.Schema(bare), method="independent", target="y")
    assert (
        CliRunner().invoke(app, [*asked, "dpcopula-kendall"]).exit_code
        == CliRunner().invoke(app, ["plan", asked[2], "-e", "1", "--method", "dpcopula-kendall"]).exit_code
    )
