"""No module but `portable` relies on one operating system: a static check, shown to catch planted faults."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.house import modules, tree_of

ROOT = Path(__file__).resolve().parents[2] / "src"
POSIX_MODULES = frozenset(
    {
        "fcntl",
        "resource",
        "pwd",
        "grp",
        "termios",
        "tty",
        "pty",
        "syslog",
        "posix",
        "crypt",
        "spwd",
        "readline",
        "curses",
    }
)
WINDOWS_MODULES = frozenset({"msvcrt", "winreg", "_winapi", "winsound"})
POSIX_ATTRIBUTES = frozenset(
    f"{module}.{name}"
    for module, names in {
        "os": "fork forkpty pread pwrite preadv pwritev fchmod fchown chown killpg getpgid getpgrp setsid setpgrp "
        "getuid geteuid getgid getegid mkfifo mknod sysconf statvfs uname nice wait3 wait4 WNOHANG "
        "posix_fadvise sendfile "
        "O_NOFOLLOW O_DIRECTORY O_TMPFILE O_CLOEXEC O_NONBLOCK rename",
        "signal": "SIGHUP SIGKILL SIGUSR1 SIGUSR2 SIGALRM SIGPIPE SIGCHLD SIGSTOP alarm setitimer pthread_sigmask",
    }.items()
    for name in names.split()
)
"""What Windows lacks, and `os.rename`, which there does not replace a file as `os.replace` does."""
WORDS = re.compile(
    rf"\b({'|'.join([*POSIX_MODULES, *WINDOWS_MODULES, *(name.split('.')[1] for name in POSIX_ATTRIBUTES)])})\b"
)
"""Modules without any of these words need not be parsed."""
EXEMPT = {
    "sklar.portable": "the one place for it",
    "sklar.lab.compare.pool": "refused without process groups",
    "sklar.lab.compare.peers": "refused without process groups",
}


def faults(root: Path) -> list[str]:
    """Names of other modules that exist on some systems only."""
    found = []
    for name, path in modules(root).items():
        if name in EXEMPT or not WORDS.search(path.read_text()):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names} & (POSIX_MODULES | WINDOWS_MODULES)
            elif isinstance(node, ast.ImportFrom):
                whole = {f"{node.module}.{alias.name}" for alias in node.names} & POSIX_ATTRIBUTES
                names = whole | ({(node.module or "").split(".")[0]} & (POSIX_MODULES | WINDOWS_MODULES))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names = {f"{node.value.id}.{node.attr}"} & POSIX_ATTRIBUTES
            else:
                continue
            found += [f"{name}: {one}" for one in sorted(names)]
    return found


def test_no_module_relies_on_one_operating_system() -> None:
    assert faults(ROOT) == []


def test_the_exempt_modules_are_there() -> None:
    assert set(EXEMPT) <= set(modules(ROOT))


@pytest.mark.parametrize(
    "planted", ["import fcntl", "from os import killpg", "import os\nos.pread", "import signal\nsignal.SIGHUP"]
)
def test_planted_faults_are_caught(tmp_path: Path, planted: str) -> None:
    (tmp_path / "sklar").mkdir()
    (tmp_path / "sklar" / "x.py").write_text(
        f"def f():\n    {planted.splitlines()[0]}\n    {planted.splitlines()[-1]}\n"
    )
    assert faults(tmp_path)
