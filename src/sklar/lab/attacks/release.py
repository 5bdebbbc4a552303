"""Attack a synthetic table: every number with an interval, a baseline and a control."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.errors import UsageError
from sklar.given_numbers import is_number, is_whole
from sklar.lab.attacks.attribute import infer_attributes
from sklar.lab.attacks.closeness import find_copies, monte_carlo
from sklar.lab.attacks.result import LABEL, Attacked, AttackResult, Progress
from sklar.lab.attacks.singling_out import link_records, single_out
from sklar.notebook import notebook_bar
from sklar.report.page import NOTICE, write_page
from sklar.sample.rng import substreams
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.lab.tables.table import ExactTable
    from sklar.report.charts.plots import Tradeoff

TABLE_ATTACKS: dict[str, Callable[..., AttackResult]] = {
    "membership": monte_carlo,
    "copies": find_copies,
    "singling-out": single_out,
    "linkability": link_records,
    "attribute": infer_attributes,
}
"""Attack functions by name: (tables, **options)."""
METHOD_OPTIONS = frozenset(
    ("levels", "settings", "profile", "changes", "state", "workers", "random_targets", "features", "classifier",
     "published")
)  # fmt: skip
"""Options that only attacks on a method have."""
Check = tuple[Callable[[Any], bool], str]
"""A predicate that valid values satisfy, and a description of valid values."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Attack(AttackResult):
    """The result of one attack. Computed from real rows without noise: not private.

    Attributes:
        rows: Rows of the tables, by role.
        schema: Public facts about the columns.
        name: The release or method that was attacked.
    """

    rows: Mapping[str, int]
    schema: Schema
    name: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
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
    """Attack a synthetic table. The results are not private. For attacks on a method see `attack_method`.

    Every number is a lower bound on risk: an attack that fails proves nothing.

    Args:
        kind: "membership", "copies", "singling-out", "linkability" or "attribute".
        real: The table that was learned from.
        synthetic: The synthetic table.
        schema: Public facts about the columns, or the path of a schema file.
        holdout: Real rows that the synthesizer never saw. Without it, the result lists what could not be measured.
        name: What to call the release in reports.
        seed: Fixes targets, subsamples and ties (never privacy noise).
        read: How to read the real tables: delimiter, encoding, null_values.
        read_synthetic: How to read the synthetic table.
        progress: Called with the current step and the fraction completed.
        options: Options of the attack, as targets=500; see docs/attacks.md.
    """
    from sklar.lab.tables.reading import read_tables

    require_option(kind, "seed", seed)
    run = _find_attack(kind, options)
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    report = progress or notebook_bar("attacking") or (lambda what, fraction: None)
    report("reading the tables", 0.0)
    exact, table, held = read_tables(real, synthetic, holdout, facts, seed, read, read_synthetic)
    tables = Attacked(real=exact, synthetic=table, holdout=held, rng=substreams(seed, 4)[3], done=report)
    result = run(tables, **options)
    report("done", 1.0)
    return attach_context(result, rows=rows_by_role(exact, table, held), schema=facts, name=name or "synthetic")


def attach_context(result: AttackResult, *, rows: Mapping[str, int], schema: Schema, name: str) -> Attack:
    """Add the tables, schema and name of the release or method to the result of an attack."""
    return Attack(**{f.name: getattr(result, f.name) for f in fields(result)}, rows=rows, schema=schema, name=name)


def rows_by_role(real: ExactTable, synthetic: ExactTable, holdout: ExactTable | None) -> dict[str, int]:
    """Return the number of rows of each table."""
    tables = {"real": real, "synthetic": synthetic, "holdout": holdout}
    return {role: table.total for role, table in tables.items() if table is not None}


def require_attacks(kinds: Sequence[str], sensitive: Sequence[str], holdout: bool) -> None:
    """Reject unknown attacks and attacks that lack an input they need, before any work is done."""
    for kind in kinds:
        _find_attack(kind, {})
        if kind == "membership" and not holdout:
            raise UsageError("the attack 'membership' needs a hold-out table; give one, or leave the attack out.")
        if kind == "attribute" and not sensitive:
            raise UsageError("the attack 'attribute' needs the names of sensitive columns.")


def attack_tables(
    real: ExactTable, synthetic: ExactTable, holdout: ExactTable | None, kinds: Sequence[str], sensitive: Sequence[str],
    seed: int, done: Progress = lambda what, fraction: None,
) -> tuple[AttackResult, ...]:  # fmt: skip
    """Run several attacks with default options on tables in memory; `done` receives the progress."""
    options: dict[str, dict[str, Any]] = {"attribute": {"sensitive": tuple(sensitive)}}
    streams = substreams(seed, 4 + len(kinds))[4:]
    found: list[AttackResult] = []
    for at, (kind, rng) in enumerate(zip(kinds, streams, strict=True)):

        def report(what: str, fraction: float, at: int = at, kind: str = kind) -> None:
            done(f"attack {kind}, {what}", (at + fraction) / len(kinds))

        tables = Attacked(real=real, synthetic=synthetic, holdout=holdout, rng=rng, done=report)
        report("starting", 0.0)
        found.append(TABLE_ATTACKS[kind](tables, **options.get(kind, {})))
    return tuple(found)


def _find_attack(kind: str, options: Mapping[str, Any]) -> Callable[..., AttackResult]:
    if kind not in TABLE_ATTACKS:
        raise UsageError(
            f"there is no attack '{kind}'; the attacks are: {', '.join(TABLE_ATTACKS)}; on a method, see attack_method."
        )
    refuse_unknown_options(kind, TABLE_ATTACKS[kind], options)
    return TABLE_ATTACKS[kind]


def write_attack_report(
    attacks: Sequence[Attack], path: str | PathLike[str], plot: Tradeoff | None = None, choice: Any = None
) -> None:
    """Write one report on one or several attacks, with an optional privacy-utility plot and choice of level."""
    values = {"title": "Attacks on the release", "label": LABEL, "attacks": attacks, "plot": plot, "choice": choice}
    write_page(path, "attacks.html", **values)


def refuse_unknown_options(kind: str, run: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Reject options that the attack does not have, and values that are invalid for it."""
    known = {p.name: p.default for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY}
    for name, value in options.items():
        if name not in known:
            hint = " It belongs to attacks on a method: see attack_method." if name in METHOD_OPTIONS else ""
            raise UsageError(f"the attack '{kind}' has no option '{name}'; its options are: {', '.join(known)}.{hint}")
        if value is not None or known[name] is not None:
            require_option(kind, name, value)


def require_option(kind: str, name: str, value: Any) -> None:
    """Reject an invalid value of an option."""
    check = CHECKS.get(f"{kind}.{name}") or CHECKS.get(name)
    if check is not None and not check[0](value):
        raise UsageError(f"{name} must be {check[1]}; found {value!r}.")


def _require_whole(least: int) -> Check:
    return lambda value: is_whole(value, least), f"a whole number of at least {least}"


def _require_number(low: float, high: float, words: str) -> Check:
    return lambda value: is_number(value) and low < float(value) < high, words


def _is_list_of(inside: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, Iterable) and not isinstance(value, str | Mapping) and all(map(inside, value))
    )


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


TEXT: Check = (_is(str), "a word")
NAMES: Check = (lambda value: isinstance(value, str) or _is_list_of(_is(str))(value), "a name or a list of names")
ROW_NUMBERS: Check = (_is_list_of(lambda x: is_whole(x, 0)), "a list of rows, such as [3, 17]")
CHECKS: dict[str, Check] = {
    "seed": _require_whole(0), "iterations": _require_whole(1), "cells": _require_whole(2),
    "guesses": _require_whole(1), "bootstraps": _require_whole(2), "random_targets": _require_whole(0),
    "workers": _require_whole(1), "targets": _require_whole(1), "shadow.targets": ROW_NUMBERS,
    "published": (_is(bool), "True or False"), "attribute.targets": ROW_NUMBERS,
    "distance": TEXT, "profile": TEXT, "classifier": TEXT, "sensitive": NAMES,
    "features": NAMES, "singling-out.columns": _require_whole(1),
    "linkability.columns": (
        lambda value: _is_list_of(_is_list_of(_is(str)))(value) and len(list(value)) == 2, "two lists of columns"
    ),
    "tolerance": _require_number(0.0, 1.0, "a number between 0 and 1"),
    "epsilon": _require_number(0.0, math.inf, "a number above 0"),
    "changes": (_is(Mapping), "parameters of the profile by name, such as {'iterations': 5}"),
    "settings": (_is(Mapping), "settings of the method by name, such as {'epsilon': 1.0}"),
    "levels": (_is_list_of(lambda x: is_whole(x, 1)), "a list of truncation levels, such as [1, 5, 10]"),
    "state": (_is(str, PathLike), "the path of a folder"),
}  # fmt: skip
"""Checks of option values by option, or by attack and option where attacks differ."""
