"""sklar attack, sklar attack-method and sklar audit: attacks on releases and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.compare import read_peers
from sklar.cli.terminal import show
from sklar.cli.terminal.guard import REFUSED, guard_command
from sklar.cli.terminal.options import (
    Json,
    MethodOptions,
    NeighboursName,
    SchemaFile,
    parse_numbers,
    read_options,
    shared_options,
    text_reading,
)
from sklar.cli.terminal.progress import part_of, step_bar
from sklar.cli.terminal.show import Report, hand_over, require_reportable
from sklar.errors import UsageError
from sklar.notebook import interval_text

if TYPE_CHECKING:
    from sklar.lab.attacks.release import Attack

ATTACK_OPTIONS = {
    "membership": ("targets", "iterations", "distance"), "copies": ("targets",), "singling-out": (),
    "linkability": ("targets",), "attribute": ("sensitive",),
}  # fmt: skip
"""All attacks on a table, and the options of each."""


@guard_command
@shared_options(read=text_reading)
def attack_table(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="membership, copies, singling-out, linkability, attribute or all.")
    ],
    real: Annotated[str, typer.Argument(metavar="REAL", help="The real table from which the synthetic one was made.")],
    synthetic: Annotated[str, typer.Argument(metavar="SYNTHETIC", help="The synthetic table.")],
    schema: SchemaFile,
    holdout: Annotated[
        str | None, typer.Option("--holdout", metavar="FILE", help="Real rows that the synthesizer never saw.")
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="Column that the attack attribute guesses; repeatable."),
    ] = None,
    targets: Annotated[int | None, typer.Option("--targets", help="Number of rows of each kind to attack.")] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", help="Number of games of the attack membership.")
    ] = None,
    distance: Annotated[
        str | None, typer.Option("--distance", help="Distance of the attack membership: hamming, euclidean or both.")
    ] = None,
    report: Report = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of targets, subsamples and ties.")] = 0,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Measure the privacy risk of a synthetic table by attacks.

    Prints success rates with intervals, a baseline and a control; for a method see `sklar attack-method`. Every
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
    taken = {one: {name: options[name] for name in ATTACK_OPTIONS.get(one, ()) if name in options} for one in kinds}
    with step_bar("attacking") as progress:
        common: dict[str, Any] = {"name": synthetic, "seed": seed, "read": read}
        found: list[Attack] = []
        for at, one in enumerate(kinds):
            own = part_of(progress, one, at, len(kinds))
            try:
                found.append(attack(one, real, synthetic, schema, holdout, progress=own, **taken[one], **common))
            except UsageError as error:
                if kind != "all":
                    raise
                show.note(f"Skipped {one}: {error}")
    if not found:
        raise UsageError("none of the attacks could be run")
    hand_over(found, print_one=show_attack, report=report, write=write_attack_report, json=json)


def _kinds(kind: str, options: dict[str, Any]) -> tuple[str, ...]:
    """Return the attacks to run; refuse options that none of them takes."""
    kinds = tuple(ATTACK_OPTIONS) if kind == "all" else (kind,)
    for name in options:
        if kind in (*ATTACK_OPTIONS, "all") and not any(name in ATTACK_OPTIONS[one] for one in kinds):
            raise UsageError(f"--{name} is not an option of the attack '{kind}'; omit it.")
    return kinds


def show_attack(found: Attack) -> None:
    """Print the verdict, what could not be measured, and the numbers."""
    show.print_line()
    for sentence in found.verdict:
        show.print_line(sentence)
    for sentence in found.missing:
        show.print_line(f"Not measured: {sentence}")
    rows = [
        [n.name, *map(interval_text, (n.attack, n.control, n.baseline)), show.format_number(n.ideal), n.worse]
        for n in found.numbers
    ]
    if rows:
        show.print_table(["number", "attack", "control", "baseline", "ideal", "worse"], rows)
    bound = found.details.get("dp_bound")
    if bound is not None:
        show.print_line(f"By its claim, the privacy gain is at least 2 - exp(epsilon) = {bound:.3f}.")


@guard_command
@shared_options(read=text_reading)
def attack_method(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="shadow (membership) or attribute.")],
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="Method to attack (see `sklar methods`), or the name of a peer.")
    ],
    real: Annotated[str, typer.Argument(metavar="REAL", help="The real table whose rows are sampled.")],
    schema: SchemaFile,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="Epsilon of the method's fits.")] = None,
    method_option: MethodOptions = None,
    peer: Annotated[
        list[str] | None,
        typer.Option("--peer", metavar="NAME=COMMAND", help="External command to attack; METHOD is its name."),
    ] = None,
    levels: Annotated[
        str | None, typer.Option("--levels", metavar="1,5,10", help="Truncation levels of the method to attack.")
    ] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option("--sensitive", metavar="COLUMN", help="A sensitive column; repeatable.")
    ] = None,
    targets: Annotated[
        str | None, typer.Option("--targets", metavar="3,17", help="Rows to attack; default: outlying ones.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="NAMES",
            help="Feature sets of shadow: naive, histogram, correlation, ensemble, closest.",
        ),
    ] = None,
    classifier: Annotated[
        str | None,
        typer.Option("--classifier", help="Classifier of shadow: forest, plain-forest, logistic, neighbors or svc."),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Use the published shadow attacker, without our additions.")
    ] = False,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Number of games.")] = None,
    profile: Annotated[str, typer.Option("--profile", help="Sizes of the games: paper or quick.")] = "paper",
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="DIR", help="Folder for finished parts, to resume from; default: REAL.attack."),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Number of processes.")] = None,
    report: Report = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of targets and samples, never of privacy noise.")] = 0,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Measure the privacy risk of a method by attacks.

    It is fitted many times to samples of the real table. Prints success rates with intervals, a baseline and a control.
    Every number is a lower bound on risk: an attack that fails proves nothing. Computed from real rows without noise:
    the results are for the custodian, and not private.

    \b
    Example:
      sklar attack-method shadow vine people.csv -s people.toml -e 1 --sensitive income --profile quick
      sklar attack-method shadow tvine people.csv -s people.toml -O target=ill --sensitive income --published
      sklar attack-method attribute tvine people.csv -s people.toml -O target=ill --sensitive income --levels 1,2
      sklar attack-method shadow mst people.csv -s people.toml -e 1 --peer mst='benchmarks/peers/run dpmm mst'
    """
    from sklar.lab.attacks.method import attack_method as attack
    from sklar.lab.attacks.method import default_state
    from sklar.lab.attacks.release import write_attack_report

    require_reportable(report)
    fixed = {**({} if epsilon is None else {"epsilon": epsilon}), **read_options(method_option, also=("target",))}
    given: dict[str, Any] = {
        "sensitive": sensitive, "workers": workers, "levels": parse_numbers(levels, "--levels", "3,17", int),
        "targets": parse_numbers(targets, "--targets", "3,17", int), "peers": read_peers(peer) or None,
        "features": None if features is None else features.split(","), "classifier": classifier,
        "published": published or None,
        "changes": None if iterations is None else {"iterations": iterations},
    }  # fmt: skip
    with step_bar("attacking") as progress:
        found = attack(
            kind, method, real, schema, settings=fixed, profile=profile, state=state or default_state(real), seed=seed,
            progress=progress, read=read,
            **{name: value for name, value in given.items() if value is not None},
        )  # fmt: skip
    hand_over([found], print_one=show_attack, report=report, write=write_attack_report, json=json)


@guard_command
def audit_method(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="A DP method; see `sklar methods`.")],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The epsilon to claim.")],
    delta: Annotated[float, typer.Option("--delta", help="The delta to claim; 0 for pure epsilon.")] = 1e-9,
    runs: Annotated[int, typer.Option("--runs", help="Number of fits per pair of neighbouring tables.")] = 2_000,
    neighbours: NeighboursName = None,
    persons: Annotated[
        int | None,
        typer.Option("--persons", help="Neighbours differ by a person with many rows, of which this number is used."),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option("--pair", help="'lone label', 'extreme value' or 'all null'; repeatable. Default: all."),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Joint confidence of all bounds.")] = 0.99,
    method_option: MethodOptions = None,
    json: Json = False,
) -> None:
    """Test the privacy claim of a method empirically.

    Fits it many times on worst-case neighbours, and computes lower bounds of its privacy loss from its releases. The
    tables are public and small; no private row is read. Exit code 1 if the claim is contradicted.

    \b
    Example:
      sklar audit independent -e 1 --runs 2000
      sklar audit independent -e 1 --runs 2000 --persons 5
    """
    from sklar.lab.audit.audit import audit

    relation: Any = neighbours
    with step_bar("auditing") as progress:
        found = audit(
            method, epsilon, delta, runs=runs, neighbours=relation, persons=persons, pairs=pair, confidence=confidence,
            progress=progress, **read_options(method_option),
        )  # fmt: skip
    if json:
        show.as_json(found.to_dict())
    else:
        show.print_paragraph(found.verdict)
        rows = [
            [
                p.name, interval_text(p.mu), show.format_number(p.stated_mu),
                "-" if p.epsilon_of_mu is None else f"{p.epsilon_of_mu.low:.3g}",
                f"{p.epsilon_low:.3g}", interval_text(p.noise), f"{p.visible:.3g}",
            ]
            for p in found.pairs
        ]  # fmt: skip
        if found.claimed_mu is not None:
            show.print_line(f"mu of the claim: {found.claimed_mu:.3f}")
        if found.mu is not None and len(rows) > 1:
            rows.append(["all of them", interval_text(found.mu), *["-"] * 5])
        headings = [
            "neighbours", "mu", "mu by exact shifts", "epsilon by mu >=", "epsilon by counting >=", "noise / stated",
            "visible epsilon",
        ]  # fmt: skip
        show.print_table(headings, rows)
        for fault in found.faults:
            show.print_line(fault)
    if not found.passed:
        raise typer.Exit(REFUSED)
