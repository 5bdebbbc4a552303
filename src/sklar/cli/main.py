"""The command `sklar` and its subcommands."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

from sklar import __version__
from sklar.cli import (
    attack,
    attack_method,
    audit,
    compare,
    demo,
    evaluate,
    fit,
    inspect,
    ledger,
    levels,
    methods,
    plan,
    sample,
    synth,
)
from sklar.cli.schema import check as schema
from sklar.cli.terminal.guard import INTERRUPTED, REFUSED, TERMINATED, silence_output

app = typer.Typer(
    name="sklar",
    help="Private synthetic tables: learn a table under differential privacy, and sample as many new rows as wanted.",
    epilog="Start with: sklar demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for module in (
    demo,
    plan,
    synth,
    fit,
    sample,
    inspect,
    evaluate,
    attack,
    attack_method,
    levels,
    compare,
    audit,
    methods,
):
    app.command(name=module.NAME)(module.command)
app.add_typer(schema.app, name="schema")
app.add_typer(ledger.app, name="ledger")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sklar {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Private synthetic tables: learn a table under differential privacy, and sample as many new rows as wanted."""


def main() -> NoReturn:
    """Run the command and exit."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app(prog_name="sklar")
        code: str | int | None = 0
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code if _flushed() else code or REFUSED)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """As Ctrl-C: files half-written are taken away on the way out."""
    sys.exit(TERMINATED)


def _flushed() -> bool:
    """Whether all output reached its end: a full disk behind a redirection shows only now."""
    try:
        sys.stdout.flush()
        return True
    except BrokenPipeError:
        silence_output()
    except OSError as error:
        silence_output()
        typer.echo(f"Error: cannot write to standard output: {(error.strerror or 'it failed').lower()}.", err=True)
    return False
