"""sklar schema confirm."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import Json
from sklar.errors import SklarError, UsageError

if TYPE_CHECKING:
    from sklar.schema.confirming import Question
    from sklar.schema.table import Schema

WAYS = {"y": "yes", "e": "edit", "p": "pay", "i": "ignore", "s": "skip", "q": "quit"}
RULE_WAYS = {"y": "yes", "n": "no", "s": "skip", "q": "quit"}
RULE_HELP = (
    "y: it holds in every row, which is known without these rows   n: drop it   s: skip for now   q: save and stop"
)
HELP = (
    "y: correct, and known without these rows   e: correct it   p: only the kind is known, measure and pay for the "
    "rest   i: leave the column out   s: skip for now   q: save and stop"
)


@guard_command
def command(
    schema: Annotated[str, typer.Argument(metavar="TOML", help="A drafted schema, which is updated.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Your name, for the claim of a fit.")] = "",
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE", help="Private rows to check first for unreadable columns."),
    ] = None,
    json: Json = False,
) -> None:
    """Confirm a drafted schema, column by column.

    There is a question for each column whose facts a draft took from the rows. The answers: y (correct, and known
    without these rows), edit (correct it; also in one line: e lower=0 upper=120), pay (measure bounds or values, paid
    from the privacy budget), ignore (leave it out), skip, quit. Then there is one for each rule that holds in the rows:
    yes or no. Answers can be piped in, one per line. Ctrl-C and the end of the input keep the answers so far.

    \b
    Example:
      sklar schema confirm people.toml --by "A. Custodian"
    """
    from sklar.schema.table import Schema

    facts = Schema.read(schema)
    if data is not None:
        _show_unread(data, facts)
    with _saved(Dialogue(path=schema, schema=facts, by=by, quiet=json)) as dialogue:
        dialogue.ask_all()
    _show(dialogue, json)


def _show_unread(data: str, facts: Schema) -> None:
    """Print columns that cannot be parsed as drafted, with exact counts, for the custodian only."""
    from sklar.lab.tables.checks import audit_schema, unread_columns

    counts = audit_schema(data, facts)
    for sentence in (counts.notice, *unread_columns(counts, facts)):
        show.note(sentence)


@contextmanager
def _saved(dialogue: Dialogue) -> Generator[Dialogue]:
    """Write the answers however the dialogue ends; an answer is in the file as a whole or not at all."""
    try:
        yield dialogue
    finally:
        if dialogue.answers:
            dialogue.schema.write(dialogue.path)


@dataclass(slots=True, kw_only=True)
class Dialogue:
    """A dialogue about the questions of a schema.

    Attributes:
        quiet: Whether to ask on standard error, since standard output is for JSON.
        answers: The kind of answer for each column.
    """

    path: str
    schema: Schema
    by: str
    quiet: bool
    answers: dict[str, str] = field(default_factory=dict[str, str])

    def ask_all(self) -> None:
        """Ask about every unconfirmed column, the person, and every rule and step, until the end or a stop.

        Rules and steps come last, since an answer about a column or the person may drop them, and in reverse order, so
        that omitted ones do not change the numbers of others.
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
                    while not self._ask(question):
                        pass
        except EOFError:
            return

    def _stage(self, question: Question) -> str:
        """Return the stage to which a question belongs."""
        if question.column in self.schema:
            return "columns"
        return "person" if question.kind == "person" else "rules"

    def _ask(self, question: Question) -> bool:
        """Ask once; return whether there was a valid answer."""
        ways = "/".join(way for way in WAYS.values() if way != "pay" or question.payable)
        is_rule = self._stage(question) == "rules"
        ways = "/".join(RULE_WAYS.values()) if is_rule else ways
        word, _, rest = self._read_line(f"  {ways}? ").strip().partition(" ")
        way = (RULE_WAYS if is_rule else WAYS).get(word.lower()[:1]) if word else None
        if way is None or not way.startswith(word.lower()):
            self._say(f"  {RULE_HELP if is_rule else HELP}")
            return False
        if way == "quit":
            raise EOFError
        if way == "skip":
            return True
        try:
            self.schema = self._apply_answer(question, way, rest)
        except SklarError as error:
            self._say(f"  Not accepted: {error}")
            return False
        self.answers[question.column] = way
        return True

    def _apply_answer(self, question: Question, way: str, rest: str) -> Schema:
        from sklar.schema.answering import answer_question

        facts: dict[str, str] = {}
        if way == "edit" and (question.column in self.schema or question.kind == "person"):
            facts = self._parse_facts(rest) if rest else self._ask_facts(question.column)
        return answer_question(self.schema, question.column, "ignore" if way == "no" else way, facts, self.by)

    def _parse_facts(self, text: str) -> dict[str, str]:
        try:
            return dict(part.split("=", 1) for part in shlex.split(text.replace(" = ", "=")))
        except ValueError:
            raise UsageError("write facts as lower=0 upper=120, with quotes around a text that has spaces") from None

    def _ask_facts(self, name: str) -> dict[str, str]:
        """Ask for the facts one by one; an empty line keeps the current value."""
        from sklar.schema.answering import EDITED_FACTS, facts_from_texts
        from sklar.schema.toml import KINDS

        if name not in self.schema:
            return self._parse_facts(self._read_line("    write facts as rows=5 order=year: "))
        column, typed = self.schema[name], dict[str, str]()
        self._say("  An empty line keeps the value in brackets.")
        for fact in EDITED_FACTS:
            known = {f.name for f in fields(KINDS[typed.get("kind", column.kind)])} | {"kind"}
            if fact in known:
                now = getattr(column, fact, None)
                shown = ", ".join(str(v) for v in now) if isinstance(now, tuple) else _format_value(now)
                text = self._read_line(f"    {fact} [{shown}]: ").strip()
                if text:
                    facts_from_texts(self.schema, name, {**typed, fact: text})  # refuses at once, not after the last
                    typed[fact] = text
        return typed

    def _read_line(self, prompt: str) -> str:
        typer.echo(prompt, nl=False, err=self.quiet)
        line = sys.stdin.readline()
        if not sys.stdin.isatty():
            self._say("")
        if not line:
            raise EOFError
        return line

    def _say(self, text: str) -> None:
        typer.echo(text, err=self.quiet)


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _show(dialogue: Dialogue, json: bool) -> None:
    left = [question.column for question in dialogue.schema.questions()]
    paid = [name for name, way in dialogue.answers.items() if way == "pay"]
    if json:
        show.as_json({"schema": dialogue.path, "by": dialogue.by, "answers": dialogue.answers, "left": left})
        return
    show.print_line()
    if left:
        show.print_line(
            f"{len(dialogue.answers)} columns are confirmed, {len(left)} are left: run the same command again."
        )
        return
    show.print_line(f"All columns of {dialogue.path} are confirmed{f' by {dialogue.by}' if dialogue.by else ''}.")
    if paid:
        show.print_line(f"A fit will measure facts of {', '.join(paid)}, and pay for them from its budget.")
    show.print_line(f"Next: sklar synth FILE -s {dialogue.path} -e 1 -o synthetic.csv   (choose your own epsilon)")
