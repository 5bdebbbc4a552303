"""The claim: the privacy guarantee of a model, in words and as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from sklar import notebook

NOT_COVERED = (
    "how long the fit took, how much memory it used and whether it failed",
    "choices made after looking at reports, comparisons or attacks computed from these rows",
    "facts about the whole population that the table, with or without any one person, reveals",
)
NUMERICS = (
    "Counts are exact integers. Noise is drawn by OpenDP's exact discrete Gaussian and discrete Laplace samplers from "
    "the system's entropy and is never seeded."
)
ACCOUNTING = {
    "exact": "exact accounting by privacy loss distributions",
    "gaussian": "exact accounting for Gaussian noise",
    "zcdp": "accounting by zero-concentrated differential privacy",
    "pure": "pure epsilon, which simply adds up",
}

NAMES = "the names, the order and the number of columns"
"""Facts that are public when the kinds of columns were measured."""
SHOWN_VALUES = 8
"""Number of stated values of one fact that the text of a claim lists."""
RULE_PREFIX = "rules."
"""Begins the name of a rule among confirmed facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTotal:
    """The total guarantee of all fits recorded in one ledger.

    Attributes:
        name: What the custodian calls the dataset.
        in_advance: Whether the bound needs the budgets of all fits to have been set before the first output.
        cap: The (epsilon, delta) that the ledger never exceeds, for any choice of fits; None without a cap.
    """

    name: str
    fits: int
    epsilon: float
    delta: float
    in_advance: bool = False
    cap: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPrice:
    """The price paid before the fit for facts that it uses.

    Attributes:
        fit: Name of the measurement.
        ledger: Name of the ledger it was charged to; empty if it was kept in memory only.
        charged_here: Whether the ledger of this fit has it; else only the schema states it.
        kept: Values stated before the measurement that it kept or searched within, by "column.fact".
    """

    fit: str
    ledger: str
    epsilon: float
    delta: float
    charged_here: bool
    kept: tuple[tuple[str, tuple[Any, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorFact:
    """A table that the fit used as a prior and that is assumed to be public.

    Attributes:
        name: The custodian's name for it.
        by: Who vouches that it is public; empty if no one is named.
        rows: Its number of rows.
        columns: Columns about which it has information.
        digest: SHA-256 of the counts taken from it, which the model file contains.
        promise: The label of its claim and what that protects, if it is a model; empty for a table.
    """

    name: str
    by: str
    rows: int
    columns: tuple[str, ...]
    digest: str
    promise: str = ""

    def __str__(self) -> str:
        vouched = f", for which {self.by} vouches" if self.by else ", for which the custodian vouches"
        return (
            f"Taken to be public, and NOT PROTECTED by this promise: the prior '{self.name}' ({self.rows:,} rows; "
            f"counts of {', '.join(self.columns)}; SHA-256 {self.digest[:16]}){vouched}. The promise holds for the "
            f"people of the fitted table if the prior was not made from their rows.{self._describe_own_guarantee()}"
        )

    def _describe_own_guarantee(self) -> str:
        if not self.promise:
            return ""
        return (
            f" The prior is a model with a promise of its own: {self.promise}. For people who are in both tables, "
            "epsilons and deltas add up where both promises protect the same change; where they do not, such as one "
            "row here and a person there, nothing is promised for both together."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonFact:
    """The definition of a person, and which rows of a person were used.

    Attributes:
        key: The column whose values identify persons.
        rows: The most rows of a person that were used.
        order: The column that orders rows, of which the first were used; None if they were picked by a hash.
        votes: Whether they share one vote.
        static: Columns that are taken never to change within a person.
    """

    key: str
    rows: int
    order: str | None
    votes: bool
    static: tuple[str, ...] = ()

    def __str__(self) -> str:
        which = "picked by a keyed hash" if self.order is None else f"the first by '{self.order}'"
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        share = " and share one vote in every table of counts" if self.votes else ""
        return (
            f"A person is a value of '{self.key}', compared as text: letters composed (NFC), without spaces around it "
            "and, of a whole number, without a fraction of zeros; capital letters and leading zeros matter. Rows "
            "without a value, or with a float from 2^53 on, were left out. "
            f"Of a person at most {rows}, "
            f"{which}, were used{share}: rows beyond that were left out, whoever's they are.{self._describe_static()}"
        )

    def _describe_static(self) -> str:
        return f" What never changes within a person: {', '.join(self.static)}." if self.static else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The guarantee, whom it protects, and what it does not cover.

    Attributes:
        guarantee: Whether the model is differentially private at all.
        epsilon: The bound at `delta` for this fit and for what was paid before it for facts that it uses.
        delta: Added to exp(epsilon) times a probability; 0 for pure epsilon.
        rho: The bound in zCDP, where it applies.
        accounting: Method by which releases were added up: "exact" (privacy loss distributions), "gaussian" (squared
            shifts of Gaussian noise, exact too), "zcdp" or "pure".
        neighbours: "add-remove" (the number of rows is private) or "replace" (it is public). rows_per_person: The most
            rows one person may have for the guarantee to hold. ledger: All fits on this dataset together; None if only
            this fit is known. public: Facts marked as known to anyone, as "column.fact". assumed: Facts the custodian
            vouches for; the guarantee holds if they were not learned from the rows. Those of the
            whole table have no column: "rows_per_person".
        measured: Facts that were measured and paid for.
        rules: Public rules between columns that every synthetic row obeys, and rules across rows of a person.
        caveats: What a reader must know about the method itself.
        own: (epsilon, delta) of this fit alone; None without a guarantee.
        prices: Prices paid before, which are included in `epsilon` and `delta`.
        unpriced: Measured facts whose cost is not stated and not included in `epsilon` and `delta`.
        reading: Options stated for reading the source, as pairs: "sql", "rows_are_rows", "delimiter",
            "encoding", "null_value"; for the fit and for what was paid before it.
        repeated: Whether a step was measured again because its release was lost in a crash.
        confirmed: Who vouches for which of the assumed and public facts, as pairs of a name and "column.fact"s.
        prior: A public table that the fit used as a prior; None without one.
        person: The definition of a person and the rows of each that were used; None if each row is a person.
    """

    method: str
    guarantee: bool
    epsilon: float | None
    delta: float | None
    rho: float | None
    accounting: str
    neighbours: str
    rows_per_person: int
    ledger: LedgerTotal | None
    public: tuple[str, ...]
    assumed: tuple[str, ...]
    measured: tuple[str, ...]
    rules: tuple[str, ...]
    caveats: tuple[str, ...]
    not_covered: tuple[str, ...] = NOT_COVERED
    numerics: str = NUMERICS
    version: str
    own: tuple[float, float] | None = None
    prices: tuple[FactPrice, ...] = ()
    unpriced: tuple[str, ...] = ()
    reading: tuple[tuple[str, str], ...] = ()
    repeated: bool = False
    confirmed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    prior: PriorFact | None = None
    person: PersonFact | None = None

    @property
    def complete(self) -> bool:
        """Whether epsilon and delta include the cost of all measured facts."""
        return not self.unpriced

    @property
    def label(self) -> str:
        """The claim in a few words, for outputs too small for all of it."""
        if not self.guarantee:
            return f"NO DP GUARANTEE (method {self.method})"
        rest = "" if self.complete else ", without the cost of some measured facts"
        amounts = _format_pair(self.epsilon, self.delta)
        return f"differentially private, {amounts}{self._mention_prior()}{rest} (method {self.method})"

    @property
    def first_sentence(self) -> str:
        """The guarantee itself; the rest of the claim explains it and lists its assumptions."""
        if not self.guarantee:
            return self._state_no_guarantee()[0]
        bounds = f"epsilon = {format_bound(self.epsilon)} and delta = {format_bound(self.delta)}"
        conditions = f"{self._describe_protection()}{self._mention_prior()}{self._list_unpriced_facts()}"
        return f"This model (method {self.method}) is differentially private with {bounds}, for {conditions}."

    @property
    def protected(self) -> str:
        """The change of the table that the guarantee hides."""
        act = "adding or removing" if self.neighbours == "add-remove" else "replacing"
        if self.person is not None:
            return f"{act} any one person, with any number of rows"
        rows = "one row" if self.rows_per_person == 1 else f"at most {self.rows_per_person} rows"
        return f"{act} one person with {rows}"

    @property
    def notes(self) -> dict[str, str]:
        """Metadata of synthetic tables: those of a model without a guarantee always say so."""
        return {} if self.guarantee else {"sklar.guarantee": self.label}

    def to_dict(self) -> dict[str, Any]:
        """Return the machine-readable record; prior and person are left out where there are none."""
        record: dict[str, Any] = {**asdict(self), "complete": self.complete}
        if self.person is not None and not self.person.static:
            del record["person"]["static"]
        return {name: value for name, value in record.items() if value is not None or name not in ("prior", "person")}

    @property
    def summary(self) -> str:
        """The guarantee, what it means and what the ledger bounds, without what it rests on."""
        if not self.guarantee:
            return " ".join(self._state_no_guarantee())
        return " ".join([self.first_sentence, self._explain_epsilon(), self._describe_ledger()])

    @property
    def basis(self) -> tuple[tuple[str, str], ...]:
        """What the guarantee rests on and what it does not cover, as rows of a table: a label and a text."""
        return tuple((label, text) for label, text, _ in self._list_basis())

    def __repr__(self) -> str:
        return f"<sklar.Claim: {self.label}>"

    def __str__(self) -> str:
        basis = (text if sentence else f"{label}: {text}." for label, text, sentence in self._list_basis())
        version = [f"Sklar {self.version}."] if self.guarantee else []
        return "\n".join([self.summary, *basis, *version])

    def _repr_html_(self) -> str:
        return notebook.make_card(
            self.label, notebook.make_paragraph(self.summary), notebook.make_table(("", ""), self.basis)
        )

    def _list_basis(self) -> list[tuple[str, str, bool]]:
        """List labels and texts, and whether a text is a sentence that needs no label."""
        rows = [
            ("Person", "" if self.person is None else str(self.person), True),
            ("Facts paid for before", self._describe_prices(), True),
            ("Repeated step", self._describe_repeat(), True),
            *((label, text, False) for label, text in self._list_facts_by_source()),
            *(("Confirmed", self._describe_confirmation(by, facts), True) for by, facts in self.confirmed),
            ("Prior", "" if self.prior is None else str(self.prior), True),
            ("Not covered", "; ".join(self.not_covered), False),
            ("Noise", self.numerics, True),
        ]
        caveats = [("Caveat", caveat, True) for caveat in self.caveats]
        return [row for row in ([*rows, *caveats] if self.guarantee else caveats) if row[1]]

    def _state_no_guarantee(self) -> list[str]:
        return [
            f"NO DP GUARANTEE: this model (method {self.method}) was learned from rows without differential privacy.",
            "It may reveal facts about single people; do not publish it as if it were private.",
            f"Sklar {self.version}.",
        ]

    def _describe_protection(self) -> str:
        count = "protected too" if self.neighbours == "add-remove" else "public"
        how = (
            f"{ACCOUNTING.get(self.accounting, self.accounting)}{', added to that of its facts' if self.prices else ''}"
        )
        return f"{self.protected} (the number of {'rows' if self.person is None else 'persons'} is {count}; {how})"

    def _mention_prior(self) -> str:
        return "" if self.prior is None else ", given a prior taken as public"

    def _list_unpriced_facts(self) -> str:
        if self.complete:
            return ""
        return f"; NOT INCLUDED is what it cost to measure {_list_facts(self.unpriced)}, for which no price is known"

    def _explain_epsilon(self) -> str:
        added = f", plus at most {format_bound(self.delta, 3)}" if self.delta else ""
        add = self.neighbours == "add-remove"
        whom = "with as without any single person" if add else "whoever stands in any one person's place"
        rest = "" if self.complete else ", apart from what those facts give away"
        return (
            f"Any conclusion that anyone draws from the model, or from any number of rows sampled from it, is at most "
            f"exp({format_bound(self.epsilon, 4)}) times as likely{added}, {whom}{rest}."
        )

    def _describe_prices(self) -> str:
        """State which part of the loss was spent before the fit, on facts."""
        if not self.prices or self.own is None:
            return ""
        each = "; ".join(f"{_format_pair(p.epsilon, p.delta)} in {_describe_fit(p)}" for p in self.prices)
        planned = ", if the budgets were set before the first result was seen" if self.delta else ""
        return (
            f"This is the sum of the fit's own {_format_pair(*self.own)} and of what was paid before to measure facts "
            f"that it uses ({each}){planned}."
        )

    def _describe_repeat(self) -> str:
        """State the assumption behind a repeated step: the filter's amount was no longer fixed in advance."""
        if not self.repeated:
            return ""
        capped = self.ledger is not None and self.ledger.cap is not None
        return (
            "A step whose result was lost in a crash was measured again, and its cost added: the bound then rests on "
            "the crash, and on the choice to go on, not having depended on the rows or on any result"
            f"{' (the cap holds in any case)' if capped else ''}."
        )

    def _describe_ledger(self) -> str:
        if self.ledger is None:
            what = "this fit and these facts" if self.prices else "this fit"
            return f"This covers {what} only: no ledger of other fits on the same table was kept."
        total = self.ledger
        cap = "" if total.cap is None else f" It never goes beyond its cap, {_format_pair(*total.cap)}."
        if total.fits == 1:
            return f"It is the only fit so far in the ledger '{total.name}'.{cap}"
        planned = " if their budgets were set before the first result was seen" if total.in_advance else ""
        return (
            f"All {total.fits} fits in the ledger '{total.name}' together: {_format_pair(total.epsilon, total.delta)}"
            f"{planned}.{cap}"
        )

    def _list_facts_by_source(self) -> list[tuple[str, str]]:
        paid = tuple(fact for fact in self.measured if fact not in self.unpriced)
        known = "; ".join(part for part in (*self._list_table_facts(), self._facts_by_column(self.assumed)) if part)
        names = [NAMES] if any(fact.endswith(".kind") for fact in self.measured) else []
        public = "; ".join([*names, *([self._facts_by_column(self.public)] if self.public else [])])
        return [
            ("Taken as known without looking at the rows", known),
            ("Stated by the custodian, and kept when facts were measured", self._describe_kept()),
            ("Taken as public", public),
            ("Measured and paid for", _list_facts(paid) if paid else ""),
            ("Rules taken as public", "; ".join(self.rules)),
        ]

    def _describe_kept(self) -> str:
        """List the values that were stated before facts were measured and that the measurement kept."""
        kept: list[str] = []
        for fact, values in (pair for price in self.prices for pair in price.kept):
            shown, more = ", ".join(map(str, values[:SHOWN_VALUES])), len(values) - SHOWN_VALUES
            kept.append(f"{fact} ({shown}{f' and {more} more' if more > 0 else ''})")
        return "; ".join(kept)

    def _describe_confirmation(self, by: str, facts: tuple[str, ...]) -> str:
        """State who confirmed the facts of which columns and which rules."""
        ruled = {f"{RULE_PREFIX}{rule}": rule for rule in self.rules}
        columns = tuple(fact for fact in facts if fact not in ruled)
        every = {fact for fact in (*self.assumed, *self.public) if "." in fact} <= set(columns)
        listed = f"Facts {'of all columns' if every else f'of {_list_columns(columns)}'}" if columns else ""
        rules = [f"{'the' if listed else 'The'} rule '{ruled[fact]}'" for fact in facts if fact in ruled]
        return f"{' and '.join([*([listed] if listed else []), *rules])} confirmed by {by}."

    def _list_table_facts(self) -> list[str]:
        """List the assumed facts about the table as a whole."""
        facts: list[str] = []
        if "rows_per_person" in self.assumed:
            rows = "1 row" if self.rows_per_person == 1 else f"{self.rows_per_person} rows"
            facts.append(f"that no person has more than {rows} in the table")
        for name, value in self.reading:
            if name == "sql":
                facts.append(f"that the table is what this query gives: {' '.join(value.split())}")
            if name == "rows_are_rows":
                whose = "its result" if "sql" in dict(self.reading) else "the table"
                facts.append(f"that a person's data shape no rows of {whose} but that person's own (rows_are_rows)")
            if name == "delimiter":
                facts.append(f"that {value!r} separates cells")
            if name == "encoding":
                facts.append(f"that the text is encoded as {value}")
        nulls = [repr(value) for name, value in self.reading if name == "null_value"]
        return [*facts, *([f"that {', '.join(nulls)} stand for a missing value"] if nulls else [])]

    def _facts_by_column(self, facts: tuple[str, ...]) -> str:
        """List facts by column; a fact of all columns that have it is stated once."""
        known = (*self.public, *self.assumed, *self.measured)
        everywhere = [
            fact for fact in _FACTS_OF_ALL_COLUMNS if _find_columns(facts, fact) == _find_columns(known, fact) != set()
        ]
        rest = tuple(f for f in facts if "." in f and f.rpartition(".")[2] not in everywhere)
        return "; ".join(
            [*(_FACTS_OF_ALL_COLUMNS[fact] for fact in everywhere), *([_list_facts(rest)] if rest else [])]
        )


_FACTS_OF_ALL_COLUMNS = {"kind": "the kind of every column", "nullable": "which columns may have missing values"}


def claim_from_dict(record: Mapping[str, Any]) -> Claim:
    """Rebuild a claim from its record."""
    # A record without prices does not say whether facts were measured within its fit or at a cost of their own.
    fields = {"unpriced": record["measured"], **record}
    fields.pop("complete", None)
    if fields.get("ledger") is not None:
        total = dict(fields["ledger"])
        total["cap"] = None if total.get("cap") is None else tuple(total["cap"])
        fields["ledger"] = LedgerTotal(**total)
    if fields.get("person") is not None:
        person: dict[str, Any] = dict(fields["person"])
        fields["person"] = PersonFact(static=tuple(person.pop("static", ())), **person)
    fields["own"] = None if fields.get("own") is None else tuple(fields["own"])
    fields["prices"] = tuple(_read_price(price) for price in fields.get("prices", ()))
    fields["confirmed"] = tuple((by, tuple(facts)) for by, facts in fields.get("confirmed", ()))
    if fields.get("prior") is not None:
        prior: dict[str, Any] = dict(fields["prior"])
        fields["prior"] = PriorFact(columns=tuple(prior.pop("columns")), **prior)
    fields["reading"] = tuple((name, value) for name, value in fields.get("reading", ()))
    for name in ("public", "assumed", "measured", "rules", "caveats", "not_covered", "unpriced"):
        fields[name] = tuple(fields[name])
    return Claim(**fields)


def _read_price(record: Mapping[str, Any]) -> FactPrice:
    fields: dict[str, Any] = dict(record)
    kept = tuple((fact, tuple(values)) for fact, values in fields.pop("kept", ()))
    return FactPrice(kept=kept, **fields)


def format_bound(amount: float | None, digits: int = 6) -> str:
    """Format a bound with few digits, rounded up: the printed guarantee must not exceed the proven one."""
    assert amount is not None, "only a model with a guarantee has bounds"
    text = f"{amount:.{digits}g}"
    if float(text) >= amount * (1 - 1e-12):
        return text
    return f"{Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(amount):.{digits}g}"


def _format_pair(epsilon: float | None, delta: float | None) -> str:
    return f"epsilon = {format_bound(epsilon)}, delta = {format_bound(delta)}"


def _describe_fit(price: FactPrice) -> str:
    if not price.ledger:
        return f"fit {price.fit}, which no ledger file has"
    stated = "" if price.charged_here else ", as the schema states"
    return f"fit {price.fit} of the ledger '{price.ledger}'{stated}"


def _find_columns(facts: tuple[str, ...], name: str) -> set[str]:
    return {fact.rpartition(".")[0] for fact in facts if fact.rpartition(".")[2] == name}


def _list_columns(facts: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(fact.rpartition(".")[0] for fact in facts))


def _list_facts(facts: tuple[str, ...]) -> str:
    """List all facts by column, as 'age (lower, upper)'."""
    grouped: dict[str, list[str]] = {}
    for fact in facts:
        column, _, name = fact.rpartition(".")
        grouped.setdefault(column, []).append(name)
    return ", ".join(f"{column} ({', '.join(names)})" for column, names in grouped.items())
