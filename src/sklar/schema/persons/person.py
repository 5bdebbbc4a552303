"""Persons: the column that identifies them, the number of rows of each that are used, and their weights."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from sklar.schema.columns import Column, is_unicode
from sklar.schema.rules import AtMost, Expression, Never, Ratio, Rule

PAY_ROWS = "pay"
"""Stands for a bound on rows that is to be measured first."""
PERSON_KEY, PERSON_ROWS, PERSON_STATIC = "person.key", "person.rows", "person.static"
"""Names of the key, the bound and the static columns among facts."""
MAX_ROWS_USED = 1000
"""Maximum rows of a person that may be used: a vote is divided in steps of 2^-20, so 1,000 rows still get equal parts
to within a thousandth; and tables with the number of rows as a column stay small."""
WEIGHTS = ("votes", "rows")
SOURCES = ("assumed", "public", "measured", "from-rows")
STEP_RULES = (AtMost, Ratio, Never, Expression)
"""Kinds of rules across rows."""
MAX_NULL_TEXT = 120
"""Longest list of null texts that is part of the name of a unit in full; longer ones are hashed."""
NOT_IN_FILES = "/\\\0"
"""Characters that lead out of a folder, or that end a name."""
ORDERED_KINDS = ("integer", "real", "datetime", "ordinal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parents:
    """A separate table for the static columns of persons.

    Attributes:
        table: Name of the table of parents.
        key: Its key.
        rows: Name of the table of their rows.
    """

    table: str
    key: str
    rows: str

    def faults(self) -> list[str]:
        """List all faults of the names: files of an output folder are called as the tables are."""
        said = [f"{what} must be a name" for what in ("table", "key", "rows") if not _is_name(getattr(self, what))]
        if not said and any(name in (".", "..") or set(name) & set(NOT_IN_FILES) for name in (self.table, self.rows)):
            said.append("a table needs a name that a file can have: without / and \\, and not . or ..")
        if not said and self.table == self.rows:
            said.append("table and rows are two tables: give them two names")
        return [f"parents: {one}" for one in said]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """All rows with one key are one person; rows without a key are left out.

    Attributes:
        key: The column that identifies persons. It is read to group rows, is never modelled and never leaves.
        rows: The most rows of a person that are used, from 1 to 1,000; "pay" has the bound measured first.
        order: A column of numbers, times or ordered values: of a person with more rows the first ones in this order are
            used. Ties, and all rows without an order, are ordered by a keyed hash of the row.
        weights: "votes": the rows of a person share one vote, so that noise is that of one row per person. "rows":
            each row has weight 1, and noise grows with `rows`.
        static: Columns that never change within a person, where rows are linked.
        steps: Rules across rows, where rows are linked: "previous income" is the income of the row before. A `Never` of
            values of the row before alone says what no row comes after, as {"previous vital": "died"}.
        linked: Whether rows are modelled as longitudinal data, so that samples come as persons; by default if there is
            an order, rows share a vote and a person has at most 64 of them.
        parents: The names of two tables, where what never changes stands in one of its own; `Tables` sets it.
        source: "assumed", "public", "measured" where the bound was paid for, or "from-rows" for what a draft proposes
            and no one has confirmed.
    """

    key: str
    rows: int | str
    order: str | None = None
    weights: str = "votes"
    static: Sequence[str] = ()
    steps: Sequence[Rule] = ()
    linked: bool | None = None
    parents: Parents | None = None
    source: str = "assumed"

    def __post_init__(self) -> None:
        for name in ("static", "steps"):
            given: object = getattr(self, name)
            object.__setattr__(self, name, tuple(given) if isinstance(given, list | tuple) else given)  # pyright: ignore[reportUnknownArgumentType]

    @property
    def shares_vote(self) -> bool:
        """Whether the rows share one vote; the one row of a person has it whole, unless a parent has a row as well."""
        return self.weights == "votes" and (self.rows != 1 or self.parents is not None)

    @property
    def name(self) -> str:
        """The name of the key of persons."""
        return self.key if self.parents is None else f"{self.parents.table}.{self.parents.key}"

    def name_without(self, null_values: Sequence[str]) -> str:
        """Return the name with the texts that stand for no key: losses for units of different names do not add up."""
        nulls = ", ".join(map(ascii, sorted(set(null_values))))
        if len(nulls) > MAX_NULL_TEXT:
            nulls = f"texts of SHA-256 {hashlib.sha256(nulls.encode()).hexdigest()[:16]}"
        return f"{self.name} without {nulls}" if nulls else self.name

    @property
    def bound(self) -> int:
        """The most rows of a person that are used, once it is known."""
        assert isinstance(self.rows, int)
        return self.rows

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given the columns of its table."""
        faults = [] if _is_name(self.key) else ["key must be the name of a column"]
        if not faults and self.key in columns and columns[self.key].modelled:
            faults.append(f"the key '{self.key}' is a modelled column; make it kind 'id': a key is never modelled")
        whole = type(self.rows) is int and 1 <= self.rows <= MAX_ROWS_USED
        if not whole and self.rows != PAY_ROWS:
            faults.append(f'rows must be a whole number from 1 to {MAX_ROWS_USED:,}, or "pay"')
        if self.rows == PAY_ROWS and self.weights == "rows":
            faults.append("rows can be paid for with weights = 'votes' only: else the noise of paying depends on them")
        if self.order is not None and not _is_ordered(columns, self.order):
            faults.append(f"order must be a modelled column of kind {', '.join(ORDERED_KINDS)}")
        if not isinstance(self.static, tuple) or not all(_is_name(name) for name in self.static):
            faults.append("static must be a list of names of columns")
        if not isinstance(self.steps, tuple) or not all(isinstance(rule, STEP_RULES) for rule in self.steps):
            faults.append("steps must be a list of rules at-most, ratio, never or expression")
        if self.parents is not None and not isinstance(self.parents, Parents):
            faults.append("parents must be Parents; make them with Tables")
        elif self.parents is not None:
            faults += self.parents.faults()
        if self.linked not in (None, True, False):
            faults.append("linked must be true or false")
        if self.weights not in WEIGHTS:
            faults.append(f"weights must be one of {', '.join(WEIGHTS)}")
        if self.source not in SOURCES:
            faults.append(f"source must be one of {', '.join(SOURCES)}")
        return faults

    def describe(self) -> str:
        """Describe the person in a few words."""
        rows = "a number of rows to be paid for" if self.rows == PAY_ROWS else f"at most {self.rows} rows"
        order = "" if self.order is None else f", the first by '{self.order}'"
        share = "which share one vote" if self.shares_vote else "each of which counts one"
        return f"one value of '{self.key}' is one person, of whom {rows} are used{order}, {share}"


def make_person_entry(person: Person) -> dict[str, Any]:
    """Return a person as a table of a schema file; defaults are left out."""
    entry: dict[str, Any] = {"key": person.key, "rows": person.rows}
    if person.order is not None:
        entry["order"] = person.order
    if person.weights != "votes":
        entry["weights"] = person.weights
    if person.static:
        entry["static"] = list(person.static)
    if person.parents is not None:
        entry["parents"] = asdict(person.parents)
    if person.linked is not None:
        entry["linked"] = person.linked
    if person.source != "assumed":
        entry["source"] = person.source
    return entry


def list_declared(person: Person) -> dict[str, Any]:
    """Return what is stated of a person before any measurement: all but the bound, which may be paid for."""
    return {name: said for name, said in make_person_entry(person).items() if name not in ("rows", "source")}


def parse_person(entry: object, faults: list[str]) -> Person | None:
    """Return a person from a table of a schema file; what is wrong with its form is added to the faults."""
    known = {
        "key": str,
        "rows": (int, str),
        "order": str,
        "weights": str,
        "static": list,
        "linked": bool,
        "parents": dict,
        "source": str,
    }
    if not isinstance(entry, Mapping) or not {"key", "rows"} <= set(entry) <= set(known):  # pyright: ignore[reportUnknownArgumentType]
        faults.append("person: it needs key and rows, and may have order, weights, static, linked, parents, source")
        return None
    wrong = [name for name, value in entry.items() if not isinstance(value, known[name])]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownMemberType]
    faults += [f"person: '{name}' has the wrong type" for name in wrong]
    parents = cast("dict[str, Any]", entry.get("parents", {})) if not wrong else {}  # pyright: ignore[reportUnknownMemberType]
    if parents and set(parents) != {"table", "key", "rows"}:
        faults.append("person: parents needs exactly table, key and rows")
        return None
    said = cast("dict[str, Any]", dict(entry))  # pyright: ignore[reportUnknownArgumentType]
    if parents:
        said["parents"] = Parents(**parents)
    return None if wrong else Person(**said)


def _is_name(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip()) and is_unicode(text)


def _is_ordered(columns: Mapping[str, Column], name: object) -> bool:
    return isinstance(name, str) and name in columns and columns[name].kind in ORDERED_KINDS
