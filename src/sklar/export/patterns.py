"""Made-up texts of a given form, as keys and e-mail addresses: drawn from a simple pattern, never from rows.

A pattern is a small part of regular expressions: letters as they stand, classes ([A-Z0-9], \\d, \\w), groups with
choices ((GP|ER)), and counts ({6}, {2,8}, ?) behind any of them. What has no end (*, +) is refused.
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
MOST_REPEATS = 200
"""Longer texts are no keys, and would fill the memory."""
ROUNDS = 50
"""Tries at other texts where distinct ones are wanted and two came out the same."""


class TextForm(Protocol):
    """A piece of a pattern."""

    def draw(self, rng: np.random.Generator, rows: int) -> Texts:
        """A text for each row."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChoice:
    """One of several pieces, each as likely as any other."""

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
    """A piece several times, each number of times as likely as any other."""

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
    """Texts of this form, all different if they are to be keys."""
    part = read_pattern(pattern)
    texts = part.draw(rng, rows)
    for _ in range(ROUNDS if distinct else 0):
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
    """The pieces of a pattern."""
    reader = _Reader(pattern)
    part = reader.choice()
    if not reader.done:
        raise reader.refusal("a bracket closes that was never opened")
    return part


class _Reader:
    """A place in the text of a pattern."""

    def __init__(self, pattern: str):
        self._text, self._at = pattern, 0

    @property
    def done(self) -> bool:
        return self._at >= len(self._text)

    def refusal(self, why: str) -> UsageError:
        return UsageError(
            f"fill: the pattern '{self._text}' cannot be used: {why}. It has letters, classes as [A-Z0-9] or \\d, "
            "groups as (GP|ER), and counts as {6}, {2,8} or ?"
        )

    def choice(self) -> TextForm:
        options = [self._sequence()]
        while not self.done and self._text[self._at] == "|":
            self._at += 1
            options.append(self._sequence())
        return options[0] if len(options) == 1 else TextChoice(options=tuple(options))

    def _sequence(self) -> TextForm:
        parts: list[TextForm] = []
        while not self.done and self._text[self._at] not in "|)":
            parts.append(self._counted(self._piece()))
        return Sequence(parts=tuple(parts))

    def _piece(self) -> TextForm:
        letter = self._next()
        if letter == "(":
            inside = self.choice()
            if self.done:
                raise self.refusal("a bracket is never closed")
            self._at += 1
            return inside
        if letter == "[":
            return self._class()
        if letter == "\\":
            return Letter(letters=self._escaped())
        if letter in "*+?{.^$":
            raise self.refusal(f"'{letter}' stands for itself only behind a backslash")
        return Letter(letters=letter)

    def _counted(self, part: TextForm) -> TextForm:
        found = re.compile(r"\?|\{(\d{1,4})(?:,(\d{1,4}))?\}").match(self._text, self._at)
        if found is None:
            return part
        self._at = found.end()
        least = 0 if found[0] == "?" else int(found[1])
        most = 1 if found[0] == "?" else int(found[2] or found[1])
        if not least <= most <= MOST_REPEATS:
            raise self.refusal(f"a count goes up, and to {MOST_REPEATS} at most")
        return Repeat(part=part, least=least, most=most)

    def _class(self) -> TextForm:
        letters = ""
        while not self.done and self._text[self._at] != "]":
            letter = self._next()
            one = self._escaped() if letter == "\\" else letter
            if (
                len(one) == 1
                and self._text[self._at : self._at + 1] == "-"
                and self._text[self._at + 1 :][:1] not in "]"
            ):
                self._at += 1
                last = self._next()
                one = "".join(chr(code) for code in range(ord(one), ord(last) + 1))
            letters += one
        if self.done or not letters or letters[0] == "^":
            raise self.refusal("a class lists letters between [ and ]")
        self._at += 1
        return Letter(letters="".join(dict.fromkeys(letters)))

    def _escaped(self) -> str:
        letter = self._next()
        if letter.isalnum() and letter not in CLASSES:
            raise self.refusal(f"\\{letter} is not known")
        return CLASSES.get(letter, letter)

    def _next(self) -> str:
        if self.done:
            raise self.refusal("it ends too early")
        self._at += 1
        return self._text[self._at - 1]
