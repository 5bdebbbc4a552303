"""Singling out and linkability, after Giomi et al. (2023).

**Singling out: does a rule that fits exactly one synthetic row fit exactly one real row?** The attacker makes rules
from synthetic rows: a few columns, labels equal to those of the row, numbers at least or at most the row's value (away
from the median). Rules that fit one synthetic row only are guesses; a guess succeeds if it fits exactly one row of a
table of real people. The same guesses are tried on an equal number of hold-out rows (control), and rules with random
values of the public domain are tried on the real rows (baseline).

**Linkability: does the release show which record of one table belongs to which record of another?** The attacker knows
some columns of a person from one source and other columns from another source. For each source it finds the closest
synthetic row; if both are the same row, it links the two records. The attack uses real rows cut in two, and hold-out
rows (control); without the release a link is a random guess among all rows (baseline).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.errors import UsageError
from sklar.lab.attacks.distances import MAX_RELEASE_ROWS, nearest_points, row_points
from sklar.lab.attacks.result import Attacked, AttackResult, Number
from sklar.lab.intervals import Estimate, clopper_pearson, exact_estimate
from sklar.lab.tables.table import ExactTable, ordered_values

MAX_TESTED_ROWS = 20_000
"""Maximum number of rows on which guesses are tested. Time grows with it, and in more rows fewer rules fit one
alone."""
TRIES_PER_GUESS = 30
"""Rules tried for each guess wanted: more find more guesses where few rules fit one row, and take more time."""
NO_HOLDOUT = (
    "Without a hold-out table it is unknown how often such rules single out somebody who is not in the table: "
    "success may come from the population, not from the release."
)
NO_HOLDOUT_LINKS = "Without a hold-out table it is unknown how often people who are not in the table would be linked."
Sides = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One condition of a rule: code equal (sign 0), value at least (1) or at most (-1); NaN means null."""

    column: str
    sign: int
    value: float


Rule = tuple[Term, ...]


def single_out(tables: Attacked, *, guesses: int = 500, columns: int = 4) -> AttackResult:
    """Guess with rules of `columns` columns and with all rules of one column, at most `guesses` of each."""
    real, rng = tables.real, tables.rng
    rows = min(MAX_TESTED_ROWS, real.rows, real.rows if tables.holdout is None else tables.holdout.rows)
    people, others = real.sample(rows, rng), tables.control(lambda holdout: holdout.sample(rows, rng))
    release = tables.synthetic.sample(rows, rng)
    wide = min(columns, len(real.names))
    numbers: list[Number] = []
    for name, title, rules in (
        ("several_columns", f"rules of {wide} columns", _find_joint_rules(release, guesses, wide, rng)),
        ("one_column", "rules of one column", _find_column_rules(release, guesses, rng)),
    ):
        tables.done(title, 0.5)
        if rules:
            numbers.append(_try_rules(name, title, rules, people, others, rng))
    missing = tables.missing(NO_HOLDOUT)
    if len(numbers) < 2:
        missing = (*missing, "Some rules could not be tried: no rule fits exactly one synthetic row.")
    return AttackResult(
        kind="singling-out",
        title="Singling out",
        numbers=tuple(numbers),
        missing=missing,
        settings={"guesses": guesses, "columns": wide, "rows": rows},
    )


def match_rule(table: ExactTable, rule: Rule) -> Mask:
    """Return a mask of the rows that a rule fits."""
    mask = np.ones(table.rows, dtype=bool)
    for term in rule:
        if term.sign == 0:
            mask &= table.codes[term.column] == int(term.value)
            continue
        values = ordered_values(table, term.column)
        if np.isnan(term.value):
            mask &= np.isnan(values)
        else:
            mask &= values >= term.value if term.sign > 0 else values <= term.value
    return mask


def _try_rules(
    name: str, title: str, rules: Sequence[Rule], people: ExactTable, others: ExactTable | None,
    rng: np.random.Generator,
) -> Number:  # fmt: skip
    blind = [tuple(_random_term(people, term, rng) for term in rule) for rule in rules]
    return Number(
        name=name,
        title=f"share of {title} that single out one person",
        says="A rule that fits exactly one synthetic row is tried on the same number of real people.",
        attack=_estimate_success(people, rules),
        baseline=_estimate_success(people, blind),
        control=None if others is None else _estimate_success(others, rules),
        trials=len(rules),
    )


def _estimate_success(table: ExactTable, rules: Sequence[Rule]) -> Estimate:
    return clopper_pearson(sum(int(match_rule(table, rule).sum()) == 1 for rule in rules), len(rules))


def _find_joint_rules(release: ExactTable, guesses: int, columns: int, rng: np.random.Generator) -> list[Rule]:
    ordered = [name for name in release.names if release.schema[name].ordered]
    medians = {name: _compute_median(release, name) for name in ordered}
    found: dict[Rule, None] = {}
    for _ in range(TRIES_PER_GUESS * guesses):
        if len(found) >= guesses:
            break
        row = int(rng.integers(release.rows))
        names = rng.choice(len(release.names), columns, replace=False)
        rule = tuple(_make_term(release, release.names[i], row, medians) for i in sorted(names))
        if int(match_rule(release, rule).sum()) == 1:
            found[rule] = None
    return list(found)


def _find_column_rules(release: ExactTable, guesses: int, rng: np.random.Generator) -> list[Rule]:
    """Return rules for labels that occur once and for extremes that only one row has."""
    rules: list[Rule] = []
    for name in release.names:
        if not release.schema[name].ordered:
            codes, counts = np.unique(release.codes[name], return_counts=True)
            rules += [(Term(column=name, sign=0, value=float(code)),) for code in codes[counts == 1]]
            continue
        values = ordered_values(release, name)
        known = values[~np.isnan(values)]
        for sign, extreme in ((1, known.max()), (-1, known.min())) if len(known) else ():
            if int((known == extreme).sum()) == 1:
                rules.append((Term(column=name, sign=sign, value=float(extreme)),))
    return [rules[i] for i in rng.permutation(len(rules))[:guesses]]


def _make_term(release: ExactTable, name: str, row: int, medians: dict[str, float]) -> Term:
    if name not in medians:
        return Term(column=name, sign=0, value=float(release.codes[name][row]))
    value = float(ordered_values(release, name)[row])
    return Term(column=name, sign=1 if np.isnan(value) or value >= medians[name] else -1, value=value)


def _random_term(table: ExactTable, term: Term, rng: np.random.Generator) -> Term:
    """Replace the value of a condition by a random one of the public domain."""
    column = table.schema[term.column]
    if term.sign == 0 or not column.numeric:
        return replace(term, value=float(rng.integers(column.value_cells)))
    starts = column.grid.starts  # type: ignore[attr-defined]
    return replace(term, value=float(rng.uniform(float(starts[0]), float(starts[-1]))))


def _compute_median(table: ExactTable, name: str) -> float:
    values = ordered_values(table, name)
    return 0.0 if np.isnan(values).all() else float(np.nanmedian(values))


def link_records(
    tables: Attacked, *, targets: int = 1_000, columns: Sequence[Sequence[str]] | None = None
) -> AttackResult:
    """Link `targets` people; `columns` are the columns of the two sources, by default every other column."""
    real, rng = tables.real, tables.rng
    sides = _split_columns(real, columns)
    release = tables.synthetic.sample(MAX_RELEASE_ROWS, rng)
    tables.done("linking", 0.1)
    number = Number(
        name="linked",
        title="share of people whose two records point to the same synthetic row",
        says="The closest synthetic row is found from each half of the columns alone.",
        attack=_estimate_links(real, release, real.sample(targets, rng), sides, rng),
        baseline=exact_estimate(1.0 / release.rows),
        control=tables.control(
            lambda holdout: _estimate_links(real, release, holdout.sample(targets, rng), sides, rng)
        ),
        trials=min(targets, real.rows),
    )
    return AttackResult(
        kind="linkability",
        title="Linkability",
        numbers=(number,),
        missing=tables.missing(NO_HOLDOUT_LINKS),
        settings={"targets": min(targets, real.rows), "columns": [list(side) for side in sides]},
    )


def _split_columns(real: ExactTable, columns: Sequence[Sequence[str]] | None) -> Sides:
    names = real.names
    if columns is None:
        if len(names) < 2:
            raise UsageError("linkability needs at least two columns.")
        return names[::2], names[1::2]
    if len(columns) != 2 or not all(columns) or set(columns[0]) & set(columns[1]):
        raise UsageError("columns must be two lists of different columns, one list per source.")
    unknown = [name for side in columns for name in side if name not in names]
    if unknown:
        raise UsageError(f"'{unknown[0]}' is not a modelled column of the schema.")
    return tuple(columns[0]), tuple(columns[1])


def _estimate_links(
    real: ExactTable, release: ExactTable, targets: ExactTable, sides: Sides, rng: np.random.Generator
) -> Estimate:
    found: list[Ints] = []
    for side in sides:
        # The search returns the first of several equally close rows, so each side gets its own random order.
        order = rng.permutation(release.rows)
        among, people = row_points(real, [release.take(order), targets], side)
        found.append(order[nearest_points(people, among)[1]])
    return clopper_pearson(int((found[0] == found[1]).sum()), targets.rows)
