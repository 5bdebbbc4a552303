"""Sklar behind the interfaces of other packages: SDV, SDGym, SmartNoise and synthcity. None of them is imported.

Each module has one class or function with the names and arguments of the other package, and calls `fit` and `sample`
behind them. Start with `sdv_synthesizer` (objects that are created, fitted and sampled), which `sdgym` and `synthcity`
use; `smartnoise` is a second interface, and `sdv_conditions` reads SDV's conditions. Metadata of SDV are read and
written by `sklar.schema.sdv`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklar.lazy import load_lazily

if TYPE_CHECKING:
    from sklar.adapters.sdgym import sdgym_functions
    from sklar.adapters.sdv_synthesizer import SklarSynthesizer
    from sklar.adapters.smartnoise import Synthesizer
    from sklar.adapters.synthcity import synthcity_plugin
    from sklar.schema.sdv import read_sdv, schema_from_sdv, tables_from_sdv, to_sdv

_HOMES = {
    "sklar.adapters.sdgym": "sdgym_functions",
    "sklar.adapters.sdv_synthesizer": "SklarSynthesizer",
    "sklar.adapters.smartnoise": "Synthesizer",
    "sklar.adapters.synthcity": "synthcity_plugin",
    "sklar.schema.sdv": "read_sdv schema_from_sdv tables_from_sdv to_sdv",
}
"""Module to the public names it holds."""

__all__ = [
    "SklarSynthesizer", "Synthesizer", "read_sdv", "schema_from_sdv", "sdgym_functions", "synthcity_plugin",
    "tables_from_sdv", "to_sdv",
]  # fmt: skip

__getattr__ = load_lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
