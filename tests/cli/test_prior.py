"""sklar fit --prior."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from sklar.cli.main import app
from tests.golden.cases import FEW, schema, table


def test_a_fit_leans_on_a_file_that_somebody_vouches_for(tmp_path: Path) -> None:
    names = {"data": tmp_path / "people.csv", "public": tmp_path / "public.csv", "facts": tmp_path / "s.toml"}
    pd.DataFrame(table(FEW)).to_csv(names["data"], index=False)
    pd.DataFrame(table(500, seed=3)).to_csv(names["public"], index=False)
    schema().write(names["facts"])
    words = ["fit", str(names["data"]), "-s", str(names["facts"]), "-e", "1", "-o", str(tmp_path / "m.sklar")]
    result = CliRunner().invoke(app, [*words, "--prior", str(names["public"]), "--prior-by", "Ada", "--json"])
    assert result.exit_code == 0, result.output
    claim = json.loads(result.stdout)["claim_record"]
    assert (claim["prior"]["name"], claim["prior"]["by"], claim["prior"]["rows"]) == ("public.csv", "Ada", 500)
    same = CliRunner().invoke(app, [*words, "--force", "--prior", str(names["data"])])
    assert same.exit_code == 1
    assert "private table itself" in same.stderr
    nobody = CliRunner().invoke(app, [*words, "--prior-by", "Ada"])
    assert nobody.exit_code == 2
