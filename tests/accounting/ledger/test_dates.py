"""A ledger may be published, and how long a step took could tell about rows: entries hold dates and no times."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sklar
from sklar.accounting.budget import Budget
from sklar.accounting.ledger import create_ledger, open_ledger, read_ledger
from sklar.accounting.ledger.records import GENESIS, seal_entry

DATE = re.compile(r"\d{4}-\d\d-\d\d")
TIME = re.compile(r"\d\d:\d\d|T\d\d")


def test_entries_hold_dates(path: Path, reserve: Any, counts: Any) -> None:
    before = datetime.now(UTC).date().isoformat()
    account = reserve(create_ledger(path, "people"))
    account.charge(counts(account), "pairs")
    account.record_release(0, "ab" * 32)
    account.close()
    after = datetime.now(UTC).date().isoformat()
    entries = read_ledger(path).entries
    assert [entry["type"] for entry in entries] == ["ledger", "open", "charge", "release", "close"]
    for entry in entries:
        assert before <= entry["created" if entry["type"] == "ledger" else "time"] <= after
    assert not TIME.search(path.read_text())


def test_neither_ledger_nor_model_of_a_fit_tells_the_time(tmp_path: Path) -> None:
    import zipfile

    data = {"x": [1, 2] * 20}
    schema = sklar.Schema({"x": sklar.Integer(0, 9)})
    ledger = tmp_path / "l"
    sklar.fit(
        data, schema, method="independent", epsilon=1.0, delta=0.0, repair="clip", ledger=ledger, new_ledger=True
    ).save(tmp_path / "m.sklar")
    assert not TIME.search(ledger.read_text())
    with zipfile.ZipFile(tmp_path / "m.sklar") as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        texts = [archive.read(name).decode("latin-1") for name in archive.namelist() if not name.endswith(".npy")]
    today = datetime.now(UTC).date().isoformat()
    assert not any(today in text for text in texts)


def test_ledgers_with_times_stay_readable(path: Path, reserve: Any) -> None:
    account = reserve(create_ledger(path, "people", epsilon=3, delta=3e-9))
    account.close()
    head, lines = GENESIS, b""
    for entry in read_ledger(path).entries:
        dated = "created" if entry["type"] == "ledger" else "time"
        line, head = seal_entry({**entry, dated: "2025-01-02T03:04:05+00:00"}, head)
        lines += line
    path.write_bytes(lines)
    assert read_ledger(path).header.created == "2025-01-02T03:04:05+00:00"
    reserve(open_ledger(path), Budget(epsilon=0.5, delta=1e-9)).close()
    assert DATE.fullmatch(read_ledger(path).fits[1].opened)
