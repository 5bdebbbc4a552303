"""Error messages on standard error, and exit codes that scripts can rely on."""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import typer

from sklar.cli.terminal import show
from sklar.errors import SchemaError, SklarError, SklarWarning

REFUSED = 1
"""Exit code of bad input or a refusal. The parser uses 2 for usage errors."""
INTERRUPTED = 130
TERMINATED = 143

P = ParamSpec("P")
R = TypeVar("R")


def guard_command(command: Callable[P, R]) -> Callable[P, R]:
    """Wrap a command so that it never shows a traceback, a local variable or the text of a library's error."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        show.JSON_WANTED.set(bool(kwargs.get("json")))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", SklarWarning)
                warnings.showwarning = _show_warning
                return command(*args, **kwargs)
        except (typer.Exit, typer.BadParameter):
            raise
        except SklarError as error:
            fail(format_error(error))
        except KeyboardInterrupt as stop:
            notes: list[str] = getattr(stop, "__notes__", [])
            fail(" ".join(["interrupted; no incomplete output was left.", *notes]), INTERRUPTED)
        except BrokenPipeError:
            silence_output()
            raise typer.Exit(REFUSED) from None
        except MemoryError:
            fail("not enough memory.")
        except Exception as error:
            fail_unexpectedly(error)

    return run


def _show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
    """Show Sklar's own warnings; those of libraries could quote a cell and are not shown."""
    if issubclass(category, SklarWarning):
        show.complain("warning", str(message))


def fail(message: str, code: int = REFUSED) -> NoReturn:
    """Print an error and end the command."""
    show.complain("error", message, exit_code=code)
    raise typer.Exit(code) from None


def format_error(error: SklarError) -> str:
    """Return the message of an error, with the faults of a schema one per line."""
    if isinstance(error, SchemaError) and len(error.faults) > 1:
        head = str(error).split(": ", 1)[0]
        return "\n  - ".join([f"{head}:", *error.faults])
    return str(error)


def fail_unexpectedly(error: Exception) -> NoReturn:
    """Report only the type of an error from elsewhere: its text could quote a cell."""
    if os.environ.get("SKLAR_DEBUG") == "1":
        traceback.print_exception(error)
    fail(f"unexpected error ({type(error).__name__}). Set SKLAR_DEBUG=1 to see where.")


def silence_output() -> None:
    """Redirect standard output to the null device, so that a closed pipe causes no further errors at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
