"""Sklar in a benchmark of SDGym: the two functions of `create_single_table_synthesizer`.

from sdgym.synthesizers.generate import create_single_table_synthesizer
from sklar.adapters import sdgym_functions

create_single_table_synthesizer("Sklar", *sdgym_functions(epsilon=1.0))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklar.adapters.sdv_synthesizer import SklarSynthesizer


def sdgym_functions(
    **settings: Any,
) -> tuple[Callable[[Any, Any], SklarSynthesizer], Callable[[SklarSynthesizer, int], Any]]:
    """Return a function that trains on a table with SDV metadata, and one that samples from the result.

    Args:
        settings: Arguments of `sklar.adapters.SklarSynthesizer`, as epsilon, which has no default.
    """

    def get_trained_synthesizer(data: Any, metadata: Any) -> SklarSynthesizer:
        chosen: dict[str, Any] = {"ranges": "pay", **settings}
        return SklarSynthesizer(metadata, **chosen).fit(data)

    def sample_from_synthesizer(synthesizer: SklarSynthesizer, n_samples: int) -> Any:
        return synthesizer.sample(n_samples)

    return get_trained_synthesizer, sample_from_synthesizer
