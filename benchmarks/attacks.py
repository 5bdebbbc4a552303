"""Attacks measured: `python -m benchmarks.attacks [adult] [overfitted] [simulated] [simulated-gain] [support2] ...`.

adult: Monte Carlo membership on Adult, 500 targets, 32,000 synthetic rows, 50 iterations (goal: 30 s).
overfitted: bootstrap copies with small jitter are caught, `independent` at epsilon 1 is not.
strangers: generators that nobody would publish, and one that somebody might: verdicts of three attacks.
simulated: attribute inference per truncation level of tvine on the papers' simulated table (`--selection bic`).
simulated-gain: privacy gain per truncation level of tvine there, three targets of the paper, smaller profile.
support2, support2-attribute: shadow models and attribute inference against tvine at the papers' parameters (goals: 10
and 3 min); `--level N` (default 1), `--profile quick`.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import sklar
from benchmarks.data import prepare
from benchmarks.data.simulated import simulated as simulated_table


class Clock:
    """Wall and processor seconds of a block, the latter of this process and the ones it started."""

    def __enter__(self) -> Clock:
        self.started = time.perf_counter(), processor_seconds()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self.started[0]
        self.cpu = processor_seconds() - self.started[1]


def processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def option(name: str, default: str) -> str:
    """The word after an option."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def independent(table: Any, rows: int, seed: int) -> pd.DataFrame:
    """Columns drawn independently of each other."""
    rng, real = np.random.default_rng(seed), as_frame(table)
    return pd.DataFrame({name: real[name].to_numpy()[rng.integers(len(real), size=rows)] for name in real})


def copier(table: Any, rows: int, seed: int) -> pd.DataFrame:
    """Bootstrap copies, every number moved by 1% of its spread."""
    rng, real = np.random.default_rng(seed), as_frame(table)
    return jittered(real.iloc[rng.integers(len(real), size=rows)].reset_index(drop=True), rng)


def every_row_once(table: Any, rows: int, seed: int) -> pd.DataFrame:
    """All real rows, numbers moved as above, over and over until there are enough."""
    rng, real = np.random.default_rng(seed), as_frame(table)
    order = np.concatenate([rng.permutation(len(real)) for _ in range(-(-rows // len(real)))])[:rows]
    return jittered(real.iloc[order].reset_index(drop=True), rng)


def jittered(out: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    for name in out.select_dtypes("number"):
        if out[name].nunique() > 2:
            out[name] = out[name] + rng.normal(0, 0.01 * out[name].std(), len(out))
    return out


def as_frame(table: Any) -> pd.DataFrame:
    return table.to_pandas() if isinstance(table, pa.Table) else table


def tell(found: sklar.results.Attack) -> None:
    for number in found.numbers:
        control = "-" if number.control is None else f"{number.control.value:.3f}"
        attack = number.attack
        print(f"  {number.name}: {attack.value:.3f} [{attack.low:.3f}, {attack.high:.3f}] control {control}")


def adult() -> None:
    people = prepare.adult().sample(frac=1, random_state=0).reset_index(drop=True)
    schema = sklar.draft_schema(people)
    real, held = people[:24_000], people[24_000:]
    for name, synthetic in (("independent columns", independent(real, 32_000, 1)), ("copies", copier(real, 32_000, 2))):
        with Clock() as clock:
            found = sklar.attack("membership", real, synthetic, schema, held, targets=500, iterations=50)
        print(f"adult, {name}: {clock.wall:.1f} s ({clock.cpu:.1f} s of processor time), both distances")
        tell(found)


def overfitted() -> None:
    people = prepare.adult().sample(frac=1, random_state=0).reset_index(drop=True)
    schema = confirmed(sklar.draft_schema(people))
    real, held = people[:8_000], people[8_000:16_000]
    honest = sklar.fit(real, schema, method="independent", epsilon=1.0).sample(32_000, seed=1)
    for name, synthetic in (("copies", copier(real, 32_000, 2)), ("independent, epsilon 1", honest)):
        print(f"membership, {name}, 8,000 real rows, 32,000 synthetic ones")
        tell(sklar.attack("membership", real, synthetic, schema, held))
    some = real[:2_000]
    runs: list[tuple[str, Any, dict[str, Any]]] = [
        ("copies, tables of the size of the fit", copier, {"workers": 1}),
        ("every row once, tables of the size of the fit", every_row_once, {"workers": 1}),
        ("copies, tables five times as large", copier, {"workers": 1, "changes": {"synthetic": 1_000}}),
        ("independent, epsilon 1", "independent", {"settings": {"epsilon": 1.0, "repair": "clip"}}),
    ]
    for name, method, options in runs:
        with Clock() as clock:
            found = sklar.lab.attack_method("shadow", method, some, schema, profile="quick", sensitive="age", **options)
        print(f"shadow models, quick profile, {name}: {clock.wall:.0f} s")
        tell(found)


def strangers() -> None:
    from benchmarks.strangers import GENERATORS

    people = prepare.adult().sample(frac=1, random_state=0).reset_index(drop=True)
    schema = confirmed(sklar.draft_schema(people))
    real, held, some = people[:2_000], people[2_000:4_000], people[:1_000]
    for name, method in GENERATORS.items():
        print(f"{name}, 2,000 real rows, 8,000 synthetic ones; shadow models on 1,000 rows, quick profile")
        synthetic = method(real, 8_000, 3)
        tell(sklar.attack("membership", real, synthetic, schema, held, iterations=10))
        tell(sklar.attack("copies", real, synthetic, schema, held))
        tell(sklar.lab.attack_method("shadow", method, some, schema, profile="quick", sensitive="age", workers=1))


def confirmed(schema: sklar.Schema) -> sklar.Schema:
    """The drafted facts taken as known: fine for a benchmark on public tables."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.toml"
        schema.write(path)
        path.write_text(path.read_text().replace('"from-rows"', '"assumed"'))
        return sklar.Schema.read(path)


def simulated() -> None:
    """MAB of X1, X6 and X11 by truncation level."""
    real = simulated_table("train")
    levels = [int(x) for x in option("--levels", "1,2,5,10,11,12,13,15,16,17,18,19,20").split(",")]
    with Clock() as clock:
        found = sklar.lab.attack_method(
            "attribute", "tvine", real, sklar.draft_schema(real), profile=option("--profile", "paper"),
            sensitive=["X1", "X6", "X11"], levels=levels, workers=int(option("--workers", "2")),
            settings={**tvine(["X1"]), "selection": option("--selection", "aic")},
        )  # fmt: skip
    print(f"simulated table, {len(levels)} levels: {clock.wall:.0f} s ({clock.cpu:.0f} s of processor time)")
    for measure in ("mab", "wcab"):
        for name in ("X1", "X6", "X11"):
            values = " ".join(f"{level}:{found[f'{name}.{measure}[{level}]'].attack.value:.3f}" for level in levels)
            print(f"  {measure} of {name}: {values}")


def simulated_gain() -> None:
    """PG by truncation level: rows 202 and 843 lie at quantiles .01 and .99 of X1, row 123 is one of the random."""
    real = simulated_table("train")
    levels = [int(x) for x in option("--levels", "1,10,16,18,20").split(",")]
    with Clock() as clock:
        found = sklar.lab.attack_method(
            "shadow", "tvine", real, sklar.draft_schema(real), profile=option("--profile", "quick"),
            targets=[202, 843, 123], levels=levels, settings=tvine(["X1"]), workers=int(option("--workers", "2")),
            progress=progress,
        )  # fmt: skip
    print(f"simulated table, PG at {len(levels)} levels: {clock.wall:.0f} s ({clock.cpu:.0f} s of processor time)")
    tell(found)


def tvine(sensitive: list[str]) -> dict[str, Any]:
    ours = {"conditional_root": None, "families": "parametric", "margins": "smoothed"}
    return {"target": "Y", "sensitive": sensitive, "threads": 1, **ours}


def support2() -> None:
    _support2("shadow")


def support2_attribute() -> None:
    _support2("attribute")


def _support2(kind: str) -> None:
    real, level, profile = prepare.support2()[0], int(option("--level", "1")), option("--profile", "paper")
    extra = {"state": option("--state", "")} if "--state" in sys.argv else {}
    with Clock() as clock:
        found = sklar.lab.attack_method(
            kind, "tvine", real, sklar.draft_schema(real), profile=profile, sensitive=["totcst", "crea"],
            random_targets=4, settings={**tvine(["totcst", "crea"]), "level": level}, progress=progress, **extra,
        )  # fmt: skip
    print(
        f"SUPPORT2, {kind}, tvine at level {level}, profile {profile}: {clock.wall:.0f} s "
        f"({clock.cpu:.0f} s of processor time)"
    )
    tell(found)


def progress(what: str, fraction: float) -> None:
    if "--verbose" in sys.argv:
        print(f"  {fraction:.0%} {what}", flush=True)


RUNS = {
    "adult": adult, "overfitted": overfitted, "strangers": strangers, "simulated": simulated,
    "simulated-gain": simulated_gain, "support2": support2, "support2-attribute": support2_attribute,
}  # fmt: skip

if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if word in RUNS] or list(RUNS)
    for word in chosen:
        RUNS[word]()
