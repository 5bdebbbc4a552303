"""No package has more faults of language than it may, and each rule catches a planted fault."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import sklar
from tests.architecture import words

SOURCE = Path(sklar.__file__).parents[1]


@cache
def faults_of_source() -> dict[str, tuple[list[str], ...]]:
    return words.find_faults(SOURCE)


@pytest.mark.parametrize("package", sorted(words.list_modules(SOURCE)))
def test_a_package_has_no_more_faults_than_allowed(package: str) -> None:
    found, allowed = faults_of_source()[package], words.ALLOWED.get(package, (0, 0, 0))
    for rule, faults, limit in zip(words.RULES, found, allowed, strict=True):
        advice = f"`python -m tests.architecture.words {package}` lists them; ALLOWED in that module has the limits"
        assert len(faults) <= limit, f"{rule.__name__}: {len(faults)} faults in {package}, {limit} allowed; {advice}"


def test_every_allowed_package_exists() -> None:
    assert set(words.ALLOWED) <= set(words.list_modules(SOURCE))


FAULTS: dict[str, tuple[words.Rule, str]] = {
    "a function name": (words.find_words, "def _told_by_sums(): ...\n"),
    "a class name": (words.find_words, "class PairLaw: ...\n"),
    "a constant": (words.find_words, "WORTHLESS = 1\n"),
    "a docstring": (words.find_words, '"""What the table tells."""\n'),
    "a comment": (words.find_words, "x = 1  # nobody reads it\n"),
    "a message": (words.find_words, 'raise ValueError(f"{1} is worth little")\n'),
    "a phrase over two lines": (words.find_words, '"""Rows, as\n    many as there are."""\n'),
    "the same": (words.find_fragments, 'def f():\n    """The same, for pairs."""\n'),
    "of": (words.find_fragments, 'FEW = 3\n"""Of the groups."""\n'),
    "so many": (words.find_fragments, 'FEW = 3\n"""So many groups are enough."""\n'),
    "as many": (words.find_fragments, 'class A:\n    """As many as there are."""\n'),
    "a one-word name": (words.find_one_word_names, "def levels(): ...\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(tmp_path: Path, fault: str) -> None:
    rule, text = FAULTS[fault]
    module = tmp_path / "module.py"
    module.write_text(text)
    assert len(list(rule(module))) == 1


PLAIN = '''"""Estimate the tail index of a flaw in awareness; the unit of persons stays the same."""

LAWN = 1  # a storyteller


def fit() -> None:
    """Offer what Often begins with "Of"."""


def _levels() -> None: ...


class Tables:
    def levels(self) -> None: ...
'''


@pytest.mark.parametrize("rule", words.RULES)
def test_plain_language_has_no_faults(tmp_path: Path, rule: words.Rule) -> None:
    module = tmp_path / "module.py"
    module.write_text(PLAIN)
    assert list(rule(module)) == []


def test_each_word_has_advice(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("tell\nIn so far\nWhosoever\n")
    assert [fault.split("write ")[1] for fault in words.find_words(module)] == [
        words.WORDS[pattern] for pattern in words.WORDS if pattern.startswith(("tell", "(as|so) far", "whosoever"))
    ]
