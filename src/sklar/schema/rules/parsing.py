"""Parses the text of a row expression to a tree by recursive descent; no text is ever executed.

or: and {"or" and};  and: not {"and" not};  not: "not" not | comparison
comparison: sum ["is" ["not"] "null" | ("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
sum: product {("+" | "-") product};  product: factor {("*" | "/") factor};  factor: "-" factor | primary
primary: number | 'text' | "text" | true | false | name | `odd name` | "(" or ")"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MAX_CHARACTERS, MAX_DEPTH = 4_000, 60
"""Most characters and nested parts of an expression: more than a person would write."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<text>'[^']*'|\"[^\"]*\")|`(?P<odd>[^`]+)`"
    r"|(?P<name>[^\W\d]\w*)|(?P<sign><=|>=|==|!=|[<>=()+\-*/]))"
)
_WORDS = ("and", "or", "not", "is", "null", "true", "false")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class ExpressionError(ValueError):
    """The text of an expression is not valid."""


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """The value of a column."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text (or a date), true or false."""

    value: float | str | bool


@dataclass(frozen=True, slots=True)
class Operation:
    """`sign` of one or two parts: arithmetic, a comparison, and, or, not, or "is null"."""

    sign: str
    parts: tuple[Node, ...]


Node = ColumnValue | Constant | Operation


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Node:
    """Return the tree of an expression; ExpressionError says what is wrong and where."""
    if not text.strip():
        raise ExpressionError("it is empty")
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"it is longer than {MAX_CHARACTERS:,} characters")
    return _Parser(text).whole()


def names_in(node: Node) -> Iterator[str]:
    """Yield the columns of the expression in order of appearance, some perhaps twice."""
    if isinstance(node, ColumnValue):
        yield node.name
    elif isinstance(node, Operation):
        for part in node.parts:
            yield from names_in(part)


def constants_in(node: Node) -> Iterator[float | str | bool]:
    """Yield the numbers, texts and truth values of the expression."""
    if isinstance(node, Constant):
        yield node.value
    elif isinstance(node, Operation):
        for part in node.parts:
            yield from constants_in(part)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (kind, text, place) of each token; keywords are signs."""
    at = 0
    while at < len(text) and text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise ExpressionError(f"it cannot be read at '{text[at:].strip()[:20]}'")
        kind = str(found.lastgroup)
        word = found.group(kind)
        if kind == "name" and word.lower() in _WORDS:
            kind, word = "sign", word.lower()
        yield kind, word, found.start(kind)
        at = found.end()


class _Parser:
    """Where the reading of one text stands."""

    def __init__(self, text: str):
        self._tokens = list(_tokens(text))
        self._at = self._depth = 0

    def whole(self) -> Node:
        node = self._parse_or()
        if self._at < len(self._tokens):
            raise ExpressionError(f"'{self._tokens[self._at][1]}' is not expected there")
        return node

    def _take(self, *signs: str) -> str | None:
        """Return the next token if it is one of these signs."""
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "sign" and self._tokens[self._at][1] in signs:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def _parse_chain(self, below: str, *signs: str) -> Node:
        """Parse parts joined by signs of the same rank, from left to right."""
        node = getattr(self, below)()
        while (sign := self._take(*signs)) is not None:
            node = Operation(sign, (node, getattr(self, below)()))
        return node

    def _parse_or(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"it is nested more than {MAX_DEPTH} deep")
        node = self._parse_chain("_parse_and", "or")
        self._depth -= 1
        return node

    def _parse_and(self) -> Node:
        return self._parse_chain("_parse_not", "and")

    def _parse_not(self) -> Node:
        count = 0
        while self._take("not") is not None:
            count += 1
        node = self._parse_comparison()
        return Operation("not", (node,)) if count % 2 else node

    def _parse_comparison(self) -> Node:
        left = self._parse_sum()
        if self._take("is") is not None:
            other = self._take("not") is not None
            if self._take("null") is None:
                raise ExpressionError("'is' goes with null: write 'x is null' or 'x is not null'")
            node = Operation("is null", (left,))
            return Operation("not", (node,)) if other else node
        sign = self._take(*COMPARISONS, "=")
        if sign is None:
            return left
        return Operation("==" if sign == "=" else sign, (left, self._parse_sum()))

    def _parse_sum(self) -> Node:
        return self._parse_chain("_parse_product", "+", "-")

    def _parse_product(self) -> Node:
        return self._parse_chain("_parse_factor", "*", "/")

    def _parse_factor(self) -> Node:
        count = 0
        while self._take("-") is not None:
            count += 1
        node = self._parse_primary()
        return Operation("-", (node,)) if count % 2 else node

    def _parse_primary(self) -> Node:
        if self._take("(") is not None:
            node = self._parse_or()
            if self._take(")") is None:
                raise ExpressionError("a bracket is not closed")
            return node
        if (truth := self._take("true", "false")) is not None:
            return Constant(truth == "true")
        if self._at >= len(self._tokens):
            raise ExpressionError("it ends too early")
        kind, word, _ = self._tokens[self._at]
        if kind == "sign":
            raise ExpressionError(f"'{word}' is not expected there")
        self._at += 1
        if kind == "number":
            return Constant(float(word))
        return Constant(word[1:-1]) if kind == "text" else ColumnValue(word)
