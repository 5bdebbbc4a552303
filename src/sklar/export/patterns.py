"""Random texts of a given pattern, as keys and e-mail addresses; nothing comes from rows.

A pattern is a subset of regular expressions: literal letters, classes ([A-Z0-9], \\d, \\w), groups with alternatives
((GP|ER)), and counts ({6}, {2,8}, ?) after any of them. Unbounded repetition (*, +) is refused.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sklar.errors import UsageError

Texts = npt.NDArray[Any]
DIGITS, WORD = string.digits, string.ascii_letters + string.digits + "_"
CLASSES = {"d": DIGITS, "w": WORD}
MAX_REPEATS = 200
"""Maximum count in a pattern: longer texts are not useful as keys, and would fill the memory."""
DISTINCT_ROUNDS = 50
"""Rounds of redrawing duplicate texts where distinct ones are needed."""


class TextForm(Protocol):
    """A piece of a pattern."""

    def draw(self, rng: np.random.Generator, rows: int) -> Texts:
        """Draw a text for each row."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChoice:
    """One of several pieces, all equally likely."""

    options: tuple[TextForm, ...]

    def draw(self, rng: np.random.Generator, rows: int) -> Texts:
        pick, out = rng.integers(len(self.options), size=rows), np.full(rows, "", dtype=object)
        for at, option in enumerate(self.options):
            here = np.flatnonzero(pick == at)
            out[here] = option.draw(rng, len(here))
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One of several letters."""

    letters: str

    def draw(self, rng: np.random.Generator, rows: int) -> Texts:
        return np.array(list(self.letters), dtype=object)[rng.integers(len(self.letters), size=rows)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """Pieces one after the other."""

    parts: tuple[TextForm, ...]

    def draw(self, rng: np.random.Generator, rows: int) -> Texts:
        out = np.full(rows, "", dtype=object)
        for part in self.parts:
            out = out + part.draw(rng, rows)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A repeated piece; all numbers of repetitions are equally likely."""

    part: TextForm
    least: int
    most: int

    def draw(self, rng: np.random.Generator, rows: int) -> Texts:
        times, out = rng.integers(self.least, self.most, size=rows, endpoint=True), np.full(rows, "", dtype=object)
        for turn in range(self.most):
            here = np.flatnonzero(times > turn)
            out[here] = out[here] + self.part.draw(rng, len(here))
        return out


def draw_texts(pattern: str, rows: int, rng: np.random.Generator, *, distinct: bool = False) -> list[str]:
    """Draw texts of a pattern, all different if `distinct`."""
    part = read_pattern(pattern)
    texts = part.draw(rng, rows)
    for _ in range(DISTINCT_ROUNDS if distinct else 0):
        first = np.unique(texts.astype(str), return_index=True)[1]
        again = np.setdiff1d(np.arange(rows), first)
        if not len(again):
            break
        texts[again] = part.draw(rng, len(again))
    if distinct and len(set(texts)) < rows:
        raise UsageError(
            f"fill: the pattern '{pattern}' has too few different texts for {rows:,} keys; make it longer."
        )
    return texts.tolist()


def read_pattern(pattern: str) -> TextForm:
    """Parse a pattern."""
    reader = _Reader(pattern)
    part = reader.choice()
    if not reader.done:
        raise reader.refusal("it has an unmatched closing bracket")
    return part


class _Reader:
    """Recursive-descent parser of a pattern."""

    def __init__(self, pattern: str):
        self._text, self._at = pattern, 0

    @property
    def done(self) -> bool:
        return self._at >= len(self._text)

    def refusal(self, why: str) -> UsageError:
        return UsageError(
            f"fill: the pattern '{self._text}' cannot be used: {why}. Use letters, classes as [A-Z0-9] or \\d, "
            "groups as (GP|ER), and counts as {6}, {2,8} or ?"
        )

    def choice(self) -> TextForm:
        options = [self._parse_sequence()]
        while not self.done and self._text[self._at] == "|":
            self._at += 1
            options.append(self._parse_sequence())
        return options[0] if len(options) == 1 else TextChoice(options=tuple(options))

    def _parse_sequence(self) -> TextForm:
        parts: list[TextForm] = []
        while not self.done and self._text[self._at] not in "|)":
            parts.append(self._parse_repetition(self._parse_piece()))
        return Sequence(parts=tuple(parts))

    def _parse_piece(self) -> TextForm:
        letter = self._take_letter()
        if letter == "(":
            inside = self.choice()
            if self.done:
                raise self.refusal("a bracket is not closed")
            self._at += 1
            return inside
        if letter == "[":
            return self._parse_class()
        if letter == "\\":
            return Letter(letters=self._parse_escape())
        if letter in "*+?{.^$":
            raise self.refusal(f"'{letter}' must be escaped by a backslash")
        return Letter(letters=letter)

    def _parse_repetition(self, part: TextForm) -> TextForm:
        found = re.compile(r"\?|\{(\d{1,4})(?:,(\d{1,4}))?\}").match(self._text, self._at)
        if found is None:
            return part
        self._at = found.end()
        least = 0 if found[0] == "?" else int(found[1])
        most = 1 if found[0] == "?" else int(found[2] or found[1])
        if not least <= most <= MAX_REPEATS:
            raise self.refusal(f"a count must be increasing, and at most {MAX_REPEATS}")
        return Repeat(part=part, least=least, most=most)

    def _parse_class(self) -> TextForm:
        letters = ""
        while not self.done and self._text[self._at] != "]":
            letter = self._take_letter()
            one = self._parse_escape() if letter == "\\" else letter
            if (
                len(one) == 1
                and self._text[self._at : self._at + 1] == "-"
                and self._text[self._at + 1 :][:1] not in "]"
            ):
                self._at += 1
                last = self._take_letter()
                one = "".join(chr(code) for code in range(ord(one), ord(last) + 1))
            letters += one
        if self.done or not letters or letters[0] == "^":
            raise self.refusal("a class must have letters between [ and ]")
        self._at += 1
        return Letter(letters="".join(dict.fromkeys(letters)))

    def _parse_escape(self) -> str:
        letter = self._take_letter()
        if letter.isalnum() and letter not in CLASSES:
            raise self.refusal(f"\\{letter} is not supported")
        return CLASSES.get(letter, letter)

    def _take_letter(self) -> str:
        if self.done:
            raise self.refusal("it ends too early")
        self._at += 1
        return self._text[self._at - 1]
