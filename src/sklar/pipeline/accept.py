"""Release a model only if it meets stated criteria, decided on the noisy tables that were held back.

The decision depends on releases alone, so the claim covers it. A refused model has spent its budget all the same, and
reveals no more than that it was refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sklar.errors import NotAcceptedError, UsageError
from sklar.given_numbers import is_number
from sklar.inference.checks.held_out import HeldOut, score_held_out
from sklar.inference.errors_of_tables import score_together
from sklar.inference.fitted import Fitted
from sklar.sample.rng import named_streams

HELD_OUT_ROWS = 50_000
"""Rows drawn from the model to compare it with the tables that were held back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria that a model must be shown to meet, at a joint confidence.

    Attributes:
        typical_error: Maximum typical error of a cell in tables it was not fitted to, as a share of rows.
        auc_gap: Maximum difference of a scorecard's AUC for the target between rows of the model and real rows.
        contradictions: Maximum number of held-back tables that contradict the model.
        confidence: Joint confidence of the statements about errors and AUC.
    """

    typical_error: float | None = None
    auc_gap: float | None = None
    contradictions: int | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("typical_error", "auc_gap", "confidence"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0 < value <= 1):
                raise UsageError(f"{name} must be a number above 0 and at most 1; got {value!r}")
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"confidence must be at least 0.5 and below 1; got {self.confidence!r}")
        if self.contradictions is not None and (type(self.contradictions) is not int or self.contradictions < 0):
            raise UsageError(f"contradictions must be a whole number of tables; got {self.contradictions!r}")
        if self.typical_error is None and self.auc_gap is None and self.contradictions is None:
            raise UsageError("criteria must contain at least one of typical_error, auc_gap and contradictions")

    def to_dict(self) -> dict[str, Any]:
        """Return the criteria that are stated."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def read_criteria(given: Criteria | Mapping[str, Any] | str | PathLike[str]) -> Criteria:
    """Return criteria from a TOML file, as `typical_error = 0.01`, or from plain data."""
    if isinstance(given, Criteria):
        return given
    if isinstance(given, Mapping):
        found = dict(given)
    elif not isinstance(given, str | PathLike):
        raise UsageError(f"criteria must be a mapping or the path of a TOML file, not a {type(given).__name__}")
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
        raise UsageError(f"unknown criterion '{unknown[0]}'; the criteria are: {', '.join(known)}")
    return Criteria(**found)


def check_held_out(fitted: Fitted) -> HeldOut:
    """Compare the model with what was held back; the same model gives the same result."""
    return score_held_out(fitted, HELD_OUT_ROWS, named_streams(fitted.seed)("held out"))


def unmet_criteria(found: HeldOut, criteria: Criteria) -> tuple[str, ...]:
    """Return the criteria that could not be shown to hold, as sentences; empty if the model is accepted.

    Each statement is made with its part of the permitted error (Bonferroni), by the end of a one-sided interval; that
    of the AUC by two of them (two one-sided tests: the interval must lie inside the limits).
    """
    stated = [criteria.typical_error, criteria.auc_gap]
    each = (1.0 - criteria.confidence) / max(sum(limit is not None for limit in stated), 1)
    reasons: list[str] = []
    if criteria.typical_error is not None:
        part = score_together(found.squared, confidence=1.0 - 2.0 * each)
        assert part is not None
        if part.high > criteria.typical_error:
            reasons.append(f"typical_error may be {part.high:.3g}, above {criteria.typical_error:.3g}")
    if criteria.auc_gap is not None:
        if found.auc is None:
            reasons.append("auc_gap cannot be determined: no target was declared, or it has only one value")
        else:
            gap = max(abs(end - found.auc.model) for end in found.auc.interval(1.0 - 2.0 * each))
            if gap > criteria.auc_gap:
                reasons.append(f"auc_gap may be {gap:.3g}, above {criteria.auc_gap:.3g}")
    if criteria.contradictions is not None and len(found.contradicted) > criteria.contradictions:
        reasons.append(f"{len(found.contradicted)} tables contradict the model, more than {criteria.contradictions}")
    return tuple(reasons)


def not_accepted(reasons: tuple[str, ...]) -> NotAcceptedError:
    """Return the error for a model that was not accepted."""
    return NotAcceptedError(
        f"the model is not released: {'; '.join(reasons)}. This was decided on noisy tables, inside the claim; the "
        "budget is spent all the same. Try a larger epsilon or check_share, or wider criteria.",
        reasons=reasons,
    )
