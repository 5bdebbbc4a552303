"""sklar sample --fill."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app


def test_left_out_columns_are_filled(tmp_path: Path) -> None:
    schema = sklar.Schema({"key": sklar.Id(), "a": sklar.Boolean(), "email": sklar.Ignore()})
    frame = pd.DataFrame({"key": range(50), "a": [True, False] * 25, "email": ["x"] * 50})
    model = str(tmp_path / "m.sklar")
    sklar.fit(frame, schema, method="independent", epsilon=1.0).save(model)
    out = str(tmp_path / "out.csv")
    run = ["sample", model, "-n", "20", "-o", out, "--seed", "1", "--force"]
    filled = CliRunner().invoke(app, [*run, "--fill", "email=[a-z]{6}@example\\.org", "--fill", "key=P[0-9]{6}"])
    assert filled.exit_code == 0, filled.output
    made = pd.read_csv(out)
    assert made["email"].str.fullmatch(r"[a-z]{6}@example\.org").all() and made["key"].str.fullmatch(r"P\d{6}").all()
    assert CliRunner().invoke(app, [*run, "--fill", "null"]).exit_code == 0
    assert pd.read_csv(out)["email"].isna().all()
    assert CliRunner().invoke(app, [*run, "--fill", "email"]).exit_code == 2
    assert CliRunner().invoke(app, ["sample", model, "-o", str(tmp_path / "f") + "/", "--fill", "null"]).exit_code == 2
    assert CliRunner().invoke(app, [*run, "--binary", "--fill", "null"]).exit_code == 1
