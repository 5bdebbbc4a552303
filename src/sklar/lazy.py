"""Public names that are loaded at first use, so that `import sklar` is fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def load_lazily(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module whose names are loaded from other modules at first use.

    Args:
        module: The module's name.
        homes: Module to the names it holds, separated by spaces; "" has modules of the package itself.
    """
    places = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        home = places[name]
        return getattr(importlib.import_module(home), name) if home else importlib.import_module(f"{module}.{name}")

    return load
