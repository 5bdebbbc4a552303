"""Questions about facts that were read off rows, and the answers: what was confirmed, and by whom."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import Any, cast

from sklar.errors import UsageError
from sklar.schema.columns import READING, Category, Column, Id, Ignore, Labels
from sklar.schema.persons.linked import PREVIOUS, linked_faults
from sklar.schema.persons.person import PAY_ROWS, Person
from sklar.schema.rules import AtMost, Function, Ratio, Rule, rule_faults

MEASURABLE = ("lower", "upper", "values", "nullable")
"""Facts that can be paid for; a column that may or may not be null is assumed nullable, which costs nothing."""
KEPT_WITH_KIND = ("lower", "upper", "values", "other", "nullable")
"""Facts that are kept when the kind changes, if the new kind has them; grids and formats are not."""
SHOWN_LABELS = 8
"""Maximum number of labels that the description of a column lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Who vouches for which facts, as "column.fact"."""

    by: str
    facts: Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", tuple(self.facts))

    def faults(self) -> list[str]:
        """List all faults of the confirmation."""
        named = isinstance(self.by, str) and self.by.strip() and self.by.isprintable() and len(self.by) <= 200
        faults = [] if named else ["by must name a person, in one line"]
        if not all(isinstance(fact, str) and "." in fact for fact in self.facts):
            faults.append('facts must be a list of texts, such as ["age.lower", "age.upper"]')
        return faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to the custodian about one column, or one rule.

    Attributes:
        column: Its name; of a rule, "rule 1" and so on; of a rule across rows of a person, "step 1" and so on.
        kind: Its kind, as drafted.
        says: What the schema states, in a few words.
        notes: What the draft guessed and what to check.
        facts: The facts that no one has confirmed.
        payable: Those that can be measured and paid for instead.
    """

    column: str
    kind: str
    says: str
    notes: tuple[str, ...]
    facts: tuple[str, ...]
    payable: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([f"{self.column}: {self.says}.", *(note[:1].upper() + note[1:] for note in self.notes)])


def make_column_question(name: str, column: Column, notes: Sequence[str] = ()) -> Question | None:
    """Return the question about a column; None if all its facts are confirmed."""
    facts = tuple(fact for fact in column.facts if column.provenance(fact) == "from-rows")
    if not facts:
        return None
    return Question(
        column=name, kind=column.kind, says=describe_column(column), notes=tuple(notes), facts=facts,
        payable=payable_facts(column),
    )  # fmt: skip


def rule_name(number: int) -> str:
    """Return the name of a rule in questions, answers and errors."""
    return f"rule {number}"


def make_rule_question(number: int, rule: Rule) -> Question | None:
    """Return the question about a rule; None if it is stated or confirmed."""
    if rule.source != "from-rows":
        return None
    shown = (describe_function(rule),) if isinstance(rule, Function) else ()
    return Question(
        column=rule_name(number), kind=rule.kind, says=rule.describe(),
        notes=("Must that be so in every row?", *shown), facts=("rule",), payable=(),
    )  # fmt: skip


def describe_function(rule: Function) -> str:
    """Return the table of a function by its results, as "north for Kiel, Rostock; south for Ulm"."""
    arguments = [argument for argument, _ in rule.pairs]
    places: dict[str, list[int]] = {}
    for place, (_, result) in enumerate(rule.pairs):
        places.setdefault(str(result).lower() if isinstance(result, bool) else str(result), []).append(place)
    parts = [f"{result} for {_shorten(arguments, found)}" for result, found in places.items()]
    return f"{rule.column} is {'; '.join(parts[:SHOWN_LABELS])}{'; ...' if len(parts) > SHOWN_LABELS else ''}."


def _shorten(arguments: Sequence[str], places: Sequence[int]) -> str:
    """Return some arguments of a function as text: a stretch by its ends, of a long list the first ones."""
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{arguments[places[0]]} to {arguments[places[-1]]}"
    more = len(places) - SHOWN_LABELS
    return ", ".join(arguments[at] for at in places[:SHOWN_LABELS]) + (f" and {more} more" if more > 0 else "")


def keep_possible_rules(
    columns: Mapping[str, Column], rules: Sequence[Rule], person: Person | None
) -> tuple[Rule, ...]:
    """Return the rules without unconfirmed ones that the columns, the person or rules before them make impossible.

    A rule that names values of a column is impossible, too, if these are to be measured.
    """
    stated = [rule for rule in rules if rule.source != "from-rows"]
    if len(stated) == len(rules):
        return tuple(rules)
    alone = None if person is None else replace(person, steps=[s for s in person.steps if s.source != "from-rows"])

    def possible(tried: Sequence[Rule]) -> bool:
        return not rule_faults(columns, tried) and (alone is None or not linked_faults(columns, tried, alone))

    fitting = [
        rule for rule in rules
        if rule.source != "from-rows" or not (_names_paid_values(columns, rule) or rule_faults(columns, [rule]))
    ]  # fmt: skip
    if possible(fitting) or not possible(stated):
        return tuple(fitting)
    kept = list(stated)
    for rule in (rule for rule in fitting if rule.source == "from-rows"):
        kept += [rule] if possible([*kept, rule]) else []
    return tuple(rule for rule in rules if rule in kept)


def _names_paid_values(columns: Mapping[str, Column], rule: Rule) -> bool:
    """Return whether a rule depends on bounds or labels that are to be measured."""
    paid = any(
        columns[name].provenance(fact) == "pay"
        for name in rule.columns
        for fact in ("lower", "upper", "values")
        if name in columns and fact in columns[name].facts
    )
    return paid and not isinstance(rule, AtMost | Ratio)


def step_name(number: int) -> str:
    """Return the name of a rule across rows of a person in questions, answers and errors."""
    return f"step {number}"


def describe_step(rule: Rule) -> str:
    """Return a rule across rows in words, as "experience rises by 1 with every row of a person"."""
    if isinstance(rule, AtMost) and PREVIOUS + rule.high == rule.low:
        return _describe_change(rule, rule.high, "rises", "never falls")
    if isinstance(rule, AtMost) and PREVIOUS + rule.low == rule.high:
        return _describe_change(rule, rule.low, "falls", "never rises")
    return rule.describe()


def _describe_change(rule: AtMost, column: str, verb: str, otherwise: str) -> str:
    """Describe how a column changes from row to row, with `verb` ("rises") or `otherwise` ("never falls")."""
    if rule.at_least == rule.at_most:
        return f"{column} {verb} by {rule.at_least} with every row of a person"
    if rule.at_most is None and rule.at_least >= 0:
        more = f"{verb} by {rule.at_least} or more with every row" if rule.at_least else f"{otherwise} between rows"
        return f"{column} {more} of a person"
    if rule.at_most is not None and rule.low == PREVIOUS + column:
        return f"{column} changes by {rule.at_least} to {rule.at_most} with every row of a person"
    return rule.describe()


def list_step_questions(person: Person | None) -> list[Question]:
    """Return the questions about unconfirmed rules across rows of a person."""
    return [
        Question(
            column=step_name(number), kind=rule.kind, says=describe_step(rule),
            notes=("Must that be so from every row of a person to the next?",), facts=("rule",), payable=(),
        )
        for number, rule in enumerate(() if person is None else person.steps, 1)
        if rule.source == "from-rows"
    ]  # fmt: skip


PERSON = "person"
"""Name of the person in questions, answers and errors, unless a column has that name."""


def make_person_question(person: Person | None) -> Question | None:
    """Return the question about the definition of a person; None if it is stated or confirmed."""
    if person is None or person.source != "from-rows":
        return None
    fixed = ", ".join(f"'{name}'" for name in person.static)
    never = f"; columns that never change: {fixed}" if fixed else ""
    return Question(
        column=PERSON, kind=PERSON, says=person.describe() + never, notes=("Is that who is to be protected?",),
        facts=(PERSON,), payable=("rows",),
    )  # fmt: skip


def confirm_person(person: Person, source: str, pay: bool, facts: Mapping[str, Any]) -> Person | None:
    """Return the person after an answer; None if persons are to be ignored."""
    if facts.get("kind") == "ignore":
        return None
    known = ("key", "rows", "order", "weights", "static")
    unknown = [fact for fact in facts if fact not in known]
    if unknown:
        raise UsageError(f"a person has no '{unknown[0]}'; it has {', '.join(known)}")
    return replace(person, source=source, **({"rows": PAY_ROWS} if pay else facts))


def payable_facts(column: Column) -> tuple[str, ...]:
    """Return the facts of a column that can be measured; the order of words cannot."""
    if isinstance(column, Labels) and column.ordered and not column.integer_labels:
        return ()
    found = tuple(fact for fact in MEASURABLE if fact in column.facts)
    return () if found == ("nullable",) else found


def describe_column(column: Column) -> str:
    """Return the facts of a column in a few words, as "integer from 0 to 120, may be missing"."""
    words = column.kind if column.modelled else {"id": "id, never read", "ignore": "left out"}[column.kind]
    if isinstance(column, Labels):
        shown = ", ".join(str(value) for value in column.values[:SHOWN_LABELS])
        more = len(column.values) - SHOWN_LABELS
        words += f" of {shown}{f' and {more} more' if more > 0 else ''}"
    elif hasattr(column, "lower"):
        words += f" from {_format_bound(getattr(column, 'lower'))} to {_format_bound(getattr(column, 'upper'))}"  # noqa: B009
    words += _describe_parts(column)
    return words + (", may be missing" if getattr(column, "nullable", False) else "")


def _describe_parts(column: Column) -> str:
    """Describe groups of labels, parts of the calendar and prefixes of new keys, where they are stated."""
    if isinstance(column, Id):
        return f", new keys begin with {column.prefix!r}" if column.prefix else ""
    if isinstance(column, Category) and column.levels:
        return f", grouped by the first {', '.join(map(str, column.levels))} characters"
    if isinstance(column, Category) and column.parents:
        return f", grouped under {len(set(dict(column.parents).values()))} parents"
    calendar = getattr(column, "calendar", None)
    return "" if calendar is None else f", calendar parts: {', '.join(calendar) or 'none'}"


def describe_sources(column: Column) -> str:
    """Describe where the facts of a column come from, as "assumed; pay: lower, upper"."""
    marked = dict(column.sources)
    described = ["assumed"] if any(fact not in marked for fact in column.facts) else []
    for word in dict.fromkeys(marked.values()):
        facts = [fact for fact in column.facts if marked.get(fact) == word]
        described.append(word if len(facts) == len(column.facts) else f"{word}: {', '.join(facts)}")
    return "; ".join(described)


def _format_bound(bound: object) -> str:
    return f"{bound:.12g}" if isinstance(bound, float) else str(bound)


def confirm_column(column: Column, kinds: Mapping[str, type[Column]], word: str, facts: Mapping[str, Any]) -> Column:
    """Return the column with these facts, marked with `word`; without facts, mark all that was read off rows."""
    kind = facts.get("kind", column.kind)
    if kind not in kinds:
        raise UsageError(f"kind must be one of {', '.join(kinds)}")
    given = {fact: value for fact, value in facts.items() if fact != "kind"}
    changed = kinds[kind] is not type(column)
    _require_known_facts(kinds[kind], given)
    kept = _keep_valid_facts(column, kinds[kind], given, only=KEPT_WITH_KIND if changed else None)
    arguments = {**kept, **given}
    absent = [f.name for f in fields(kinds[kind]) if _is_required(f) and f.name not in arguments]
    if absent:
        raise UsageError(f"a column of kind {kind} needs {' and '.join(absent)}")
    made = kinds[kind](**arguments)
    unsaid = {fact for fact in _find_unconfirmed(column) if fact in made.facts and not made.states(fact)}
    answered = dict.fromkeys({*facts, *unsaid} if facts else _find_unconfirmed(column), word)
    source = {fact: mark for fact, mark in {**dict(column.sources), **answered}.items() if fact in kinds[kind].facts}
    return replace(made, source=source)  # type: ignore[call-arg]


def mark_column_to_pay(column: Column) -> Column:
    """Return the column with its measurable facts to be paid for, without grids, digits and hierarchies from rows."""
    payable = payable_facts(column)
    if not payable:
        raise UsageError(f"nothing of a column of kind {column.kind} can be measured: confirm it, or leave it out")
    source = {fact: word for fact, word in column.sources if word != "from-rows"} | dict.fromkeys(payable, "pay")
    drawn = _find_unconfirmed(column) - {*payable, *READING}
    reset = {f.name: f.default for f in fields(column) if f.name in drawn and not _is_required(f)}
    return replace(column, **reset, source=source)  # type: ignore[call-arg]


def ignore_column(word: str) -> Column:
    """Return a column that is left out, with the provenance of that decision."""
    return Ignore(source={"kind": word})


def add_confirmation(known: Iterable[Confirmation], by: str, facts: Iterable[str]) -> tuple[Confirmation, ...]:
    """Add facts to the confirmations of one person; a fact is confirmed by whoever did so last."""
    new = tuple(facts)
    rest = [replace(one, facts=tuple(fact for fact in one.facts if fact not in new)) for one in known]
    if by:
        own = next((one.facts for one in rest if one.by == by), ())
        rest = [one for one in rest if one.by != by] + [Confirmation(by=by, facts=(*own, *new))]
    return tuple(one for one in rest if one.facts)


def require_column(name: str, names: Sequence[str]) -> None:
    """Refuse an unknown name and suggest the closest match."""
    if name not in names:
        close = difflib.get_close_matches(str(name), names, 1)
        raise UsageError(f"there is no column '{name}'{f'; did you mean {close[0]!r}?' if close else ''}")


def _find_unconfirmed(column: Column) -> set[str]:
    return {fact for fact, word in column.sources if word == "from-rows"}


def _require_known_facts(kind: type[Column], facts: Iterable[str]) -> None:
    known = [f.name for f in fields(kind) if f.name not in ("_", "source")]
    unknown = [fact for fact in facts if fact not in known]
    if unknown:
        raise UsageError(f"a column of kind {kind.kind} has no '{unknown[0]}'; it has {', '.join(['kind', *known])}")


def _keep_valid_facts(
    column: Column, kind: type[Column], given: Mapping[str, Any], only: Sequence[str] | None
) -> dict[str, Any]:
    """Return the facts of a column that stay valid beside the given ones."""
    names = {f.name for f in fields(kind)} - {"source"} - set(given)
    kept = {f.name: getattr(column, f.name) for f in fields(column) if f.name in names and (not only or f.name in only)}
    low, high = given.get("lower", getattr(column, "lower", None)), given.get("upper", getattr(column, "upper", None))
    if "lower" in given or "upper" in given:
        kept.pop("edges", None)
        kept["atoms"] = tuple(atom for atom in kept.get("atoms", ()) if low <= atom <= high)
        if not _is_between(low, kept.get("missing_value"), high):
            kept.pop("missing_value")
    if "values" in given and kept.get("other") in given["values"]:
        kept.pop("other")
    return {name: value for name, value in kept.items() if name in names}


def _is_between(low: Any, value: Any, high: Any) -> bool:
    try:
        return value is None or low <= value <= high
    except TypeError:
        return False


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def parse_fact(kind: type[Column], fact: str, text: str, column: Column | None = None) -> Any:
    """Parse a fact as written at a terminal; "none" resets it. Commas separate the items of a list."""
    text = text.strip()
    _require_known_facts(kind, [] if fact == "kind" else [fact])
    if fact in ("kind", "format", "prefix", "resolution", "other") and text.lower() != "none":
        whole = fact == "other" and isinstance(column, Labels) and column.integer_labels
        return _parse_number(fact, text) if whole else text
    if text.lower() == "none":
        return _get_default(kind, fact)
    if fact == "calendar":
        return _parse_labels(text, whole=False)
    if fact == "spelling":
        return tuple(int(word) if word in ("0", "1") else word for word in _parse_labels(text, whole=False))
    if fact == "nullable" or kind.kind == "boolean":
        return _parse_yes_no(fact, text)
    if fact == "values":
        return _parse_labels(text, whole=isinstance(column, Labels) and column.integer_labels)
    if fact == "parents":
        return dict(_parse_parent(part) for part in text.split(",") if part.strip())
    if fact in ("edges", "atoms", "levels"):
        return tuple(_parse_number(fact, part) for part in text.split(",") if part.strip())
    return text if kind.kind == "datetime" and fact != "bins" else _parse_number(fact, text)


def _get_default(kind: type[Column], fact: str) -> Any:
    default = next((f.default for f in fields(kind) if f.name == fact), MISSING)
    if default is MISSING:
        raise UsageError(f"{fact} must be stated")
    return default


def _parse_yes_no(fact: str, text: str) -> bool:
    words = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}
    if text.lower() not in words:
        raise UsageError(f"{fact} is yes or no; found {text!r}")
    return words[text.lower()]


def _parse_labels(text: str, whole: bool) -> tuple[str, ...] | tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(cast("int", _parse_number("values", part)) for part in parts) if whole else tuple(parts)


def _parse_parent(text: str) -> tuple[str, str]:
    label, colon, parent = (part.strip() for part in text.partition(":"))
    if not (label and colon and parent):
        raise UsageError(f"parents are pairs of a label and its parent, as I21: heart; found {text.strip()!r}")
    return label, parent


def _parse_number(fact: str, text: str) -> int | float:
    for read in (int, float):
        try:
            return read(text.strip().replace("_", ""))
        except ValueError:
            continue
    raise UsageError(f"{fact} is a number; found {text.strip()!r}")
