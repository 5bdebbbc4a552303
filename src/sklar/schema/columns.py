"""The kinds of columns, their public facts and where each fact comes from. Nothing here is ever read from rows.

Every modelled column has `size` base codes: its value cells in order, then one for `other` (categories), then one for
null (if nullable). Facts are checked by `faults()`, which reports everything that is wrong, not the first thing only.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, cast, get_args

from sklar.schema.cell_classes import CELL_CLASSES
from sklar.schema.grid import MAX_CELLS

Provenance = Literal["public", "assumed", "measured", "pay", "from-rows"]
"""``public``: known to anyone. ``assumed``: the custodian vouches for it. ``measured``: paid from the privacy budget.
``pay``: to be measured, and paid for, before the fit. ``from-rows``: read off the private rows and not confirmed; a
private fit refuses it."""

PROVENANCES: tuple[str, ...] = get_args(Provenance)
DEFAULT: Provenance = "assumed"
BOUGHT = ("pay", "measured")
READING = ("kind", "integer_labels", "other", "missing_value", "format", "resolution", "zone", "spelling")
"""Facts without which a column cannot be read or written."""
UNMEASURABLE = (*READING, "levels", "parents", "calendar", "prefix")
"""Facts that cannot be paid for one by one: they are stated, or the whole column is unknown."""
MEASURED_WITH_KIND = ("kind", "format", "resolution", "spelling")
"""Facts of an unknown column that its classes of cells give."""

Sources = tuple[tuple[str, Provenance], ...]
"""The provenance of each fact of a column, sorted by fact; facts not named are ``assumed``."""


SourceMark = str | Mapping[str, str] | Sources
"""As given: one word for all facts, or a word per fact. Columns store it as sorted pairs."""
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")
"""Words for truth values, in any case; each word has its opposite in the same place."""
SPELLINGS: tuple[tuple[str, ...], ...] = tuple(zip(FALSE_WORDS[:5], TRUE_WORDS[:5], strict=True))
"""Pairs of words for false and true in which output may be written."""


def make_fresh_name(taken: Container[str], name: str) -> str:
    """Return a name that is not taken, by adding parentheses."""
    while name in taken:
        name = f"({name})"
    return name


def normalize_sources(source: SourceMark, facts: tuple[str, ...]) -> Sources:
    """Return one word for all facts, or a mapping from fact to word, as sorted pairs without the default.

    The one word "pay" (or "measured") applies to the facts that can be measured; the others, such as the kind, were
    chosen by whoever wrote the column in code.
    """
    if isinstance(source, str):
        pairs = [(fact, source) for fact in facts if source not in BOUGHT or fact not in UNMEASURABLE]
    else:
        pairs = source.items() if isinstance(source, Mapping) else source
    return tuple(sorted((fact, cast(Provenance, word)) for fact, word in pairs if word != DEFAULT))


def source_faults(sources: Sources, facts: tuple[str, ...]) -> list[str]:
    """List the faults of a column's provenance marks."""
    unknown = [fact for fact, _ in sources if fact not in facts]
    faults = [f"source names '{fact}', which this kind of column does not have" for fact in unknown]
    words = sorted({str(word) for _, word in sources if word not in PROVENANCES})
    faults += [f"source is '{word}'; it must be one of {', '.join(PROVENANCES)}" for word in words]
    bought = [fact for fact, word in sources if word in BOUGHT and fact in UNMEASURABLE]
    bought = [fact for fact in bought if (fact, "measured") not in sources or fact not in MEASURED_WITH_KIND]
    if bought:
        faults.append(
            f"{', '.join(bought)} cannot be measured, so not be paid for: confirm what is known without the rows, as "
            f'source = {{ {bought[0]} = "assumed" }}, and mark "pay" fact by fact'
        )
    return faults


@dataclass(frozen=True, slots=True)
class Column:
    """Base class of all kinds of columns."""

    kind: ClassVar[str] = ""
    facts: ClassVar[tuple[str, ...]] = ()
    """Facts stated about the data, each with a provenance: the kind itself, and names of fields."""
    numeric: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    modelled: ClassVar[bool] = True

    @property
    def sources(self) -> Sources:
        """Provenance of the facts that are not simply `assumed`."""
        return getattr(self, "source", ())

    def provenance(self, fact: str) -> str:
        """Return the provenance of one fact."""
        return dict(self.sources).get(fact, "assumed")

    def states(self, fact: str) -> bool:
        """Return whether a fact is stated: unset bins, empty lists and the like are not."""
        value = getattr(self, fact)
        if fact == "calendar":  # an empty list states that no part is measured
            return value is not None
        return value not in (None, (), "")

    @property
    def value_cells(self) -> int:
        """Number of base codes that stand for values."""
        return 0

    @property
    def other_code(self) -> int | None:
        """Base code of values that the schema does not list."""
        return None

    @property
    def null_code(self) -> int | None:
        """Base code of a missing value."""
        if not getattr(self, "nullable", False):
            return None
        return self.value_cells + (self.other_code is not None)

    @property
    def size(self) -> int:
        """Number of base codes."""
        return self.value_cells + (self.other_code is not None) + (self.null_code is not None)

    def faults(self) -> list[str]:
        """List all faults of this column's facts."""
        faults = source_faults(self.sources, self.facts)
        if type(getattr(self, "nullable", False)) is not bool:
            faults.append("nullable must be true or false")
        return faults

    def __post_init__(self) -> None:
        if hasattr(self, "source"):
            object.__setattr__(self, "source", normalize_sources(self.sources, self.facts))


@dataclass(frozen=True, slots=True)
class Labels(Column):
    """Base class of the two kinds with listed labels: all text or all integers; text like 007 stays text."""

    values: Sequence[str] | Sequence[int] = ()
    _: KW_ONLY
    other: str | int | None = None
    nullable: bool = False
    source: SourceMark = ()

    facts: ClassVar[tuple[str, ...]] = ("kind", "integer_labels", "values", "other", "nullable")
    unlisted: ClassVar[str] = ""
    """Advice for the case that no one can list them."""

    def __post_init__(self) -> None:
        # A text is a sequence too: Category("FM") is a mistake that faults() reports, not the labels F and M.
        if not isinstance(self.values, str):
            object.__setattr__(self, "values", tuple(to_plain(v) for v in self.values))
        object.__setattr__(self, "other", to_plain(self.other))
        if self.other is None and self.values:
            object.__setattr__(self, "other", _choose_other(self.values))
        Column.__post_init__(self)

    @property
    def integer_labels(self) -> bool:
        """Whether the labels are integers rather than text."""
        return bool(self.values) and all(type(v) is int for v in self.values)

    @property
    def value_cells(self) -> int:
        return len(self.values)

    @property
    def other_code(self) -> int | None:
        return len(self.values)

    def faults(self) -> list[str]:
        faults = Column.faults(self)
        if isinstance(self.values, str):
            return [*faults, 'values must be a list of labels, such as ["F", "M"]']
        if not self.values:
            return [*faults, f"values must list at least one label{self.unlisted}"]
        if not (self.integer_labels or all(type(v) is str for v in self.values)):
            return [*faults, "values must be all text or all integers; put numbers that are labels in quotes"]
        if len(self.values) > MAX_CELLS:
            faults.append(f"values must list at most {MAX_CELLS:,} labels")
        if len(set(self.values)) < len(self.values):
            faults.append("values lists a label twice")
        if type(self.other) is not type(self.values[0]):
            faults.append("other must be of the same type as the values")
        elif self.other in self.values:
            faults.append("other may not equal one of the values")
        return faults + [f for f in (_label_fault(v) for v in (*self.values, self.other)) if f][:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Category(Labels):
    """Unordered labels. Values that are not listed become `other`, which decodes to the label given here.

    Codes may have coarser levels, on which dependence is modelled where single codes have too few rows for the noise.
    They are facts: a grouping of labels chosen from the rows would reveal rows.

    Values that are to be measured, and paid for, need not be listed: `Category(source="pay")`.

    Attributes:
        levels: Lengths of the prefixes that name the coarser levels, as [1, 3] for I21.4 in I21 in I.
        parents: Or the parent of every label, as {"I21": "heart"}; parents may have parents.
    """

    levels: Sequence[int] = ()
    parents: Mapping[str, str] | tuple[tuple[str, str], ...] = ()

    kind: ClassVar[str] = "category"
    facts: ClassVar[tuple[str, ...]] = (*Labels.facts, "levels", "parents")
    unlisted: ClassVar[str] = '; if they are not known, have them measured: source = { values = "pay" }'

    def __post_init__(self) -> None:
        if not len(self.values) and dict(normalize_sources(self.source, self.facts)).get("values") == "pay":
            object.__setattr__(self, "values", (ANY_LABEL,))
        pairs = self.parents.items() if isinstance(self.parents, Mapping) else self.parents
        object.__setattr__(self, "parents", tuple((str(child), parent) for child, parent in pairs))
        object.__setattr__(self, "levels", tuple(to_plain(length) for length in self.levels))
        Labels.__post_init__(self)

    @property
    def branches(self) -> tuple[tuple[str, ...], ...]:
        """The coarser levels of every label, the coarsest first; empty without a hierarchy."""
        labels = [str(value) for value in self.values]
        if self.levels:
            return tuple(tuple(label[:length] for length in self.levels) for label in labels)
        parents = dict(self.parents)
        return tuple(tuple(reversed(_ancestors(label, parents))) for label in labels) if parents else ()

    def faults(self) -> list[str]:
        faults = Labels.faults(self)
        if faults or not (self.levels or self.parents):
            return faults
        if self.levels and self.parents:
            return ["give levels or parents, not both"]
        rising = all(type(x) is int and x > 0 for x in self.levels) and sorted(set(self.levels)) == list(self.levels)
        if not rising:
            return ["levels must be lengths of prefixes, whole numbers that increase, such as [1, 3]"]
        return _parent_faults([str(value) for value in self.values], dict(self.parents)) if self.parents else []


def _ancestors(label: str, parents: Mapping[str, str]) -> list[str]:
    """Return the parent, its parent, and so on, until a cycle closes."""
    found: list[str] = []
    while label in parents and parents[label] not in found:
        label = parents[label]
        found.append(label)
    return found


def _parent_faults(labels: Sequence[str], parents: Mapping[str, str]) -> list[str]:
    """List the faults of a hierarchy: a label without a parent, an unknown label, a cycle."""
    if not all(isinstance(parent, str) and parent for parent in parents.values()):
        return ["parents must be texts"]
    faults = [f"'{label}' has no parent in parents" for label in labels if label not in parents][:3]
    known = {*labels, *parents.values()}
    strange = [child for child in parents if child not in known]
    faults += [f"parents lists '{child}', which is neither a label nor a parent" for child in strange][:3]
    circle = next((child for child in parents if _ancestors(child, parents)[-1] in parents), None)
    return faults + ([f"the parents of '{circle}' form a cycle"] if circle is not None else [])


@dataclass(frozen=True, slots=True)
class Ordinal(Labels):
    """Labels from low to high. Values that are not listed become `other`, as for a category."""

    kind: ClassVar[str] = "ordinal"
    ordered: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Boolean(Column):
    """True or false; a missing or unreadable value becomes null if nullable, else `missing_value`.

    Attributes:
        spelling: The words for false and true in the output, as ("no", "yes") or (0, 1); truth values by default. All
            the usual words are read in any case.
    """

    _: KW_ONLY
    nullable: bool = False
    missing_value: bool = False
    spelling: Sequence[str] | Sequence[int] = ()
    source: SourceMark = ()

    kind: ClassVar[str] = "boolean"
    facts: ClassVar[tuple[str, ...]] = ("kind", "nullable", "missing_value", "spelling")
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.spelling, str):
            object.__setattr__(self, "spelling", tuple(to_plain(word) for word in self.spelling))
        Column.__post_init__(self)

    @property
    def value_cells(self) -> int:
        return 2

    def faults(self) -> list[str]:
        faults = Column.faults(self)
        if type(self.missing_value) is not bool:
            faults.append("missing_value must be true or false")
        same = len({type(word) for word in self.spelling}) == 1 and type(self.spelling[0]) in (str, int)
        pair = tuple(str(word).lower() for word in self.spelling)
        if self.spelling and not (same and pair in SPELLINGS):
            faults.append('spelling is how false and true are written, such as ["no", "yes"], ["F", "T"] or [0, 1]')
        return faults


@dataclass(frozen=True, slots=True)
class Id(Column):
    """A key of the row or person: never read; the output has new keys 1, 2, 3, ... with this prefix."""

    _: KW_ONLY
    prefix: str = ""
    source: SourceMark = ()

    kind: ClassVar[str] = "id"
    facts: ClassVar[tuple[str, ...]] = ("kind", "prefix")
    modelled: ClassVar[bool] = False

    def faults(self) -> list[str]:
        wrong = type(self.prefix) is not str or not is_unicode(self.prefix)
        return Column.faults(self) + (["prefix must be text"] if wrong else [])


@dataclass(frozen=True, slots=True)
class Ignore(Column):
    """Never read and not in the output."""

    _: KW_ONLY
    source: SourceMark = ()

    kind: ClassVar[str] = "ignore"
    facts: ClassVar[tuple[str, ...]] = ("kind",)
    modelled: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Unknown(Column):
    """A column without stated facts: kind, format, bounds and labels are measured, and paid for, before the fit."""

    _: KW_ONLY
    source: SourceMark = (("kind", "pay"),)

    kind: ClassVar[str] = "unknown"
    facts: ClassVar[tuple[str, ...]] = ("kind",)

    @property
    def value_cells(self) -> int:
        return len(CELL_CLASSES)

    def faults(self) -> list[str]:
        return [] if self.sources == (("kind", "pay"),) else ['an unknown column has the source { kind = "pay" } alone']


ANY_LABEL = "(any)"
"""Placeholder for the values of a category that are yet to be measured."""


def parse_truth(word: object) -> bool | None:
    """Return the truth value of one of the usual words, or of 0 and 1; None for anything else."""
    text = str(to_plain(word)).strip().lower()
    return True if text in TRUE_WORDS else False if text in FALSE_WORDS else None


def to_plain(value: Any) -> Any:
    """Convert NumPy scalars to Python ones; return everything else unchanged."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value


def is_unicode(text: str) -> bool:
    """Return whether a text can be written to a file (it contains no half of a surrogate pair)."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _label_fault(label: object) -> str | None:
    if isinstance(label, str):
        return None if is_unicode(label) else "a label is not valid Unicode text"
    too_large = type(label) is int and not INT64_MIN <= label <= INT64_MAX
    return "integer labels must be 64-bit integers" if too_large else None


def _choose_other(values: Sequence[str] | Sequence[int]) -> str | int:
    if all(type(v) is int for v in values):
        return next(k for k in range(-1, -len(values) - 2, -1) if k not in values)
    return make_fresh_name([str(value) for value in values], "other")
