"""What all tests rely on: an interrupt is heard, also where they were started in the background of a shell."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Shells let what they start in the background ignore Ctrl-C, and every process started from there inherits it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
