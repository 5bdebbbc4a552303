"""What attacks found, as the plain facts of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sklar
from sklar.pipeline.attack import LABEL, NOTICE, Attack
from sklar.report.attack_facts import AttackFact, NumberFact
from sklar.report.attack_page import AttackPageFacts, render_attacks
from sklar.report.tradeoff import Tradeoff

if TYPE_CHECKING:
    from sklar.disclosed.attacks.result import AttackResult, Number
    from sklar.disclosed.intervals import Estimate


def attack_report_page(attacks: Sequence[Attack], plot: Tradeoff | None = None) -> str:
    """The page on one or several attacks, with a privacy-utility plot if there is one."""
    first = attacks[0]
    return render_attacks(
        AttackPageFacts(
            notice=NOTICE,
            label=LABEL,
            rows=tuple(first.rows.items()),
            confidence=first.result.level,
            version=sklar.__version__,
            attacks=tuple(attack_fact(attack.result, attack.name) for attack in attacks),
            tradeoff=plot,
        )
    )


def attack_fact(result: AttackResult, release: str) -> AttackFact:
    """One attack."""
    return AttackFact(
        title=result.title,
        release=release,
        verdict=result.verdict,
        numbers=tuple(_number(number) for number in result.numbers),
        missing=result.missing,
        settings=tuple((key.replace("_", " "), _text(value)) for key, value in result.settings.items()),
        bound=result.details.get("dp_bound"),
    )


def _number(number: Number) -> NumberFact:
    return NumberFact(
        title=number.title, says=number.says, attack=_range(number.attack),
        baseline=None if number.baseline is None else _range(number.baseline),
        control=None if number.control is None else _range(number.control), ideal=number.ideal, worse=number.worse,
        alarming=number.alarming,
    )  # fmt: skip


def _range(found: Estimate) -> tuple[float, float, float]:
    return found.value, found.low, found.high


def _text(value: Any) -> str:
    return ", ".join(_text(item) for item in value) if isinstance(value, list | tuple) else str(value)
