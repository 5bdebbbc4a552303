"""Attack a release as an adversary would (disclosed): every number with its interval, a baseline and a control."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.errors import UsageError
from sklar.pipeline.attack_options import refuse_unknown_options, require_seed
from sklar.sample.rng import substreams
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.disclosed.attacks.result import AttackResult, Number
    from sklar.disclosed.metrics.table import ExactTable

NOTICE = "For the custodian: computed from real rows, not private."
LABEL = "a lower bound on risk: an attack that fails proves nothing"
METHOD_ATTACKS = ("shadow", "attribute")
"""Attacks on a method: it is fitted again and again on samples of the real table."""
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attack:
    """What one attack found. Computed from real rows without noise: not private.

    Attributes:
        result: The numbers, what could not be measured, and the settings.
        rows: Rows of the tables, by role.
        schema: Public facts about the columns.
        name: The release or method that was attacked.
    """

    result: AttackResult
    rows: Mapping[str, int]
    schema: Schema
    name: str

    def __getitem__(self, name: str) -> Number:
        """A number by name."""
        return self.result[name]

    @property
    def kind(self) -> str:
        """The attack."""
        return self.result.kind

    @property
    def numbers(self) -> tuple[Number, ...]:
        """What was measured."""
        return self.result.numbers

    @property
    def missing(self) -> tuple[str, ...]:
        """What could not be measured, and why."""
        return self.result.missing

    @property
    def verdict(self) -> tuple[str, ...]:
        """What the numbers mean, in plain sentences."""
        return self.result.verdict

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {"notice": NOTICE, "name": self.name, "rows": dict(self.rows), **self.result.to_dict()}

    def html(self, path: str | PathLike[str]) -> None:
        """Write the report, readable by the owner only; the name must end in .custodian.html."""
        write_attack_report([self], path)


def attack(
    kind: str,
    real: Any,
    synthetic: Any,
    schema: Schema | str | PathLike[str],
    holdout: Any = None,
    *,
    method: Any = None,
    name: str | None = None,
    seed: int = 0,
    reader: Mapping[str, Any] | None = None,
    synthetic_reader: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Attack:
    """Attack a synthetic table, or a method. Disclosed: the results are not private.

    Every number is a lower bound on risk: an attack that fails proves nothing.

    Args:
        kind: On a table: "membership", "copies", "singling-out", "linkability" or "attribute". On a method: "shadow"
            (membership by shadow models) or "attribute" (from fits on reference samples).
        real: The table that was learned from.
        synthetic: The synthetic table; None if a method is attacked.
        schema: Public facts about the columns, or the path of a schema file.
        holdout: Real rows that the synthesizer never saw. Without it, what cannot be measured is told.
        method: The name of a method, a `Generator`, or a function (table, rows, seed) -> table.
        name: What to call the release in reports.
        seed: Fixes targets, subsamples and ties (never privacy noise).
        reader: How to read the real tables: delimiter, encoding, null_values.
        synthetic_reader: The same for the synthetic table.
        progress: Told what is being computed, and the fraction that is done.
        options: Options of the attack, as targets=500; see docs/attacks.md.
    """
    require_seed(seed)
    if method is not None or kind == "shadow":
        from sklar.pipeline.attack_method import attack_method

        given = {"synthetic": synthetic, "holdout": holdout, "synthetic_reader": synthetic_reader}
        idle = [what for what, value in given.items() if value is not None]
        if idle and method is not None:
            raise UsageError(
                f"an attack on a method draws its own tables and rows for control: leave {idle[0]} out, or the method."
            )
        return attack_method(
            kind, real, schema, method, name=name, seed=seed, reader=reader, progress=progress, options=options
        )
    run = _find(kind, options)
    if synthetic is None:
        raise UsageError(f"the attack '{kind}' needs a synthetic table, or a method to fit.")
    return _attack_table(run, real, synthetic, schema, holdout, name, seed, reader, synthetic_reader, progress, options)


def _attack_table(
    run: Callable[..., AttackResult], real: Any, synthetic: Any, schema: Schema | str | PathLike[str], holdout: Any,
    name: str | None, seed: int, reader: Mapping[str, Any] | None, synthetic_reader: Mapping[str, Any] | None,
    progress: Progress | None, options: Mapping[str, Any],
) -> Attack:  # fmt: skip
    from sklar.disclosed.metrics.reading import read_table

    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    tell = progress or (lambda what, fraction: None)
    streams = substreams(seed, 4)
    reading = dict(reader or {})
    other = {k: v for k, v in reading.items() if k != "sql"} if synthetic_reader is None else synthetic_reader
    tell("reading the tables", 0.0)
    exact = read_table(real, facts, streams[0], role="real", reader=reading)
    held = None if holdout is None else read_table(holdout, facts, streams[1], role="hold-out", reader=reading)
    table = read_table(synthetic, facts, streams[2], role="synthetic", reader=other)
    result = run(exact, table, streams[3], holdout=held, done=tell, **options)
    tell("done", 1.0)
    rows = {"real": exact.total, "synthetic": table.total, **({} if held is None else {"holdout": held.total})}
    return Attack(result=result, rows=rows, schema=facts, name=name or "synthetic")


def require_attacks(kinds: Sequence[str], sensitive: Sequence[str], holdout: bool) -> None:
    """Refuse attacks on a table that do not exist, or lack what they need, before any work is done."""
    for kind in kinds:
        _find(kind, {})
        if kind == "membership" and not holdout:
            raise UsageError(
                "the attack 'membership' cannot be measured without a hold-out; give one, or leave it out."
            )
        if kind == "attribute" and not sensitive:
            raise UsageError("the attack 'attribute' needs to know which columns are sensitive.")


def attack_tables(
    real: ExactTable, synthetic: ExactTable, holdout: ExactTable | None, kinds: Sequence[str], sensitive: Sequence[str],
    seed: int,
) -> tuple[AttackResult, ...]:  # fmt: skip
    """Several attacks with their default options on tables that are read already."""
    from sklar.disclosed.attacks.registry import TABLE_ATTACKS

    options: dict[str, dict[str, Any]] = {"attribute": {"sensitive": tuple(sensitive)}}
    streams = substreams(seed, 4 + len(kinds))[4:]
    return tuple(
        TABLE_ATTACKS[kind](real, synthetic, rng, holdout=holdout, **options.get(kind, {}))
        for kind, rng in zip(kinds, streams, strict=True)
    )


def attack_kinds() -> tuple[str, ...]:
    """The names of all attacks."""
    from sklar.disclosed.attacks.registry import TABLE_ATTACKS

    return tuple(dict.fromkeys((*TABLE_ATTACKS, *METHOD_ATTACKS)))


def _find(kind: str, options: Mapping[str, Any]) -> Callable[..., AttackResult]:
    from sklar.disclosed.attacks.registry import TABLE_ATTACKS

    if kind not in TABLE_ATTACKS:
        raise UsageError(f"there is no attack '{kind}'; the attacks are: {', '.join(attack_kinds())}.")
    refuse_unknown_options(kind, TABLE_ATTACKS[kind], options, ("holdout", "done"))
    return TABLE_ATTACKS[kind]


def write_attack_report(attacks: Sequence[Attack], path: str | PathLike[str]) -> None:
    """Write one report on one or several attacks, readable by its owner only."""
    from sklar.export.atomic import atomic_file
    from sklar.pipeline.attack_report import attack_report_page
    from sklar.pipeline.evaluate import require_report

    require_report(path)
    page = attack_report_page(attacks)
    with atomic_file(path, mode=0o600) as file:
        file.write(page.encode())


def write_attack_json(attacks: Sequence[Attack], path: str | PathLike[str]) -> None:
    """Write all results as JSON, readable by its owner only: an object, or a list of them for several attacks."""
    from sklar.export.atomic import atomic_file

    found = [one.to_dict() for one in attacks]
    text = json.dumps(found[0] if len(found) == 1 else found, indent=2, ensure_ascii=False, allow_nan=False)
    with atomic_file(path, mode=0o600) as file:
        file.write(text.encode())
