"""How commands end: errors in plain sentences on standard error, and exit codes that scripts can rely on."""

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
"""Bad input, or something was refused. 2 is a usage error, told by the parser."""
INTERRUPTED = 130
TERMINATED = 143

P = ParamSpec("P")
R = TypeVar("R")


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """A command that never shows a traceback, a local variable or the text of a library's error."""

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
            fail(sentences(error))
        except KeyboardInterrupt as stop:
            notes: list[str] = getattr(stop, "__notes__", [])
            fail(" ".join(["interrupted; no output was left half-written.", *notes]), INTERRUPTED)
        except BrokenPipeError:
            silence_output()
            raise typer.Exit(REFUSED) from None
        except MemoryError:
            fail("there is not enough memory for this.")
        except Exception as error:
            unexpected(error)

    return run


def _show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
    """Our own warnings in plain words; those of libraries could quote a cell and are not shown."""
    if issubclass(category, SklarWarning):
        show.complain("warning", str(message))


def fail(message: str, code: int = REFUSED) -> NoReturn:
    """Say what is wrong and end the command."""
    show.complain("error", message, exit_code=code)
    raise typer.Exit(code) from None


def sentences(error: SklarError) -> str:
    """The message; the faults of a schema one a line."""
    if isinstance(error, SchemaError) and len(error.faults) > 1:
        head = str(error).split(": ", 1)[0]
        return "\n  - ".join([f"{head}:", *error.faults])
    return str(error)


def unexpected(error: Exception) -> NoReturn:
    """Only the type of an error that is not ours is told: its text could quote a cell."""
    if os.environ.get("SKLAR_DEBUG") == "1":
        traceback.print_exception(error)
    fail(f"something unexpected went wrong ({type(error).__name__}). Set SKLAR_DEBUG=1 to see where.")


def silence_output() -> None:
    """Let nothing more be written to a pipe that nobody reads, not even when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
