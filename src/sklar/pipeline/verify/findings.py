"""Results of a verification: one line per part, and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklar import notebook

LIMITS = (
    "Files cannot prove that the noise was really drawn as they state. For that there are the audit of the method and "
    "the custodian's signature."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One part of a release.

    Attributes:
        part: The part that was checked.
        ok: Whether it is correct; None if it was not checked.
        says: The finding, or the reason why it was not checked.
    """

    part: str
    ok: bool | None
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """All checks of one file."""

    file: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.ok is not False for check in self.checks)

    @property
    def verdict(self) -> str:
        """The result in one or two sentences."""
        wrong = [check.part for check in self.checks if check.ok is False]
        if wrong:
            return f"NOT VERIFIED: {self.file} is not consistent with its claim (see {', '.join(wrong)})."
        left = [check.part for check in self.checks if check.ok is None]
        rest = f" Not checked: {', '.join(left)}." if left else ""
        return f"Verified: nothing in {self.file} contradicts its claim.{rest}"

    def __getitem__(self, part: str) -> Check:
        return next(check for check in self.checks if check.part == part)

    def __str__(self) -> str:
        lines = [f"{_mark(check)} {check.part}: {check.says}" for check in self.checks]
        return "\n".join([*lines, self.verdict, LIMITS])

    def _repr_html_(self) -> str:
        rows = [(_mark(check), check.part, check.says) for check in self.checks]
        table = notebook.make_table(("", "part", "finding"), rows)
        return notebook.make_card(self.verdict, table, notebook.make_paragraph(LIMITS))

    def to_dict(self) -> dict[str, Any]:
        """Return the machine-readable record."""
        checks = [{"part": check.part, "ok": check.ok, "says": check.says} for check in self.checks]
        return {"file": self.file, "ok": self.ok, "verdict": self.verdict, "checks": checks, "limits": LIMITS}


def _mark(check: Check) -> str:
    return "-" if check.ok is None else "ok" if check.ok else "WRONG"
