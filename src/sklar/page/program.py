"""Join the modules of the page's program into one script, in the order of their imports."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+)\.mjs";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) )", re.MULTILINE)
DECLARED = re.compile(
    r"^(?:async )?(?:function\*?|class|const|let) (?:([A-Za-z_$][\w$]*)|[\[{]([^\]}]*)[\]}])", re.MULTILINE
)
ENTRY = "main"
"""The module that starts the program."""


@cache
def read_static(name: str) -> str:
    """Return the text of a file in `static`."""
    return files("sklar.page").joinpath("static", name).read_text(encoding="utf-8")


@cache
def join_program() -> str:
    """Return the program as one text: each module after those that it imports, all in one scope."""
    return "\n".join(_strip(read_static(f"{name}.mjs")) for name in order_modules(ENTRY)).strip() + "\n"


def order_modules(entry: str) -> tuple[str, ...]:
    """Return the names of a module and all that it needs, each after those that it imports."""
    ordered: dict[str, None] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"modules import each other: {' -> '.join((*path, name))}")
        for _, needed in IMPORT.findall(read_static(f"{name}.mjs")):
            visit(needed, (*path, name))
        ordered[name] = None

    visit(entry, ())
    return tuple(ordered)


def list_declared(text: str) -> list[str]:
    """Return the names that a module declares at its top level; in one scope they must differ between modules."""
    found: list[str] = []
    for name, several in DECLARED.findall(EXPORT.sub("", text)):
        found += [name] if name else [one.split(":")[-1].strip() for one in several.split(",") if one.strip()]
    return found


def _strip(text: str) -> str:
    return EXPORT.sub("", IMPORT.sub("", text)).strip() + "\n"
