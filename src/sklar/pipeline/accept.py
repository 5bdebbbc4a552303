"""Release a model only if it meets stated criteria, decided on the noisy tables that were held back.

What is decided follows from releases alone, so it is covered by the claim: a model that is refused has spent its budget
all the same, and says no more than that it was refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sklar.errors import NotAcceptedError, UsageError
from sklar.inference.checks.held_out import HeldOut, held_out
from sklar.inference.errors_of_tables import score_together
from sklar.inference.fitted import Fitted
from sklar.sample.rng import named_streams

DRAWN = 50_000
"""Rows drawn from the model to count its tables on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """What a model must be shown to be, with a confidence that holds for all of it together.

    Attributes:
        typical_error: Most that a cell of tables it was not fitted to is typically off, as a share of rows.
        auc_gap: Most that the AUC of a scorecard for the target differs between rows of the model and real ones.
        contradictions: Most tables held back that the model contradicts.
        confidence: Of the statements about errors and AUC.
    """

    typical_error: float | None = None
    auc_gap: float | None = None
    contradictions: int | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("typical_error", "auc_gap"):
            _require_number(name, getattr(self, name), 1.0)
        _require_number("confidence", self.confidence, 1.0)
        if self.confidence < 0.5 or self.confidence >= 1:
            raise UsageError(f"confidence lies between 0.5 and 1; {self.confidence!r} was given")
        if self.contradictions is not None and (type(self.contradictions) is not int or self.contradictions < 0):
            raise UsageError(f"contradictions is a whole number of tables; {self.contradictions!r} was given")
        if self.typical_error is None and self.auc_gap is None and self.contradictions is None:
            raise UsageError("criteria name at least one of typical_error, auc_gap and contradictions")

    def to_dict(self) -> dict[str, Any]:
        """Those that are stated."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def _require_number(name: str, value: object, top: float) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, float | int) or not 0 < value <= top:
        raise UsageError(f"{name} is a number above 0 and at most {top:g}; {value!r} was given")


def read_criteria(given: Criteria | Mapping[str, Any] | str | PathLike[str]) -> Criteria:
    """Criteria from a TOML file, as `typical_error = 0.01`, or from plain data."""
    if isinstance(given, Criteria):
        return given
    if isinstance(given, Mapping):
        found = dict(given)
    elif not isinstance(given, str | PathLike):
        raise UsageError(f"criteria are a mapping or the path of a TOML file, not a {type(given).__name__}")
    else:
        try:
            found = tomllib.loads(Path(given).read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"cannot read the criteria {fspath(given)}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise UsageError(f"the criteria {fspath(given)} are not a TOML file") from None
    known = [field.name for field in fields(Criteria)]
    unknown = [name for name in found if name not in known]
    if unknown:
        raise UsageError(f"there is no criterion '{unknown[0]}'; the criteria are: {', '.join(known)}")
    return Criteria(**found)


def found_out(fitted: Fitted) -> HeldOut:
    """The model against what was held back, the same each time."""
    return held_out(fitted, DRAWN, named_streams(fitted.seed)("held out"))


def unmet(found: HeldOut, criteria: Criteria) -> tuple[str, ...]:
    """What could not be shown, in sentences; nothing if the model is accepted.

    Each statement is made with its part of the permitted error (Bonferroni), by the end of a one-sided interval; that
    of the AUC by two of them (two one-sided tests: the interval must lie inside the limits).
    """
    stated = [criteria.typical_error, criteria.auc_gap]
    each = (1.0 - criteria.confidence) / max(sum(limit is not None for limit in stated), 1)
    said: list[str] = []
    if criteria.typical_error is not None:
        part = score_together(found.squared, confidence=1.0 - 2.0 * each)
        assert part is not None
        if part.high > criteria.typical_error:
            said.append(f"typical_error may be {part.high:.3g}, above {criteria.typical_error:.3g}")
    if criteria.auc_gap is not None:
        if found.auc is None:
            said.append("auc_gap cannot be told: no target was declared, or it has one value")
        else:
            gap = max(abs(end - found.auc.model) for end in found.auc.interval(1.0 - 2.0 * each))
            if gap > criteria.auc_gap:
                said.append(f"auc_gap may be {gap:.3g}, above {criteria.auc_gap:.3g}")
    if criteria.contradictions is not None and len(found.contradicted) > criteria.contradictions:
        said.append(f"{len(found.contradicted)} tables contradict the model, more than {criteria.contradictions}")
    return tuple(said)


def refusal(reasons: tuple[str, ...]) -> NotAcceptedError:
    """The answer to a model that was not accepted."""
    return NotAcceptedError(
        f"the model is not released: {'; '.join(reasons)}. This was decided on noisy tables, inside the claim; the "
        "budget is spent all the same. A larger epsilon or check_share, or wider criteria, may be met.",
        reasons=reasons,
    )
