"""Bad input ends in one or two plain sentences and exit code 1: no traceback, no cell, nothing half-written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sklar.cli.main import app

FIT = ["fit", "people.csv", "-s", "people.toml", "-m", "independent", "-o", "m.sklar"]
BAD = {
    "no epsilon": [*FIT],
    "epsilon 0": [*FIT, "-e", "0"],
    "epsilon below 0": [*FIT, "-e", "-1"],
    "epsilon not a number": [*FIT, "-e", "nan"],
    "epsilon infinite": [*FIT, "-e", "inf"],
    "epsilon tiny": [*FIT, "-e", "1e-300"],
    "epsilon and rho": [*FIT, "-e", "1", "--rho", "0.1"],
    "delta 1": [*FIT, "-e", "1", "--delta", "1"],
    "delta below 0": [*FIT, "-e", "1", "--delta", "-0.1"],
    "unknown method": [*FIT, "-e", "1", "-m", "nope"],
    "unknown option": [*FIT, "-e", "1", "-O", "nope=1"],
    "bad option": [*FIT, "-e", "1", "-O", "repair=nope"],
    "unknown relation": [*FIT, "-e", "1", "--neighbours", "nope"],
    "no rows per person": [*FIT, "-e", "1", "--rows-per-person", "0"],
    "no such data": ["fit", "nope.csv", *FIT[2:], "-e", "1"],
    "no such schema": ["fit", "people.csv", "-s", "nope.toml", "-e", "1", "-o", "m.sklar"],
    "schema is no schema": ["fit", "people.csv", "-s", "people.csv", "-e", "1", "-o", "m.sklar"],
    "data is no data": ["fit", "people.sklar", *FIT[2:], "-e", "1"],
    "model into a folder": [*FIT[:-1], ".", "-e", "1"],
    "model into nowhere": [*FIT[:-1], "no/m.sklar", "-e", "1"],
    "model under a file": [*FIT[:-1], "people.csv/m.sklar", "-e", "1"],
    "overspending": [*FIT, "-e", "9", "--ledger", "people.ledger"],
    "ledger is no ledger": [*FIT, "-e", "1", "--ledger", "people.toml"],
    "unknown format": ["synth", *FIT[1:-1], "out.ods", "-e", "1"],
    "synth 0 rows": ["synth", *FIT[1:-1], "out.csv", "-e", "1", "--rows", "0"],
    "synth bad seed": ["synth", *FIT[1:-1], "out.csv", "-e", "1", "--seed", "-3"],
    "synth full disk": ["sample", "people.sklar", "-o", "/dev/full"],
    "rows below 0": ["sample", "people.sklar", "-o", "out.csv", "-n", "-1"],
    "rows 0": ["sample", "people.sklar", "-o", "out.csv", "-n", "0"],
    "rows without end": ["sample", "people.sklar", "-o", "out.csv", "-n", str(10**15)],
    "unknown column": ["sample", "people.sklar", "-o", "out.csv", "--given", "nope=1"],
    "unknown value": ["sample", "people.sklar", "-o", "out.csv", "--given", "sex=X"],
    "model is no model": ["sample", "people.csv", "-o", "out.csv"],
    "no such model": ["inspect", "nope.sklar"],
    "no such ledger": ["ledger", "show", "nope.ledger"],
    "plan without budget": ["plan", "people.toml"],
    "plan 0 rows": ["plan", "people.toml", "-e", "1", "--rows", "0"],
}


@pytest.fixture(scope="module")
def place(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("bad") / "work"))


@pytest.mark.parametrize("words", BAD.values(), ids=BAD.keys())
def test_refused_in_plain_sentences(place: Path, words: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(place)
    monkeypatch.delenv("SKLAR_DEBUG", raising=False)
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 1
    assert ended.stdout == "" and ended.stderr.startswith("Error: ") and ended.stderr.count("\n") == 1
    assert "unexpected" not in ended.stderr and len(ended.stderr) < 400
    after = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    made_anew = {name for name in after if after[name] != before.get(name)}
    assert all(name.endswith(".ledger") for name in made_anew)  # an empty ledger may be there; nothing else is
    for name in made_anew:
        assert (place / name).read_text().count("\n") == 1
        (place / name).unlink()


@pytest.mark.parametrize("at", [0, 1, -1, "directory", "cut"])
def test_a_damaged_model_is_refused(work: Path, at: int | str):
    """A byte in the middle of a member, or near the end of the directory, or the end missing."""
    model = bytearray((work / "people.sklar").read_bytes())
    if at == "cut":
        del model[-500:]
    elif isinstance(at, str):
        model[-30] ^= 0x55
    else:
        model[middle_of_member(work / "people.sklar", at)] ^= 0x55
    (work / "people.sklar").write_bytes(model)
    ended = CliRunner().invoke(app, ["sample", str(work / "people.sklar"), "-n", "5", "-o", str(work / "out.csv")])
    assert ended.exit_code == 1 and ended.stderr.startswith("Error: ") and not (work / "out.csv").exists()
    assert "unexpected" not in ended.stderr


def middle_of_member(path: Path, member: int) -> int:
    """Where in a model file the bytes of a member are."""
    with zipfile.ZipFile(path) as archive:
        found = archive.infolist()[member]
    head = path.read_bytes()[found.header_offset :]
    name, extra = (int.from_bytes(head[at : at + 2], "little") for at in (26, 28))
    return found.header_offset + 30 + name + extra + found.compress_size // 2


@pytest.mark.slow
def test_full_standard_output_is_told(made: Path, sklar_command, environment):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        for words in (["sample", made / "people.sklar", "-n", 9, "-o", "-"], ["methods"]):
            done = subprocess.run(
                [*sklar_command, *map(str, words)], stdout=full, stderr=subprocess.PIPE, env=environment, timeout=600
            )
            assert done.returncode == 1
            assert done.stderr.decode() == "Error: cannot write to standard output: no space left on device.\n"


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error_message(made: Path, sklar_command, environment):
    words = [*sklar_command, "sample", str(made / "people.sklar"), "-n", "100000", "-o", "-"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(600) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_nothing_half_written(work: Path, sklar_command, environment, number: int, code: int):
    (work / "out.csv").write_text("before")
    words = [*sklar_command, "sample", "people.sklar", "-n", "50000000", "-o", "out.csv", "--force"]
    with subprocess.Popen(words, cwd=work, stderr=subprocess.PIPE, env=environment) as process:
        wait_for(lambda: any(p.suffix == ".tmp" and p.stat().st_size > 1e6 for p in work.iterdir()), process)
        process.send_signal(number)
        told = process.communicate(timeout=600)[1].decode()
    assert process.returncode == code and "Traceback" not in told
    assert not [name for name in os.listdir(work) if name.endswith(".tmp")]
    assert (work / "out.csv").read_text() == "before"


def wait_for(condition, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 600
    while not condition():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
