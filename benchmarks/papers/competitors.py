"""Competitors of the papers as external commands beside ours: PrivBayes anywhere, CTGAN and TVAE where torch is.

PrivBayes and PSD (`benchmarks/peers`) run in this Python. CTGAN and TVAE need `benchmarks/peers/setup ctgan` once;
where that was not done, a script says so and goes on without them. PrivPGD is no package.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import sklar
from sklar.lab.attacks.method import find_peer

PEERS = Path(__file__).resolve().parents[1] / "peers"
TUNED = {
    "simulated": {"ctgan": (1000, 150, 128), "tvae": (1500, 400, 2)},
    "support2": {"ctgan": (400, 100, 128), "tvae": (800, 100, 4)},
}
"""Epochs, rows of a batch and latent dimensions that Griesbauer et al. (2025, appendix K) found by random search."""
MIN_SIGMAS = (
    "PrivBayes here has the noise that its guarantee needs. The tool of COPULA-SHIRLEY (DataSynthesizer before\n"
    "31 March 2021) added noise of scale 2(d - k)/(n epsilon) to counts, n times too little: docs/papers.md."
)
"""Why PrivBayes does worse here than in the papers that give it three parents."""
OLD_NOISE = "old noise, NO GUARANTEE"
"""Label of PrivBayes with the noise of the papers' tool."""
QUICK_EPOCHS = {"simulated": {"ctgan": 60, "tvae": 300}, "support2": {"ctgan": 20, "tvae": 60}}
"""Of a quick run: enough to learn margins, too few for a number to lean on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Competitor:
    """A command by name, and the epsilon it is told, if any."""

    name: str
    label: str
    command: str
    epsilon: float | None = None

    @property
    def told(self) -> dict[str, Any]:
        """What `sklar.lab.attack_method` is given."""
        settings = {} if self.epsilon is None else {"epsilon": self.epsilon, "delta": 0.0}
        return {"peers": {self.name: self.command}, "settings": settings}

    def made(self, train: pd.DataFrame, schema: sklar.Schema, rows: int) -> pd.DataFrame:
        """Synthetic rows."""
        told = self.told
        peer = find_peer(schema, self.name, told["peers"], told["settings"])
        return peer.fit(train, 0).generate("", rows, 0).to_pandas()


def privbayes(epsilon: float, degree: int = 3, cells: int = 32, old_noise: bool = False) -> Competitor:
    """PrivBayes with the given parents a column and cells of a column of numbers.

    `old_noise` is that of the papers' tool: n times too little, so that no guarantee is left.
    """
    command = f"{sys.executable} {PEERS / 'privbayes' / 'run.py'} {degree} {cells}"
    label = f"PrivBayes {epsilon:g}"
    if old_noise:
        command, label = f"{command} old-noise", f"{label}, {OLD_NOISE}"
    return Competitor(name="privbayes", label=label, command=command, epsilon=epsilon)


def psd(epsilon: float) -> Competitor:
    """Private spatial decomposition (KD-hybrid), with P-HP the strongest competitor in DPCopula's paper."""
    command = f"{sys.executable} {PEERS / 'psd' / 'run.py'}"
    return Competitor(name="psd", label="PSD", command=command, epsilon=epsilon)


def php(epsilon: float) -> Competitor:
    """P-HP of the cells of the whole table, the other strong competitor of DPCopula."""
    command = f"{sys.executable} {PEERS / 'php' / 'run.py'}"
    return Competitor(name="php", label="P-HP", command=command, epsilon=epsilon)


def fp(epsilon: float) -> Competitor:
    """Filter and priority sampling of the cells of the whole table, a further competitor of DPCopula."""
    command = f"{sys.executable} {PEERS / 'fp' / 'run.py'}"
    return Competitor(name="fp", label="FP", command=command, epsilon=epsilon)


def networks(table: str, quick: bool) -> list[Competitor]:
    """CTGAN and TVAE as tuned for a table of TVineSynth's; none, with a word, where torch is not."""
    if not (Path(os.environ.get("SKLAR_PEERS", PEERS / ".venvs")) / "ctgan" / "bin" / "python").exists():
        print("CTGAN, TVAE: left out, since they need torch (once: benchmarks/peers/setup ctgan)")
        return []
    found: list[Competitor] = []
    for kind, (epochs, batch, latent) in TUNED[table].items():
        words = f"{kind} {min(epochs, QUICK_EPOCHS[table][kind]) if quick else epochs} {batch} {latent}"
        command = f"{PEERS / 'run'} ctgan {words} {{train}} {{schema}} {{rows}} {{output}}"
        found.append(Competitor(name=kind, label=kind.upper(), command=command))
    return found


def of_tvine(table: str, quick: bool, epsilons: Iterable[float] = (0.1, 1.0, 5.0)) -> list[Competitor]:
    """Those of TVineSynth: PrivBayes with 25 bins and degree 1, CTGAN and TVAE."""
    return [*(privbayes(epsilon, degree=1, cells=25) for epsilon in epsilons), *networks(table, quick)]
