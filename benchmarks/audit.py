"""Audits: `python -m benchmarks.audit [METHOD ...] [--epsilon 1] [--runs 2000] [--pair "lone label"] [--halved]`.

Every DP method must pass. With --halved, the noise on counts is halved behind the releases' backs, which must be caught
by the estimate of mu, not only by the spread of the noise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sklar
from sklar.methods.registry import METHODS
from sklar.pipeline.fit.request import FitRequest
from sklar.pipeline.fit.run import open_fit
from sklar.private.noise import SystemNoise

QUICKER: dict[str, dict[str, Any]] = {
    "independent": {"repair": "clip"},
    "dpc-gauss": {"rounds": 0},
    "dpc-laplace": {"rounds": 0},
}
"""Options that change what is made of the releases, not the releases."""


class HalvedNoise(SystemNoise):
    def add(self, exact_tables: Sequence[Any], noises: Sequence[Any], cells: Any = None) -> Any:
        return super().add(exact_tables, [replace(noise, scale=noise.scale / 2) for noise in noises], cells)


def fit_with_halved_noise(data: Any, schema: sklar.Schema, method: str, **settings: Any) -> sklar.Model:
    known = {name: settings.pop(name) for name in ("epsilon", "delta", "neighbours")}
    request = FitRequest(data=data, schema=schema, method=method, **known, options=settings)
    with open_fit(request, HalvedNoise()) as model:
        return model


def option(name: str, default: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main() -> None:
    fit = fit_with_halved_noise if "--halved" in sys.argv else None
    runs, pair, epsilon = int(option("--runs", "2000")), option("--pair", ""), float(option("--epsilon", "1"))
    chosen = [word for word in sys.argv[1:] if word in METHODS] or list(METHODS)
    for method in chosen:
        for delta in (1e-9, 0.0) if method == "independent" else (1e-9,):
            started = time.perf_counter(), time.process_time()
            found = sklar.audit(
                method, epsilon, delta, runs=runs, pairs=[pair] if pair else None, fit=fit, **QUICKER.get(method, {})
            )
            spent = time.perf_counter() - started[0], time.process_time() - started[1]
            print(f"{method}, delta {delta:g}, {runs} runs: {spent[0]:.0f} s ({spent[1]:.0f} s of processor time)")
            print(f"  {found.verdict}")
            if found.mu is not None and found.claimed_mu is not None:
                share = found.mu.low / found.claimed_mu
                print(f"  all pairs: mu {found.mu.value:.3f} [{found.mu.low:.3f}, {found.mu.high:.3f}], claimed "
                      f"{found.claimed_mu:.3f}; the lower end is {share:.2f} of it")  # fmt: skip
            for p in found.pairs:
                mu = "-" if p.mu is None else f"{p.mu.value:.3f} [{p.mu.low:.3f}, {p.mu.high:.3f}]"
                mu += "" if p.stated_mu is None else f" (by exact shifts {p.stated_mu:.3f})"
                low = "-" if p.epsilon_of_mu is None else f"{p.epsilon_of_mu.low:.3f}"
                noise = "-" if p.noise is None else f"{p.noise.value:.4f} [{p.noise.low:.4f}, {p.noise.high:.4f}]"
                print(f"  {p.name}: mu {mu}, epsilon by mu >= {low}, by counting >= {p.epsilon_low:.3f}, noise {noise}")
                for fault in p.faults:
                    print(f"    {fault}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
