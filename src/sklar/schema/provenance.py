"""Where each public fact about a column comes from, and which marks a private fit accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast, get_args

Provenance = Literal["public", "assumed", "measured", "pay", "from-rows"]
"""``public``: known to anyone. ``assumed``: the custodian vouches for it. ``measured``: paid from the privacy budget.
``pay``: to be measured, and paid for, before the fit. ``from-rows``: read off the private rows and confirmed by nobody;
a private fit refuses it."""

PROVENANCES: tuple[str, ...] = get_args(Provenance)
DEFAULT: Provenance = "assumed"
BOUGHT = ("pay", "measured")
UNMEASURABLE = ("kind", "integer_labels", "other", "missing_value", "format", "resolution")
"""Facts that no measurement can give: somebody knows them and says so."""

Sources = tuple[tuple[str, Provenance], ...]
"""The provenance of each fact of a column, sorted by fact; facts not named are ``assumed``."""


def normalize_sources(source: str | Mapping[str, str] | Sources, facts: tuple[str, ...]) -> Sources:
    """One word for all facts, or a mapping from fact to word, as sorted pairs without the default.

    The one word "pay" (or "measured") speaks of the facts that can be measured; whoever wrote the column in code chose
    the others, such as its kind.
    """
    pairs = _pairs(source, facts)
    return tuple(sorted((fact, cast(Provenance, word)) for fact, word in pairs if word != DEFAULT))


def source_faults(sources: Sources, facts: tuple[str, ...]) -> list[str]:
    """What is wrong with a column's provenance marks."""
    unknown = [
        f"source names '{fact}', which this kind of column does not have" for fact, _ in sources if fact not in facts
    ]
    words = sorted({str(word) for _, word in sources if word not in PROVENANCES})
    faults = unknown + [f"source is '{word}'; it must be one of {', '.join(PROVENANCES)}" for word in words]
    bought = [fact for fact, word in sources if word in BOUGHT and fact in UNMEASURABLE]
    if bought:
        faults.append(
            f"{', '.join(bought)} cannot be measured, so not be paid for: confirm what is known without the rows, as "
            f'source = {{ {bought[0]} = "assumed" }}, and mark "pay" fact by fact'
        )
    return faults


def _pairs(source: str | Mapping[str, str] | Sources, facts: tuple[str, ...]) -> list[tuple[str, str]]:
    if isinstance(source, str):
        return [(fact, source) for fact in facts if source not in BOUGHT or fact not in UNMEASURABLE]
    if isinstance(source, Mapping):
        return list(source.items())
    return [(fact, word) for fact, word in source]
