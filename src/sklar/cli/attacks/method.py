"""sklar attack-method."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sklar.cli.attacks.table import tell
from sklar.cli.compare import read_peers
from sklar.cli.terminal.guard import guarded
from sklar.cli.terminal.options import Json, MethodOptions, SchemaFile, read_options, shared_options, text_reading
from sklar.cli.terminal.progress import step_bar
from sklar.cli.terminal.show import Report, hand_over, require_reportable

NAME = "attack-method"


@guarded
@shared_options(read=text_reading)
def command(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="shadow (membership) or attribute.")],
    method: Annotated[str, typer.Argument(metavar="METHOD", help="See `sklar methods`; or a peer's name.")],
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
            "--features", metavar="NAMES", help="Of shadow: naive, histogram, correlation, ensemble, closest."
        ),
    ] = None,
    classifier: Annotated[
        str | None, typer.Option("--classifier", help="Of shadow: forest, plain-forest, logistic, neighbors or svc.")
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Of shadow: the published attacker, without what is ours.")
    ] = False,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Number of games.")] = None,
    profile: Annotated[str, typer.Option("--profile", help="Sizes of the games: paper or quick.")] = "paper",
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="DIR", help="Keeps finished parts; default: REAL.attack. Run again to resume."),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Processes.")] = None,
    report: Report = None,
    seed: Annotated[int, typer.Option("--seed", help="Fixes targets and samples, never privacy noise.")] = 0,
    *,
    read: Any,
    json: Json = False,
) -> None:
    """Attack a method by fitting it many times.

    On samples of the real table, with intervals, a baseline and a control. Every number is a lower bound on risk: an
    attack that fails proves nothing. Computed from real rows without noise: the results are for the custodian, and
    not private.

    \b
    Example:
      sklar attack-method shadow vine people.csv -s people.toml -e 1 --sensitive income --profile quick
      sklar attack-method shadow tvine people.csv -s people.toml -O target=ill -O sensitive=income --published
      sklar attack-method attribute tvine people.csv -s people.toml -O target=ill --sensitive income --levels 1,5
      sklar attack-method shadow mst people.csv -s people.toml -e 1 --peer mst='benchmarks/peers/run dpmm mst'
    """
    from sklar.lab.attacks.method import attack_method, default_state
    from sklar.lab.attacks.release import write_attack_report

    require_reportable(report)
    fixed = {**({} if epsilon is None else {"epsilon": epsilon}), **read_options(method_option, also=("target",))}
    given: dict[str, Any] = {
        "sensitive": sensitive, "workers": workers, "levels": numbers(levels, "--levels"),
        "targets": numbers(targets, "--targets"), "peers": read_peers(peer) or None,
        "features": None if features is None else features.split(","), "classifier": classifier,
        "published": published or None,
        "changes": None if iterations is None else {"iterations": iterations},
    }  # fmt: skip
    with step_bar("attacking") as progress:
        found = attack_method(
            kind, method, real, schema, settings=fixed, profile=profile, state=state or default_state(real), seed=seed,
            progress=progress, read=read,
            **{name: value for name, value in given.items() if value is not None},
        )  # fmt: skip
    hand_over([found], tell=tell, report=report, write=write_attack_report, json=json)


def numbers(text: str | None, hint: str) -> list[int] | None:
    """Whole numbers with commas between them."""
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"write whole numbers as 3,17; found {text!r}", param_hint=hint) from None
