"""The command `sklar` and its subcommands."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from sklar import __version__
from sklar.cli import (
    attacks,
    bench,
    compare,
    demo,
    evaluate,
    fit,
    ledger,
    levels,
    mcp,
    methods,
    plan,
    release,
    split,
    studio,
    synth,
)
from sklar.cli.model import complete, estimate, inspect, page, report, sample
from sklar.cli.schema import check as schema
from sklar.cli.terminal.guard import INTERRUPTED, REFUSED, TERMINATED, silence_output
from sklar.cli.terminal.show import JSON_WANTED, complain, writes_unicode

SHELLS = ("bash", "zsh", "fish")
COMPLETE = "_SKLAR_COMPLETE"
"""Environment variable set by a shell that requests completions."""
app = typer.Typer(
    name="sklar",
    help="Differentially private synthetic tables: fit a model to a table and sample any number of rows from it.",
    epilog="Start with: sklar demo. For a table of your own: sklar synth FILE -e 1 -o OUTPUT",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
COMMANDS = {
    "demo": demo.command,
    "plan": plan.command,
    "synth": synth.command,
    "fit": fit.command,
    "sample": sample.command,
    "complete": complete.command,
    "estimate": estimate.command,
    "split": split.command,
    "inspect": inspect.command,
    "report": report.command,
    "page": page.command,
    "bundle": release.make_bundle,
    "verify": release.verify_release,
    "key": release.make_keys,
    "evaluate": evaluate.command,
    "attack": attacks.attack_table,
    "attack-method": attacks.attack_method,
    "levels": levels.command,
    "compare": compare.command,
    "audit": attacks.audit_method,
    "methods": methods.command,
    "studio": studio.command,
    "mcp": mcp.command,
}
"""All commands, in the order of the help text."""
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(schema.app, name="schema")
app.add_typer(ledger.app, name="ledger")
app.add_typer(bench.app, name="bench")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sklar {__version__}")
        raise typer.Exit


def _typer_completion() -> Any:
    """Return Typer's completion module, which it does not export."""
    return importlib.import_module("typer.completion")


def _print_completion(shell: str | None) -> None:
    if shell is None:
        return
    if shell not in SHELLS:
        raise typer.BadParameter(f"use one of {', '.join(SHELLS)}", param_hint="--completion")
    typer.echo(_typer_completion().get_completion_script(prog_name="sklar", complete_var=COMPLETE, shell=shell))
    raise typer.Exit


@app.callback()
def set_up(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    completion: Annotated[
        str | None,
        typer.Option(
            "--completion",
            metavar="SHELL",
            help='Print the completion script of bash, zsh or fish, for: eval "$(sklar --completion bash)".',
            callback=_print_completion,
            is_eager=True,
        ),
    ] = None,
) -> None:
    """Differentially private synthetic tables: fit a model to a table and sample any number of rows from it."""


def main() -> NoReturn:
    """Run the command and exit."""
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not writes_unicode(stream):
            stream.reconfigure(errors="replace")  # do not fail on a character that a cp1252 console lacks
    if COMPLETE in os.environ:
        _typer_completion().completion_init()
    _refuse_passwords(sys.argv[1:])
    try:
        code: str | int | None = _run_with_json_errors() if "--json" in sys.argv[1:] else app(prog_name="sklar")
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code if _flushed() else code or REFUSED)


def _run_with_json_errors() -> int:
    """Run the command with errors of the parser as JSON on standard error."""
    JSON_WANTED.set(True)
    try:
        code = app(prog_name="sklar", standalone_mode=False)
    except Exception as error:
        code = getattr(error, "exit_code", None)  # only errors of the parser have one
        if code is None:
            raise
        message = getattr(error, "format_message", None)
        complain("error", str(message() if message else error), exit_code=code)
    return code if isinstance(code, int) else 0


def _refuse_passwords(words: list[str]) -> None:
    """Refuse passwords on the command line, which all users of the machine can see and shells store."""
    addresses = [word for word in words if "://" in word]
    if not addresses:
        return
    from sklar.schema.address import has_secrets, remove_secrets  # not at import time: it loads numpy

    for word in addresses:
        if has_secrets(word):
            typer.echo(
                "Error: other users of this machine can read the command line, so it must not contain a password, or a "
                f"parameter of an address that may be one. Omit it, as in {remove_secrets(word)}, and set PGPASSWORD "
                "or write a ~/.pgpass (for stores: the AWS_... variables).",
                err=True,
            )
            sys.exit(REFUSED)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Exit as on Ctrl-C: incomplete files are removed."""
    sys.exit(TERMINATED)


def _flushed() -> bool:
    """Flush standard output; return whether that succeeded, since a full disk is noticed only now."""
    try:
        sys.stdout.flush()
        return True
    except BrokenPipeError:
        silence_output()
    except OSError as error:
        silence_output()
        typer.echo(f"Error: cannot write to standard output: {(error.strerror or 'it failed').lower()}.", err=True)
    return False
