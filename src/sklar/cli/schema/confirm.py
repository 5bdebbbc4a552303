"""sklar schema confirm."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import Json
from sklar.errors import SklarError, UsageError

if TYPE_CHECKING:
    from sklar.schema.confirming import Question
    from sklar.schema.table import Schema

WAYS = {"y": "yes", "e": "edit", "p": "pay", "i": "ignore", "s": "skip", "q": "quit"}
HELP = (
    "y: known without these rows, and right   e: right is something else   p: only the kind is known, measure and pay "
    "for the rest   i: leave the column out   s: later   q: save and stop"
)


@guarded
def command(
    schema: Annotated[str, typer.Argument(metavar="TOML", help="A drafted schema; the answers go into it.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers; the claim of a fit names them.")] = "",
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE", help="Look at these private rows first: which columns cannot be read?"),
    ] = None,
    json: Json = False,
) -> None:
    """Confirm a drafted schema, column by column.

    Each column that a draft took from the rows is asked about: y (known without these rows, and right), edit (say what
    is right; also in one line: e lower=0 upper=120), pay (have bounds or values measured, paid from the privacy
    budget), ignore (leave it out), skip, quit. Answers can be piped in, a line each. Ctrl-C and the end of the input
    keep the answers so far.

    \b
    Example:
      sklar schema confirm people.toml --by "A. Custodian"
    """
    from sklar.schema.table import Schema

    facts = Schema.read(schema)
    if data is not None:
        _say_unread(data, facts)
    with _saved(Asking(path=schema, schema=facts, by=by, quiet=json)) as asking:
        asking.ask_all()
    _tell(asking, json)


def _say_unread(data: str, facts: Schema) -> None:
    """Name columns that cannot be read as drafted, with exact counts, for the custodian's eyes only."""
    from sklar.lab.tables.checks import audit_schema, unread_columns

    counts = audit_schema(data, facts)
    for sentence in (counts.notice, *unread_columns(counts, facts)):
        show.note(sentence)


@contextmanager
def _saved(asking: Asking) -> Generator[Asking]:
    """Write what was answered, however the asking ends: an answer is in the file as a whole or not at all."""
    try:
        yield asking
    finally:
        if asking.answers:
            asking.schema.write(asking.path)


@dataclass(slots=True, kw_only=True)
class Asking:
    """Questions that are being answered.

    Attributes:
        answers: The way each column was settled.
        quiet: Ask on standard error, since standard output is for JSON.
    """

    path: str
    schema: Schema
    by: str
    quiet: bool
    answers: dict[str, str]

    def __init__(self, *, path: str, schema: Schema, by: str, quiet: bool):
        self.path, self.schema, self.by, self.quiet, self.answers = path, schema, by, quiet, {}

    def ask_all(self) -> None:
        """Ask about every column, the person, and every rule and step that is not confirmed, until the end or a stop.

        Rules and steps come last, since an answer about a column or the person may drop them, and from the last one
        back: those that are left out do not change the numbers of others.
        """
        if self.schema.questions():
            self._say(HELP)
        number = 0
        try:
            for stage in ("columns", "person", "rules"):
                questions = [q for q in self.schema.questions() if self._stage(q) == stage]
                later = len([q for q in self.schema.questions() if self._stage(q) != stage]) if stage != "rules" else 0
                for question in questions[::-1] if stage == "rules" else questions:
                    number += 1
                    self._say(f"\n[{number}/{number + len(questions) - 1 + later}] {question}")
                    questions = questions[1:]
                    while not self._settled(question):
                        pass
        except EOFError:
            return

    def _stage(self, question: Question) -> str:
        """When a question is asked."""
        if question.column in self.schema:
            return "columns"
        return "person" if question.kind == "person" else "rules"

    def _settled(self, question: Question) -> bool:
        """Ask once; whether there was an answer that could be used."""
        ways = "/".join(way for way in WAYS.values() if way != "pay" or question.payable)
        word, _, rest = self._hear(f"  {ways}? ").strip().partition(" ")
        way = WAYS.get(word.lower()[:1]) if word else None
        if way is None or not way.startswith(word.lower()):
            self._say(f"  {HELP}")
            return False
        if way == "quit":
            raise EOFError
        if way == "skip":
            return True
        try:
            self.schema = self._answered(question, way, rest)
        except SklarError as error:
            self._say(f"  Not taken: {error}")
            return False
        self.answers[question.column] = way
        return True

    def _answered(self, question: Question, way: str, rest: str) -> Schema:
        from sklar.schema.answering import answered

        said: dict[str, str] = {}
        if way == "edit" and (question.column in self.schema or question.kind == "person"):
            said = self._one_line(rest) if rest else self._field_by_field(question.column)
        return answered(self.schema, question.column, way, said, self.by)

    def _one_line(self, text: str) -> dict[str, str]:
        try:
            return dict(part.split("=", 1) for part in shlex.split(text.replace(" = ", "=")))
        except ValueError:
            raise UsageError("write facts as lower=0 upper=120, with quotes around a text that has spaces") from None

    def _field_by_field(self, name: str) -> dict[str, str]:
        """Ask for the facts one by one; an empty line keeps what is there."""
        from sklar.schema.answering import ASKED, facts_from_texts
        from sklar.schema.toml import KINDS

        if name not in self.schema:
            return self._one_line(self._hear("    write facts as rows=5 order=year: "))
        column, said = self.schema[name], dict[str, str]()
        self._say("  An empty line keeps what stands in brackets.")
        for fact in ASKED:
            known = {f.name for f in fields(KINDS[said.get("kind", column.kind)])} | {"kind"}
            if fact in known:
                now = getattr(column, fact, None)
                shown = ", ".join(str(v) for v in now) if isinstance(now, tuple) else _shown(now)
                text = self._hear(f"    {fact} [{shown}]: ").strip()
                if text:
                    facts_from_texts(self.schema, name, {**said, fact: text})  # refused at once, not after the last
                    said[fact] = text
        return said

    def _hear(self, prompt: str) -> str:
        typer.echo(prompt, nl=False, err=self.quiet)
        line = sys.stdin.readline()
        if not sys.stdin.isatty():
            self._say("")
        if not line:
            raise EOFError
        return line

    def _say(self, text: str) -> None:
        typer.echo(text, err=self.quiet)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _tell(asking: Asking, json: bool) -> None:
    left = [question.column for question in asking.schema.questions()]
    paid = [name for name, way in asking.answers.items() if way == "pay"]
    if json:
        show.as_json({"schema": asking.path, "by": asking.by, "answers": asking.answers, "left": left})
        return
    show.line()
    if left:
        show.line(f"{len(asking.answers)} columns are settled, {len(left)} are left: give the same command again.")
        return
    show.line(f"All columns of {asking.path} are confirmed{f' by {asking.by}' if asking.by else ''}.")
    if paid:
        show.line(f"A fit will measure facts of {', '.join(paid)}, and pay for them from its budget.")
    show.line(f"Next: sklar synth FILE -s {asking.path} -e 1 -o synthetic.csv   (epsilon is yours to choose)")
