"""Attack a synthetic table as an adversary would (disclosed): every number with its interval, a baseline, a control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.disclosed.attacks.result import LABEL, AttackResult
from sklar.errors import UsageError
from sklar.pipeline.attack_options import refuse_unknown_options, require_seed
from sklar.pipeline.custodian import NOTICE, write_page
from sklar.sample.rng import substreams
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.disclosed.metrics.table import ExactTable
    from sklar.report.tradeoff import Tradeoff

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attack(AttackResult):
    """What one attack found. Computed from real rows without noise: not private.

    Attributes:
        rows: Rows of the tables, by role.
        schema: Public facts about the columns.
        name: The release or method that was attacked.
    """

    rows: Mapping[str, int]
    schema: Schema
    name: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {"notice": NOTICE, "name": self.name, "rows": dict(self.rows), **AttackResult.to_dict(self)}

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
    name: str | None = None,
    seed: int = 0,
    read: ReadOptions | None = None,
    read_synthetic: ReadOptions | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Attack:
    """Attack a synthetic table. Disclosed: the results are not private. For attacks on a method see `attack_method`.

    Every number is a lower bound on risk: an attack that fails proves nothing.

    Args:
        kind: "membership", "copies", "singling-out", "linkability" or "attribute".
        real: The table that was learned from.
        synthetic: The synthetic table.
        schema: Public facts about the columns, or the path of a schema file.
        holdout: Real rows that the synthesizer never saw. Without it, what cannot be measured is told.
        name: What to call the release in reports.
        seed: Fixes targets, subsamples and ties (never privacy noise).
        read: How to read the real tables: delimiter, encoding, null_values.
        read_synthetic: The same for the synthetic table.
        progress: Told what is being computed, and the fraction that is done.
        options: Options of the attack, as targets=500; see docs/attacks.md.
    """
    from sklar.disclosed.metrics.reading import read_table

    require_seed(seed)
    run = _find(kind, options)
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    tell = progress or (lambda what, fraction: None)
    streams = substreams(seed, 4)
    reading = read or ReadOptions()
    other = replace(reading, sql=None, rows_are_rows=False) if read_synthetic is None else read_synthetic
    tell("reading the tables", 0.0)
    exact = read_table(real, facts, streams[0], role="real", read=reading)
    held = None if holdout is None else read_table(holdout, facts, streams[1], role="hold-out", read=reading)
    table = read_table(synthetic, facts, streams[2], role="synthetic", read=other)
    result = run(exact, table, streams[3], holdout=held, done=tell, **options)
    tell("done", 1.0)
    return found_by(result, rows=rows_by_role(exact, table, held), schema=facts, name=name or "synthetic")


def found_by(result: AttackResult, *, rows: Mapping[str, int], schema: Schema, name: str) -> Attack:
    """What an attack found, with what it was made on."""
    return Attack(**{f.name: getattr(result, f.name) for f in fields(result)}, rows=rows, schema=schema, name=name)


def rows_by_role(real: ExactTable, synthetic: ExactTable, holdout: ExactTable | None) -> dict[str, int]:
    """How many rows the tables have."""
    tables = {"real": real, "synthetic": synthetic, "holdout": holdout}
    return {role: table.total for role, table in tables.items() if table is not None}


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


def _find(kind: str, options: Mapping[str, Any]) -> Callable[..., AttackResult]:
    from sklar.disclosed.attacks.registry import TABLE_ATTACKS

    if kind not in TABLE_ATTACKS:
        raise UsageError(
            f"there is no attack '{kind}'; the attacks are: {', '.join(TABLE_ATTACKS)}; on a method, see attack_method."
        )
    refuse_unknown_options(kind, TABLE_ATTACKS[kind], options, ("holdout", "done"))
    return TABLE_ATTACKS[kind]


def write_attack_report(attacks: Sequence[Attack], path: str | PathLike[str], plot: Tradeoff | None = None) -> None:
    """Write one report on one or several attacks, with a privacy-utility plot if there is one."""
    write_page(path, "attacks.html", label=LABEL, attacks=attacks, plot=plot)
