"""The rules of the map as functions from a source tree to the faults found in it."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LEAST, MOST = 3, 20
"""Modules and rooms of one folder."""
MOST_PARAMETERS = 8
MAP_WORDS = 25
"""Fewer words than this cannot say what belongs in a room, what may not, and where to start."""


def tree_of(path: Path) -> ast.Module:
    """The syntax of a module."""
    return _parsed(path.read_text())


_parsed = cache(ast.parse)
"""Most of the copies that faults are planted in are alike, and need not be parsed again."""


def modules(root: Path) -> dict[str, Path]:
    """Every module of the package under `root` by its dotted name; a room is named as its folder."""
    found: dict[str, Path] = {}
    for path in sorted((root / "sklar").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def rooms(root: Path) -> Iterator[Path]:
    """Every folder with code below the package itself."""
    for path in sorted((root / "sklar").rglob("__init__.py")):
        if path.parent != root / "sklar":
            yield path.parent


def sizes(root: Path) -> list[str]:
    """3 to 20 entries a folder."""
    faults = []
    for room in rooms(root):
        files = [p for p in room.glob("*.py") if p.name != "__init__.py"]
        folders = [p for p in room.iterdir() if (p / "__init__.py").exists()]
        if len(files) > MOST or len(files) + len(folders) < LEAST:
            faults.append(f"{room.relative_to(root)} has {len(files)} modules and {len(folders)} rooms")
    return faults


def prefixes(root: Path) -> list[str]:
    """Three siblings with one prefix are a folder."""
    faults = []
    for room in rooms(root):
        heads = Counter(p.stem.split("_")[0] for p in room.glob("*.py") if "_" in p.stem.strip("_"))
        faults += [f"{room.relative_to(root)}: {n} modules begin with {head}_" for head, n in heads.items() if n > 2]
    return faults


def maps(root: Path) -> list[str]:
    """The docstring of a room is its map: long enough to be one, and it says where to start, by names that exist.

    What it sets in backticks is a module or a room, here or of the whole house, or a name that the room defines.
    """
    faults = []
    house = {path.stem for path in (root / "sklar").iterdir()}
    for room in rooms(root):
        text = ast.get_docstring(tree_of(room / "__init__.py")) or ""
        names = {p.stem for p in room.glob("*.py")} | {p.name for p in room.iterdir() if p.is_dir()}
        start = text.partition("Start")[2]
        if len(text.split()) < MAP_WORDS or not any(f"`{name}`" in start for name in names):
            faults.append(f"{room.relative_to(root)} has no map")
        code = "".join(path.read_text() for path in room.glob("*.py"))
        gone = [x for x in re.findall(r"`([a-z_]+)`", text) if x not in names | house and f"def {x}(" not in code]
        faults += [f"the map of {room.relative_to(root)} names {name}, which is not there" for name in gone]
    return faults


def imports(root: Path) -> dict[str, set[str]]:
    """Which modules each module imports when it runs, at its head or inside functions."""
    known = modules(root)
    edges: dict[str, set[str]] = defaultdict(set)
    for name, path in known.items():
        tree = tree_of(path)
        typing = {id(x) for n in ast.walk(tree) if _type_checking(n) for x in ast.walk(n)}
        for node in ast.walk(tree):
            if id(node) in typing:
                continue
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    edges[name].add(whole if whole in known else node.module)
            elif isinstance(node, ast.Import):
                edges[name] |= {alias.name for alias in node.names}
    return {name: {to for to in found if to in known} for name, found in edges.items()}


def _type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def cycles(root: Path) -> list[str]:
    """No module is imported, by whatever way, by what it imports."""
    edges = imports(root)
    faults = []
    for start in edges:
        seen, waiting = set(), list(edges[start])
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += edges.get(name, ())
        if start in seen:
            faults.append(f"{start} imports itself in the end")
    return faults


def repeated_modules(root: Path) -> list[str]:
    """A module name occurs again only where its folder says the rest: in at most two rooms, else inside their folders.

    A command may be called as what it runs.
    """
    places = defaultdict(list)
    for name, path in modules(root).items():
        parts = name.split(".")
        if path.name != "__init__.py" and parts[1] != "cli" and len(parts) == 3:
            places[parts[-1]].append(name)
    return [f"{leaf}: {', '.join(found)}" for leaf, found in places.items() if len(found) > 2]


def repeated_classes(root: Path) -> list[str]:
    """No two public classes of one name."""
    places = defaultdict(list)
    for name, path in modules(root).items():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    return [f"class {kind}: {', '.join(found)}" for kind, found in places.items() if len(found) > 1]


def generators(root: Path) -> list[str]:
    """Generators of random numbers are made in sample/rng alone."""
    faults = []
    for name, path in modules(root).items():
        if name == "sklar.sample.rng":
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(
                ("np.random.", "numpy.random.", "random.")
            ):
                faults.append(f"{name}:{node.lineno}")
    return faults


def parameters(root: Path, public: set[str]) -> list[str]:
    """At most 8 parameters, but for public verbs, constructors and commands."""
    faults = []
    for name, path in modules(root).items():
        if name.startswith("sklar.cli"):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and node.name not in public | {"__init__"} and not _compiled(node):
                many = len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs)
                many -= bool(node.args.args) and node.args.args[0].arg in ("self", "cls")
                if many > MOST_PARAMETERS:
                    faults.append(f"{name}.{node.name} takes {many} parameters")
    return faults


def _compiled(node: ast.FunctionDef) -> bool:
    """Kernels take arrays one by one."""
    return any(ast.unparse(d).startswith("compiled") for d in node.decorator_list)
