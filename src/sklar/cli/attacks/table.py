"""sklar attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import Json, SchemaFile, shared_options, text_reading
from sklar.cli.terminal.progress import part_of, step_bar
from sklar.cli.terminal.show import Report, hand_over, require_reportable
from sklar.errors import UsageError

if TYPE_CHECKING:
    from sklar.lab.attacks.release import Attack

NAME = "attack"
TAKEN = {
    "membership": ("targets", "iterations", "distance"), "copies": ("targets",), "singling-out": (),
    "linkability": ("targets",), "attribute": ("sensitive",),
}  # fmt: skip
"""All attacks on a table, and the options that each takes."""


@guarded
@shared_options(read=text_reading)
def command(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="membership, copies, singling-out, linkability, attribute or all.")
    ],
    real: Annotated[str, typer.Argument(metavar="REAL", help="The real table that was learned from.")],
    synthetic: Annotated[str, typer.Argument(metavar="SYNTHETIC", help="The synthetic table.")],
    schema: SchemaFile,
    holdout: Annotated[
        str | None, typer.Option("--holdout", metavar="FILE", help="Real rows that the synthesizer never saw.")
    ] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option("--sensitive", metavar="COLUMN", help="Of attribute; repeatable.")
    ] = None,
    targets: Annotated[int | None, typer.Option("--targets", help="Rows of each kind that are attacked.")] = None,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Of membership: number of games.")] = None,
    distance: Annotated[
        str | None, typer.Option("--distance", help="Of membership: hamming, euclidean or both.")
    ] = None,
    report: Report = None,
    seed: Annotated[int, typer.Option("--seed", help="Fixes targets, subsamples and ties.")] = 0,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Attack a synthetic table.

    As an adversary would, with intervals, a baseline and a control; for a method see `sklar attack-method`. Every
    number is a lower bound on risk: an attack that fails proves nothing. Computed from real rows without noise: the
    results are for the custodian, and not private.

    \b
    Example:
      sklar attack membership people.csv synthetic.csv -s people.toml --holdout held.csv
      sklar attack all people.csv synthetic.csv -s people.toml --holdout held.csv --report a.custodian.html
    """
    from sklar.lab.attacks.release import attack, write_attack_report

    require_reportable(report)
    given = {"sensitive": sensitive, "targets": targets, "iterations": iterations, "distance": distance}
    options = {name: value for name, value in given.items() if value is not None}
    kinds = _kinds(kind, options)
    taken = {one: {name: options[name] for name in TAKEN.get(one, ()) if name in options} for one in kinds}
    with step_bar("attacking") as progress:
        common: dict[str, Any] = {"name": synthetic, "seed": seed, "read": read}
        found: list[Attack] = []
        for at, one in enumerate(kinds):
            tell_part = part_of(progress, one, at, len(kinds))
            try:
                found.append(attack(one, real, synthetic, schema, holdout, progress=tell_part, **taken[one], **common))
            except UsageError as error:
                if kind != "all":
                    raise
                show.note(f"Skipped {one}: {error}")
    if not found:
        raise UsageError("none of the attacks could be made")
    hand_over(found, tell=tell, report=report, write=write_attack_report, json=json)


def _kinds(kind: str, options: dict[str, Any]) -> tuple[str, ...]:
    """The attacks. Idle options are refused."""
    kinds = tuple(TAKEN) if kind == "all" else (kind,)
    for name in options:
        if kind in (*TAKEN, "all") and not any(name in TAKEN[one] for one in kinds):
            raise UsageError(f"the attack '{kind}' takes no --{name}: it is for other attacks; leave it out.")
    return kinds


def tell(found: Attack) -> None:
    """Verdict, what could not be measured, and the numbers."""
    show.line()
    for sentence in found.verdict:
        show.line(sentence)
    for sentence in found.missing:
        show.line(f"Not measured: {sentence}")
    rows = [
        [
            n.name,
            show.interval(n.attack),
            show.interval(n.control),
            show.interval(n.baseline),
            show.number(n.ideal),
            n.worse,
        ]
        for n in found.numbers
    ]
    if rows:
        show.table(["number", "attack", "control", "baseline", "ideal", "worse"], rows)
    bound = found.details.get("dp_bound")
    if bound is not None:
        show.line(f"By its claim, the privacy gain is at least 2 - exp(epsilon) = {bound:.3f}.")
