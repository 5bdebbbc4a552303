"""In a terminal `synth` explains epsilon and asks for it; what it found and what that cost is shown."""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

PATIENCE = 300
"""Seconds for one command on a busy machine."""


def answer_in_terminal(words: list[str], folder: Path, question: str, answer: str) -> tuple[str, int]:
    """Run a command in a terminal of its own and answer its question; return what it printed, and its exit code."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm", COLUMNS="100")
        os.execv(sys.executable, [sys.executable, "-m", "sklar", *words])
    printed, answered, end = b"", False, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            try:
                more = os.read(terminal, 4096)
            except OSError:  # Linux: the other end was closed
                break
            printed += more
        if not answered and question in printed.decode(errors="replace"):
            os.write(terminal, f"{answer}\n".encode())
            answered = True
    os.close(terminal)
    return printed.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def export(folder: Path) -> None:
    """Six thousand rows as a German program writes them: semicolons, decimal commas, Windows-1252."""
    rng = np.random.default_rng(1)
    size, age, town = rng.normal(170, 9, 6_000), rng.integers(18, 91, 6_000), rng.choice(["Köln", "Ulm"], 6_000)
    rows = [f"{a:.1f};{b};{c}".replace(".", ",") for a, b, c in zip(size, age, town, strict=True)]
    (folder / "people.csv").write_text("\n".join(["Größe;Alter;Stadt", *rows, ""]), encoding="cp1252")


def test_epsilon_is_explained_asked_for_and_spent(tmp_path: Path) -> None:
    export(tmp_path)
    printed, code = answer_in_terminal(["synth", "people.csv", "-o", "out.csv"], tmp_path, "Epsilon", "3")
    assert code == 0, printed
    assert "of epsilon 3 (about" in printed and "Stadt  category: 2 labels (Köln, Ulm)" in printed
    assert (tmp_path / "out.csv").read_text().startswith("Größe,Alter,Stadt\n")


def test_no_answer_spends_nothing(tmp_path: Path) -> None:
    export(tmp_path)
    printed, code = answer_in_terminal(["synth", "people.csv", "-o", "out.csv"], tmp_path, "Epsilon", "\x03")
    assert code != 0, printed
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv"}
