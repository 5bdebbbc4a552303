"""sklar attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli import show
from sklar.cli.findings import hand_over
from sklar.cli.guard import guarded
from sklar.cli.options import (
    STANDARD_OUTPUT,
    Delimiter,
    Encoding,
    MethodOptions,
    NullValues,
    SchemaFile,
    read_options,
    reader_options,
)
from sklar.cli.progress import step_bar
from sklar.errors import UsageError

if TYPE_CHECKING:
    from sklar.pipeline.attack import Attack

NAME = "attack"
ON_TABLES = ("membership", "copies", "singling-out", "linkability")


@guarded
def command(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="membership, copies, singling-out, linkability, attribute or shadow; all of a table."
        ),
    ],
    real: Annotated[str, typer.Argument(metavar="REAL", help="The real table that was learned from.")],
    schema: SchemaFile,
    synthetic: Annotated[
        str | None, typer.Argument(metavar="[SYNTHETIC]", help="The synthetic table; none if a method is attacked.")
    ] = None,
    holdout: Annotated[
        str | None, typer.Option("--holdout", metavar="FILE", help="Real rows that the synthesizer never saw.")
    ] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option("--sensitive", metavar="COLUMN", help="A sensitive column; repeatable.")
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", "-m", help="Attack this method by fitting it (shadow, attribute).")
    ] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="Epsilon of the method's fits.")] = None,
    method_option: MethodOptions = None,
    levels: Annotated[
        str | None, typer.Option("--levels", metavar="1,5,10", help="Truncation levels of the method to attack.")
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option("--targets", help="How many rows of each kind (membership), or which rows as 3,17 (shadow)."),
    ] = None,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Number of games.")] = None,
    distance: Annotated[
        str | None, typer.Option("--distance", help="Of membership: hamming, euclidean or both.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Of attacks on methods: paper (default) or quick.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="DIR", help="Keeps finished parts; default: REAL.attack. Run again to resume."),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Processes of attacks on methods.")] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="HTML report; its name ends in .custodian.html.")
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="All results as JSON; - for standard output.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Fixes targets, subsamples and ties.")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    null_value: NullValues = None,
) -> None:
    """Attack a release as an adversary would.

    With intervals, a baseline and a control. Every number is a lower bound on risk: an attack that fails proves
    nothing. Computed from real rows without noise: the results are for the custodian, and not private.

    \b
    Examples:
      sklar attack membership people.csv synthetic.csv -s people.toml --holdout held.csv
      sklar attack all people.csv synthetic.csv -s people.toml --holdout held.csv --report a.custodian.html
      sklar attack shadow people.csv -s people.toml --method vine -e 1 --sensitive income --profile quick
    """
    from sklar.pipeline.attack import NOTICE, write_attack_json, write_attack_report
    from sklar.pipeline.evaluate import require_outputs

    require_outputs(report, None if json == STANDARD_OUTPUT else json)
    options: dict[str, Any] = {"sensitive": sensitive, "iterations": iterations, "distance": distance}
    kinds = _kinds(kind, sensitive)
    on_method = method is not None or kind == "shadow"
    _refuse_idle(
        kind, kinds, on_method, synthetic=synthetic, holdout=holdout, sensitive=sensitive, epsilon=epsilon,
        method_option=method_option, levels=levels, targets=targets, iterations=iterations, distance=distance,
        profile=profile, state=state, workers=workers,
    )  # fmt: skip
    with step_bar("attacking") as progress:
        common: dict[str, Any] = {
            "seed": seed, "progress": progress, "reader": reader_options(delimiter, encoding, null_value, None),
        }  # fmt: skip
        if on_method:
            fixed = {"epsilon": epsilon, **read_options(method_option, also=("target",))}
            found = [
                _method(kind, real, schema, method, fixed, levels, targets, profile, state, workers, options, common)
            ]
        else:
            found = [_table(one, real, synthetic, schema, holdout, targets, options, common) for one in kinds]
    hand_over(
        found, notice=NOTICE, tell=_tell, report=(report, write_attack_report), json=(json, write_attack_json)
    )  # fmt: skip


def _kinds(kind: str, sensitive: list[str] | None) -> tuple[str, ...]:
    """All attacks on a table; attribute inference only if somebody said what is sensitive."""
    if kind != "all":
        return (kind,)
    return (*ON_TABLES, "attribute") if sensitive else ON_TABLES


FLAGS = {"synthetic": "SYNTHETIC", "epsilon": "-e", "method_option": "-O"}
"""How options are written whose names are not their flags."""
METHOD_FLAGS = (
    "sensitive",
    "epsilon",
    "method_option",
    "levels",
    "targets",
    "iterations",
    "profile",
    "state",
    "workers",
)
TABLE_FLAGS = {
    "membership": ("targets", "iterations", "distance"), "copies": ("targets",), "linkability": ("targets",),
    "attribute": ("sensitive",),
}  # fmt: skip
"""What each attack on a table takes besides the synthetic table and the hold-out."""


def _refuse_idle(kind: str, kinds: tuple[str, ...], on_method: bool, **given: Any) -> None:
    """An option that would do nothing is refused: whoever gave it expects something of it."""
    taken = METHOD_FLAGS
    if not on_method:
        taken = ("synthetic", "holdout", *(flag for one in kinds for flag in TABLE_FLAGS.get(one, ())))
    for name, value in given.items():
        if value is None or name in taken:
            continue
        flag = FLAGS.get(name, f"--{name}")
        if on_method:
            raise UsageError(
                f"{flag} says nothing to an attack on a method, which draws tables by itself; leave it out."
            )
        elsewhere = any(name in flags for flags in TABLE_FLAGS.values())
        hint = "it is for other attacks" if elsewhere else "it is for attacks on a method (--method)"
        raise UsageError(f"the attack '{kind}' takes no {flag}: {hint}; leave it out.")


def _table(
    kind: str, real: str, synthetic: str | None, schema: str, holdout: str | None, targets: str | None,
    options: dict[str, Any], common: dict[str, Any],
) -> Attack:  # fmt: skip
    from sklar.pipeline.attack import attack

    wanted = TABLE_FLAGS.get(kind, ())
    given = {key: options[key] for key in wanted if options.get(key) is not None}
    if targets is not None and "targets" in wanted:
        found = _numbers(targets, "--targets")
        if len(found) != 1:
            raise UsageError(f"--targets is one number of rows for the attack '{kind}'; found {targets}.")
        given["targets"] = found[0]
    return attack(kind, real, synthetic, schema, holdout, name=synthetic, **given, **common)


def _method(
    kind: str, real: str, schema: str, method: str | None, settings: dict[str, Any], levels: str | None,
    targets: str | None, profile: str | None, state: str | None, workers: int | None, options: dict[str, Any],
    common: dict[str, Any],
) -> Attack:  # fmt: skip
    from sklar.pipeline.attack import attack
    from sklar.pipeline.attack_method import default_state

    given: dict[str, Any] = {
        "profile": profile, "sensitive": options["sensitive"], "workers": workers,
        "state": state or default_state(real),
        "targets": None if targets is None else _numbers(targets, "--targets"),
        "changes": None if options["iterations"] is None else {"iterations": options["iterations"]},
        "levels": None if levels is None else _numbers(levels, "--levels"),
    }  # fmt: skip
    asked = {key: value for key, value in given.items() if value is not None}
    fixed = {key: value for key, value in settings.items() if value is not None}
    return attack(kind, real, None, schema, method=method, settings=fixed, **asked, **common)


def _numbers(text: str, hint: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"write whole numbers as 3,17; found {text!r}", param_hint=hint) from None


def _tell(found: Attack) -> None:
    show.line()
    for sentence in found.verdict:
        show.line(sentence)
    for sentence in found.missing:
        show.line(f"Not measured: {sentence}")
    rows = [
        [n.name, _interval(n.attack), _interval(n.control), _interval(n.baseline), show.number(n.ideal), n.worse]
        for n in found.numbers
    ]
    if rows:
        show.table(["number", "attack", "control", "baseline", "ideal", "worse"], rows)
    bound = found.result.details.get("dp_bound")
    if bound is not None:
        show.line(f"By its claim, the privacy gain is at least 2 - exp(epsilon) = {bound:.3f}.")


def _interval(found: Any) -> str:
    if found is None:
        return "-"
    if found.low == found.high:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
