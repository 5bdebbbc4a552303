"""Peers that do what they should, and peers that do not: short scripts, run by this Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

NAP = str(10_000_000 + os.getpid())
"""Seconds that nobody else on this machine sleeps."""
SCRIPTS = {
    "copy": "shutil.copy(train, output); open(os.path.dirname(output) + '/promise.txt', 'w').write('copies\\nall <b>')",
    "crash": "print('about to crash', flush=True); os.kill(os.getpid(), signal.SIGSEGV)",
    "nothing": "pass",
    "garbage": "open(output, 'wb').write(os.urandom(999))",
    "columns": "shutil.copy(os.path.dirname(__file__) + '/columns.parquet', output)",
    "few": "shutil.copy(os.path.dirname(__file__) + '/few.parquet', output)",
    "empty": "open(output, 'w')",
    "pipe": "os.mkfifo(output)",
    # A child in a session of its own: only whoever adopts orphans finds it.
    "hang": f"subprocess.Popen(['sleep', '{NAP}'], start_new_session=True); subprocess.Popen(['sleep', '{NAP}']); "
    "time.sleep(987)",
    "greedy": "data = b'x' * 400_000_000; time.sleep(987)",
    "vandal": "shutil.copy(train, output); open(train, 'w').write('gone'); open(schema, 'w').write('gone')",
}
HEAD = "import os, shutil, signal, subprocess, sys, time\ntrain, schema, epsilon, delta, rows, output = sys.argv[1:]\n"


def peer(folder: Path, name: str) -> str:
    """The command of one of the scripts."""
    path = folder / f"peer_{name}.py"
    path.write_text(HEAD + SCRIPTS[name] + "\n")
    return f"{sys.executable} -S {path}"
