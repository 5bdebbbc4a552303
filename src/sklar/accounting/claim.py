"""The claim: what a model promises about the people in the table, in words and as a record. Worth signing, so exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

NOT_COVERED = (
    "how long the fit took, how much memory it used and whether it failed",
    "choices made after looking at reports, comparisons or attacks computed from these rows",
    "facts about the whole population that the table, with or without any one person, reveals",
)
NUMERICS = (
    "Counts are exact integers. Noise is drawn by OpenDP's exact discrete Gaussian and discrete Laplace samplers from "
    "the system's entropy and is never seeded."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTotal:
    """What all fits recorded in one ledger promise together.

    Attributes:
        name: What the custodian calls the dataset.
        fits: Number of fits.
        epsilon: The bound for all of them at `delta`.
        delta: Probability with which it may fail.
        in_advance: Whether the bound needs the budgets of all fits to have been set before the first output.
        cap: The (epsilon, delta) that the ledger never exceeds, whatever its fits depended on; None without a cap.
    """

    name: str
    fits: int
    epsilon: float
    delta: float
    in_advance: bool = False
    cap: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is promised, to whom, and what is not.

    Attributes:
        method: The method that made the model.
        guarantee: Whether the model is differentially private at all.
        epsilon: The bound for this fit at `delta`.
        delta: Probability with which the bound may fail; 0 for pure epsilon.
        rho: zCDP cost of this fit, where it applies.
        accounting: How the releases were added up: "exact" (privacy loss distributions), "gaussian" (squared
            shifts of Gaussian noise, exact too), "zcdp" or "pure".
        neighbours: "add-remove" (the number of rows is private) or "replace" (it is public).
        rows_per_person: The most rows one person may have for the promise to hold.
        ledger: All fits on this dataset together; None if only this fit is known.
        public: Facts marked as known to anyone, as "column.fact".
        assumed: Facts the custodian vouches for; the promise holds if they are not learned from the rows.
        measured: Facts that were measured and paid for.
        rules: Public rules between columns that every synthetic row obeys.
        caveats: What a reader must know about the method itself.
        version: The version of Sklar that made the model.
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

    @property
    def label(self) -> str:
        """The claim in a few words, for outputs too small for all of it."""
        if not self.guarantee:
            return f"NO DP GUARANTEE (method {self.method})"
        return f"differentially private, epsilon = {self.epsilon:.6g}, delta = {self.delta:.6g} (method {self.method})"

    @property
    def notes(self) -> dict[str, str]:
        """What tables of synthetic rows carry along: those of a model that promises nothing always say so."""
        return {} if self.guarantee else {"sklar.guarantee": self.label}

    def to_dict(self) -> dict[str, Any]:
        """The machine-readable record."""
        return asdict(self)

    def __str__(self) -> str:
        sentences = [*(self._promise() if self.guarantee else self._no_promise()), *self.caveats]
        return " ".join(sentence for sentence in sentences if sentence)

    def _promise(self) -> list[str]:
        return [
            f"This model (method {self.method}) is differentially private with epsilon = {self.epsilon:.6g} and "
            f"delta = {self.delta:.6g}, for {self._who()}.",
            self._meaning(),
            self._total(),
            self._facts(),
            f"Not covered: {'; '.join(self.not_covered)}.",
            f"{self.numerics} Sklar {self.version}.",
        ]

    def _no_promise(self) -> list[str]:
        return [
            f"NO DP GUARANTEE: this model (method {self.method}) was learned from rows without differential privacy.",
            "It may reveal facts about single people; do not publish it as if it were private.",
            f"Sklar {self.version}.",
        ]

    def _who(self) -> str:
        rows = "one row" if self.rows_per_person == 1 else f"at most {self.rows_per_person} rows"
        act = "adding or removing" if self.neighbours == "add-remove" else "replacing"
        count = (
            "the number of rows is protected too" if self.neighbours == "add-remove" else "the number of rows is public"
        )
        return f"{act} one person with {rows} ({count}; {_accounting_words(self.accounting)})"

    def _meaning(self) -> str:
        outside = "" if not self.delta else f", except with probability {self.delta:.3g}"
        return (
            f"Whatever anyone concludes from the model, or from any number of rows sampled from it, is at most "
            f"exp({self.epsilon:.4g}) times as likely with as without any single person{outside}."
        )

    def _total(self) -> str:
        if self.ledger is None:
            return "This covers this fit only: no ledger of other fits on the same table was kept."
        total = self.ledger
        cap = (
            ""
            if total.cap is None
            else f" It never goes beyond its cap, epsilon = {total.cap[0]:.6g}, delta = {total.cap[1]:.6g}."
        )
        if total.fits == 1:
            return f"It is the only fit so far in the ledger '{total.name}'.{cap}"
        planned = " if their budgets were set before the first result was seen" if total.in_advance else ""
        return (
            f"All {total.fits} fits in the ledger '{total.name}' together: epsilon = {total.epsilon:.6g}, "
            f"delta = {total.delta:.6g}{planned}.{cap}"
        )

    def _facts(self) -> str:
        parts = [
            f"Taken as known without looking at the rows: {_listed(self.assumed)}." if self.assumed else "",
            f"Marked public by the custodian: {_listed(self.public)}." if self.public else "",
            f"Measured and paid for: {_listed(self.measured)}." if self.measured else "",
            f"Rules taken as public: {'; '.join(self.rules)}." if self.rules else "",
        ]
        return " ".join(part for part in parts if part)


def claim_from_dict(record: Mapping[str, Any]) -> Claim:
    """Rebuild a claim from its record."""
    fields = dict(record)
    if fields.get("ledger") is not None:
        total = dict(fields["ledger"])
        total["cap"] = None if total.get("cap") is None else tuple(total["cap"])
        fields["ledger"] = LedgerTotal(**total)
    for name in ("public", "assumed", "measured", "rules", "caveats", "not_covered"):
        fields[name] = tuple(fields[name])
    return Claim(**fields)


def _accounting_words(accounting: str) -> str:
    words = {
        "exact": "exact accounting by privacy loss distributions",
        "gaussian": "exact accounting for Gaussian noise",
        "zcdp": "accounting by zero-concentrated differential privacy",
        "pure": "pure epsilon, which simply adds up",
    }
    return words.get(accounting, accounting)


def _listed(facts: tuple[str, ...]) -> str:
    """Facts grouped by column, as 'age (lower, upper)'; all of them, since the list is what one vouches for."""
    grouped: dict[str, list[str]] = {}
    for fact in facts:
        column, _, name = fact.rpartition(".")
        grouped.setdefault(column, []).append(name)
    return ", ".join(f"{column} ({', '.join(names)})" for column, names in grouped.items())
