"""Attack a method: fit it again and again on samples of the real table, and see what its tables give away."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.errors import SklarWarning, UsageError
from sklar.lab.attacks.attribute_fits import attribute_attack
from sklar.lab.attacks.games import FunctionGenerator, Generator, Subject
from sklar.lab.attacks.peer import PeerGenerator, find_peer
from sklar.lab.attacks.release import Attack, found_by, refuse_unknown_options, require_option
from sklar.lab.attacks.result import AttackResult, Progress
from sklar.lab.attacks.shadow import shadow_attack
from sklar.lab.tables.reading import read_raw, read_table
from sklar.methods.registry import BASELINE_NAMES, METHODS, find_method
from sklar.notebook import notebook_bar
from sklar.sample.rng import substream
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.pipeline.model import Model

WORKERS = 2
"""Processes of attacks on a method by name: more are faster where there are cores and memory for as many fits."""
METHOD_ATTACKS: dict[str, Callable[..., AttackResult]] = {"shadow": shadow_attack, "attribute": attribute_attack}
"""Name to attack: (subject, done, *, and options of its own)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodGenerator:
    """A method of Sklar as a generator; `levels` are truncation levels of one fit, or the only level there is."""

    schema: Schema
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    levels: tuple[str, ...] = ("",)

    def fit(self, table: Any, seed: int) -> FittedMethod:
        """Fit, as a user would."""
        from sklar.pipeline.fit.run import fit

        settings: dict[str, Any] = {**self.settings}
        if settings["method"] not in METHODS:  # a private fit takes no seed
            settings["seed"] = seed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SklarWarning)
            return FittedMethod(fit(table, self.schema, **settings))


@dataclass(frozen=True, slots=True)
class FittedMethod:
    """A fitted model of which tables of any level are drawn."""

    model: Model

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Independent rows."""
        if not level:
            return self.model.sample(rows, seed=seed, iid=True)
        from sklar.lab.baselines.levels import at_level

        return at_level(self.model, int(level)).sample(rows, seed=seed, iid=True)


def attack_method(
    kind: str,
    method: Any,
    real: Any,
    schema: Schema | str | PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    levels: Sequence[int | str] | None = None,
    peers: Mapping[str, str] | None = None,
    name: str | None = None,
    seed: int = 0,
    read: ReadOptions | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Attack:
    """Attack a method by fitting it on samples of the real table. The results are not private.

    Every number is a lower bound on risk: an attack that fails proves nothing.

    Args:
        kind: "shadow" (membership by shadow models) or "attribute" (from fits on reference samples).
        method: The name of a method or of a peer, a `Generator`, or a function (table, rows, seed) -> table.
        real: The table whose rows are sampled.
        schema: Public facts about the columns, or the path of a schema file.
        settings: Of the fits of a method by name, as {"epsilon": 1.0}; a peer is told epsilon and delta.
        levels: Truncation levels of a method by name.
        peers: External commands by name, as in `compare`; `method` is one of these names.
        name: What to call the method in reports.
        seed: Fixes targets and samples (never privacy noise).
        read: How to read the real table: delimiter, encoding, null_values.
        progress: Told what is being computed, and the fraction that is done.
        options: Options of the attack, those of `shadow_attack` and `attribute_attack`; see docs/attacks.md.
    """
    if kind not in METHOD_ATTACKS:
        raise UsageError(
            f"the attack '{kind}' is on a table, not on a method; on methods there are: {', '.join(METHOD_ATTACKS)}."
        )
    for option, value in (("seed", seed), ("levels", levels), ("settings", settings)):
        if value is not None or option == "seed":
            require_option(kind, option, value)
    refuse_unknown_options(kind, METHOD_ATTACKS[kind], options)
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    generator = make_generator(facts, method, settings or {}, levels, peers or {})
    reading = read or ReadOptions()
    raw = read_raw(real, facts, reading)
    plain = ReadOptions(null_values=reading.null_values)
    exact = read_table(raw, facts, substream(seed, 10**6), role="real", read=plain)
    if kind == "shadow" and "epsilon" in (settings or {}):  # the claim of a method is known from its settings
        options = {"epsilon": (settings or {})["epsilon"], **options}
    if options.get("workers") is None:  # a function of a session cannot be sent to another process
        options["workers"] = WORKERS if isinstance(generator, MethodGenerator | PeerGenerator) else 1
    tell = progress or notebook_bar("attacking") or (lambda what, fraction: None)
    result = METHOD_ATTACKS[kind](Subject(real=exact, raw=raw, generator=generator, seed=seed), tell, **options)
    tell("done", 1.0)
    called = name or (method if isinstance(method, str) else getattr(method, "__name__", "generator"))
    return found_by(result, rows={"real": exact.total}, schema=facts, name=called)


def make_generator(
    schema: Schema,
    method: Any,
    settings: Mapping[str, Any],
    levels: Sequence[int | str] | None = None,
    peers: Mapping[str, str] | None = None,
) -> Generator:
    """A generator from the name of a method or peer, a generator, or a function (table, rows, seed) -> table."""
    if peers:
        return find_peer(schema, method, peers, settings, levels)
    if isinstance(method, str):
        extra = {"no_guarantee": True} if method in BASELINE_NAMES else {}
        if not extra:
            find_method(method)  # refuses unknown names
        named = tuple(str(level) for level in dict.fromkeys(levels)) if levels else ("",)
        return MethodGenerator(schema=schema, settings={"method": method, **extra, **settings}, levels=named)
    if settings or levels:
        raise UsageError("settings and levels are for methods by name; a generator brings its own.")
    if hasattr(method, "fit") and hasattr(method, "levels"):
        return method
    if callable(method):
        return FunctionGenerator(method)
    raise UsageError("a method is a name, a generator with levels and fit, or a function (table, rows, seed) -> table.")


def default_state(real: str | PathLike[str]) -> str:
    """Where the command line keeps finished parts: beside the real table."""
    return f"{os.fspath(real)}.attack"
