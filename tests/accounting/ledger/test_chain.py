"""Damage to a ledger file is found and told by line; writes that were cut short are not damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sklar.accounting.ledger import create_ledger, open_ledger, read_ledger, verify_ledger
from sklar.accounting.ledger.records import GENESIS, seal_entry
from sklar.errors import LedgerError

DIGEST = "cd" * 32


@pytest.fixture
def written(path: Path, reserve: Any, counts: Any) -> bytes:
    """A ledger of two fits: one closed, one left after a charge."""
    ledger = create_ledger(path, "people of Ål", epsilon=5, delta=1e-9)
    first = reserve(ledger)
    first.charge(counts(first), "margins")
    first.record_release(0, DIGEST)
    first.close()
    second = reserve(ledger)
    second.charge(counts(second), "margins")
    second.leave()
    return path.read_bytes()


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def test_a_ledger_reads_as_written(path: Path, written: bytes) -> None:
    view = read_ledger(path)
    assert [entry["type"] for entry in view.entries] == [
        "ledger", "open", "charge", "release", "close", "open", "charge"
    ]  # fmt: skip
    assert view.header.name == "people of Ål"
    assert [fit.closed for fit in view.fits] == [True, False]
    assert view.unfinished == view.fits[1:]
    assert view.unfinished[0].pending is not None
    assert not view.torn
    assert path.read_bytes() == written


def test_appending_continues_the_chain(path: Path, written: bytes, reserve: Any) -> None:
    head = read_ledger(path).head
    reserve(open_ledger(path))
    assert json.loads(lines_of(path.read_bytes())[7])["prev"] == head
    assert verify_ledger(path, head).head != head


def change_line(number: int, change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [*lines[:number], change(lines[number]), *lines[number + 1 :]]


def swapped(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


DAMAGE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "a number edited": (change_line(1, lambda x: x.replace(b'"seed":7', b'"seed":8')), "line 2"),
    "the last line edited": (change_line(6, lambda x: x.replace(b'"tables":3', b'"tables":1')), "line 7"),
    "a space added": (change_line(2, lambda x: x.replace(b'"step":0', b'"step": 0')), "line 3"),
    "a key doubled": (change_line(2, lambda x: x.replace(b'"step":0', b'"step":0,"step":0')), "line 3"),
    "a line removed": (lambda lines: [*lines[:3], *lines[4:]], "line 4"),
    "the header removed": (lambda lines: lines[1:], "line 1"),
    "lines swapped": (swapped, "line 2"),
    "a line doubled": (lambda lines: [*lines[:3], lines[2], *lines[3:]], "line 4"),
    "an empty line": (lambda lines: [*lines[:3], b"\n", *lines[3:]], "line 4"),
    "a trailing empty line": (lambda lines: [*lines, b"\n"], "line 8"),
    "trailing words": (lambda lines: [*lines, b"hello"], "line 8"),
    "trailing words and newline": (lambda lines: [*lines, b"hello\n"], "line 8"),
    "not JSON": (change_line(3, lambda _: b"{oops}\n"), "line 4"),
    "a list": (change_line(3, lambda _: b"[1,2]\n"), "line 4"),
    "not UTF-8": (change_line(3, lambda x: x[:20] + b"\xff\xfe" + x[20:]), "line 4"),
    "NUL bytes": (change_line(3, lambda x: x[:20] + b"\0\0" + x[20:]), "line 4"),
    "Windows line ends": (lambda lines: [line.replace(b"\n", b"\r\n") for line in lines], "line 1"),
    "a BOM": (lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]], "line 1"),
    "UTF-16": (lambda lines: [b"".join(lines).decode().encode("utf-16")], "line 1"),
    "binary": (lambda lines: [bytes(range(256)) * 50], "line 1"),
    "deep nesting": (lambda lines: [b'{"a":' * 100_000 + b"\n"], "line 1"),
    "a table of people": (lambda lines: [b"name,age\nCanary Jones,44\n"], "line 1"),
    "NaN": (change_line(3, lambda x: x.replace(b'"step":0', b'"step":NaN')), "line 4"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_found_and_the_line_is_named(path: Path, written: bytes, kind: str) -> None:
    damage, where = DAMAGE[kind]
    data = b"".join(damage(lines_of(written)))
    path.write_bytes(data)
    for use in (read_ledger, verify_ledger, open_ledger):
        with pytest.raises(LedgerError, match="damaged") as caught:
            use(path)
        assert where in str(caught.value)
        assert "Canary" not in str(caught.value)
    assert path.read_bytes() == data


@pytest.mark.parametrize("data", [b"", b"{", b'{"cap":null', b"\0\0\0\0"])
def test_a_file_without_a_whole_header_is_no_ledger(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    for use in (read_ledger, open_ledger):
        with pytest.raises(LedgerError, match="create it again"):
            use(path)


def rechained(entries: list[dict[str, Any]]) -> bytes:
    data, head = b"", GENESIS
    for entry in entries:
        line, head = seal_entry(entry, head)
        data += line
    return data


Forge = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
FORGED: dict[str, Forge] = {
    "no header": lambda e: e[1:],
    "two headers": lambda e: [e[0], *e],
    "another version": lambda e: [{**e[0], "version": 99}, *e[1:]],
    "unknown kind": lambda e: [*e, {"type": "refund", "fit": e[1]["fit"]}],
    "no kind": lambda e: [*e, {"fit": 1}],
    "opened twice": lambda e: [*e[:2], e[1], *e[2:]],
    "charge without fit": lambda e: [e[0], *e[2:]],
    "charge after close": lambda e: [*e[:5], e[2]],
    "release without charge": lambda e: [*e[:2], e[3]],
    "step out of order": lambda e: [*e[:2], {**e[2], "step": 1}],
    "fields missing": lambda e: [e[0], {k: v for k, v in e[1].items() if k != "unit"}],
    "fields of the wrong kind": lambda e: [e[0], {**e[1], "unit": 3}],
    "a negative allowance": lambda e: [e[0], {**e[1], "allowance": {"measure": "rho", "amount": -1}}],
    "another relation": lambda e: [e[0], {**e[1], "unit": {"neighbours": "replace", "rows_per_person": 1}}],
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_chain_of_entries_that_make_no_sense_is_refused(path: Path, written: bytes, kind: str) -> None:
    entries = [dict(entry) for entry in read_ledger(path).entries]
    path.write_bytes(rechained(entries))
    assert path.read_bytes() == written
    path.write_bytes(rechained(FORGED[kind](entries)))
    with pytest.raises(LedgerError, match="line"):
        read_ledger(path)


def test_lines_cut_off_are_noticed_with_the_head_at_hand(path: Path, written: bytes) -> None:
    head = verify_ledger(path).head
    assert verify_ledger(path, head).head == head
    path.write_bytes(b"".join(lines_of(written)[:-1]))
    verify_ledger(path)
    with pytest.raises(LedgerError, match="cut short"):
        verify_ledger(path, head)


def test_a_write_cut_short_at_any_byte_is_repaired_by_the_next(path: Path, written: bytes, reserve: Any) -> None:
    lines = lines_of(written)
    before = b"".join(lines[:5])
    for cut in range(len(lines[5]) + 1):
        path.write_bytes(before + lines[5][:cut])
        view = read_ledger(path)
        whole = cut >= len(lines[5]) - 1
        assert len(view.entries) == (6 if whole else 5)
        assert view.torn == (0 < cut < len(lines[5]) - 1)
        assert path.read_bytes() == before + lines[5][:cut]
        if cut % 37 == 0 or cut > len(lines[5]) - 3 or cut < 3:
            ledger = open_ledger(path)
            reserve(ledger).leave()
            after = read_ledger(path)
            assert [e["type"] for e in after.entries[5:]] == (["open", "open"] if whole else ["open"])
            assert path.read_bytes().startswith(before + (lines[5] if whole else b""))


def test_zeros_after_a_power_cut_are_a_torn_write(path: Path, written: bytes, reserve: Any) -> None:
    for tail in (b"\0" * 4096, b'{"events":[' + b"\0" * 100):
        path.write_bytes(written + tail)
        assert read_ledger(path).torn
        reserve(open_ledger(path)).leave()
        view = read_ledger(path)
        assert not view.torn and len(view.entries) == 8


def test_a_newline_that_comes_late_is_taken_in(path: Path, written: bytes, reserve: Any) -> None:
    path.write_bytes(written[:-1])
    ledger = open_ledger(path)
    assert len(ledger.fits) == 2
    with path.open("ab") as file:
        file.write(b"\n")
    reserve(ledger).leave()
    assert len(read_ledger(path).fits) == 3
    path.write_bytes(written[:-1])
    ledger = open_ledger(path)
    with path.open("ab") as file:
        file.write(b"x\n")
    with pytest.raises(LedgerError, match="damaged"):
        _ = ledger.fits
