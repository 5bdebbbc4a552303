"""sklar compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.cli.terminal.options import (
    DataFile,
    Delta,
    Json,
    SchemaFile,
    make_measuring,
    make_reading,
    parse_numbers,
    parse_words,
    read_options,
    require_data,
    shared_options,
)
from sklar.cli.terminal.progress import step_bar

if TYPE_CHECKING:
    from sklar.lab.compare.result import Compared


@guard_command
@shared_options(read=make_reading, wanted=make_measuring)
def command(
    schema: SchemaFile,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Folder for all results, readable by its owner only.")
    ],
    file: DataFile = None,
    methods: Annotated[str, typer.Option("--methods", "-m", help="Names from `sklar methods`.")] = "vine,independent",
    epsilons: Annotated[str, typer.Option("--epsilons", "-e", help="Privacy budgets.")] = "1",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-O", metavar="METHOD.KEY=VALUE", help="An option of one method; repeatable."),
    ] = None,
    delta: Delta = 1e-9,
    folds: Annotated[int, typer.Option("--folds", "-k", help="Number of folds, each held out once.")] = 5,
    target: Annotated[str | None, typer.Option("--target", help="Column to predict from the others.")] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option("--peer", metavar="NAME=COMMAND", help="External command, see docs/compare.md; repeatable."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics", help="Metrics to compute, such as tvd2,mcc,g_epsilon_plus, or all; default: the quick ones."
        ),
    ] = None,
    attacks: Annotated[
        str | None, typer.Option("--attacks", help="Attacks to run, such as membership,copies; default: none.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Synthetic rows; default: the number of training rows.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Worker processes; default: one per core.")] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Time limit in seconds of a cell: one system, epsilon and fold.")
    ] = None,
    peer_timeout: Annotated[float, typer.Option("--peer-timeout", help="Time limit of a peer in seconds.")] = 3600.0,
    peer_memory: Annotated[
        float | None, typer.Option("--peer-memory", help="Memory limit of a peer in gigabytes.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Repeat failed cells.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of folds and samples, never of noise.")] = 0,
    *,
    read: Any,
    wanted: Any,
    json: Json = False,
) -> None:
    """Compare methods and external tools on one table.

    Computed from real rows without noise, and no ledger is charged: the results may not be published, and a choice
    based on them is not covered by a claim. Compare on a public or stand-in table. An interrupted run continues with
    the same command.

    \b
    Example:
      sklar compare public.csv -s people.toml -m vine,independent -e 0.5,1,3 --target income -o comparison
      sklar compare public.csv -s people.toml -e 0.5,1,3 --metrics g_epsilon_plus --target income -o ranking
      sklar compare public.csv -s people.toml -e 1 --peer mst='benchmarks/peers/run dpmm mst' -o comparison
    """
    from sklar.lab.compare.compare import REPORT, compare

    require_data(file, read)
    with step_bar("comparing") as progress:
        found = compare(
            file, schema, read_methods(methods, option), parse_numbers(epsilons, "--epsilons") or (), folds,
            target=target, peers=read_peers(peer), metrics=parse_words(metrics), attacks=parse_words(attacks) or (),
            delta=delta, rows=rows, output=output, jobs=jobs, seed=seed, timeout=timeout,
            peer_timeout=peer_timeout, peer_memory=peer_memory, retry=retry, progress=progress, read=read, **wanted,
        )  # fmt: skip
    if json:
        show.as_json(found.to_dict())
        return
    _show(found)
    show.print_line(f"Written, readable by their owner only: {output}/results.parquet, results.csv and {REPORT}")


def read_methods(text: str, options: list[str] | None) -> list[str] | dict[str, dict[str, Any]]:
    """Parse names of methods, with the options of each if there are any."""
    names = parse_words(text) or []
    found: dict[str, dict[str, Any]] = {name: {"method": name} for name in names}
    if len(found) < len(names):
        return names
    for word in options or ():
        name, dot, rest = word.partition(".")
        if not dot or name not in found:
            raise typer.BadParameter(f"write METHOD.KEY=VALUE for a method of --methods; got {word!r}", param_hint="-O")
        found[name].update(read_options([rest]))
    return found


def read_peers(texts: list[str] | None) -> dict[str, str]:
    """Parse the commands of peers, by name."""
    out: dict[str, str] = {}
    for text in texts or ():
        name, equals, words = text.partition("=")
        if not equals or not words.strip():
            raise typer.BadParameter(f"write a peer as NAME='command'; got {text!r}", param_hint="--peer")
        if name.strip() in out:
            raise typer.BadParameter(f"there are two peers '{name.strip()}'", param_hint="--peer")
        out[name.strip()] = words
    return out


def _show(found: Compared) -> None:
    from sklar.lab.compare.result import RULE, TRAINED_ON_REAL

    show.print_line(found.notice)
    show.print_paragraph(found.advice)
    for epsilon in found.budgets:
        show.print_line()
        if epsilon is not None:
            show.print_line(f"Epsilon {epsilon:g}: mean over {found.settings.folds} folds, rank in brackets")
        columns = {m.name: {s.system: s for s in found.standings(epsilon, m)} for m in found.measures}
        names = [*(system.name for system in found.systems), TRAINED_ON_REAL]
        names = [name for name in names if any(name in column for column in columns.values())]
        rows = [[name, *(_format_standing(column.get(name)) for column in columns.values())] for name in names]
        show.print_table(["system", *columns], rows)
    show.print_line()
    unsafe = [system for system in found.systems if system.kind == "disclosed"]
    if unsafe:
        show.print_line(f"{unsafe[0].promise}, and not ranked: {', '.join(system.name for system in unsafe)}.")
    show.print_paragraph(RULE)
    for row in found.failures:
        at = "" if row.cell.epsilon is None else f" at epsilon {row.cell.epsilon:g}"
        show.note(f"{row.cell.system.name}{at}, fold {row.cell.fold}: {row.result.get('reason')}")
    show.print_line()


def _format_standing(standing: object) -> str:
    mean, rank = getattr(standing, "mean", None), getattr(standing, "rank", None)
    if mean is None:
        return "-"
    return f"{mean:.4f} ({rank})" if rank is not None else f"{mean:.4f}"
