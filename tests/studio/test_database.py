"""A table of PostgreSQL in the studio: taken up by its address, drafted and fitted by the same commands."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import sklar
from sklar.studio import commands
from sklar.studio.folder import StudioFolder
from sklar.studio.jobs import Jobs, StudioJob


def ended(jobs: Jobs) -> StudioJob:
    deadline = time.monotonic() + 120
    while jobs.running("visits") is not None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    job = jobs.latest("visits")
    assert job is not None
    return job


@pytest.mark.slow
def test_a_table_is_drafted_and_fitted_where_it_lies(postgres: Any, tmp_path: Path) -> None:
    postgres.psql("create table studio_visits (age integer, sex text)")
    postgres.psql("insert into studio_visits select 20 + i % 50, case when i % 3 = 0 then 'F' else 'M' end "
                  "from generate_series(1, 300) i")  # fmt: skip
    address = postgres.get_uri().replace("postgres:@", "postgres@")
    folder = StudioFolder(tmp_path)
    entry = folder.new_table(f"{address}{'&' if '?' in address else '?'}table=studio_visits", "visits", {})
    jobs = Jobs(folder)
    jobs.start("visits", commands.draft(entry))
    assert ended(jobs).state == "done", ended(jobs).says
    schema = sklar.Schema.read(tmp_path / "visits.toml")
    assert schema.names == ("age", "sex")
    schema.confirm("age", "sex", by="Ada").write(tmp_path / "visits.toml")
    sklar.Ledger.create(tmp_path / "visits.ledger", name="visits", epsilon=3, delta=1e-8)
    whole = commands.fit(entry, 1, commands.FitForm(epsilon=2, method="independent"))
    jobs.start(
        "visits", commands.Work(kind="fit", label="fitting", commands=whole.commands[:1], outputs=("visits-1.sklar",))
    )
    assert ended(jobs).state == "done", ended(jobs).says
    assert sklar.load(tmp_path / "visits-1.sklar").claim.guarantee
