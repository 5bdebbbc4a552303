"""Attack a method: fit it again and again on samples of the real table, and see what its tables give away."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from sklar.errors import PeerError, SklarWarning, UsageError
from sklar.lab.attacks.attribute_fits import attribute_attack
from sklar.lab.attacks.games import FunctionGenerator, Generator, Subject
from sklar.lab.attacks.release import Attack, found_by, refuse_unknown_options, require_option
from sklar.lab.attacks.result import AttackResult, Progress
from sklar.lab.attacks.shadow import shadow_attack
from sklar.lab.compare.peers import Limits, peer_facts, run_peer
from sklar.lab.compare.store import modelled_schema
from sklar.lab.compare.systems import read_peer
from sklar.lab.tables.reading import read_raw, read_table
from sklar.lab.tables.table import as_arrow
from sklar.methods.registry import BASELINE_NAMES, METHODS, find_method
from sklar.notebook import notebook_bar
from sklar.sample.rng import generator, substream
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


SECONDS = 3600.0
"""What one run of a peer may take, as in a comparison."""
DELTA = 1e-9
"""Delta of a peer that is told none, as in a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerGenerator:
    """The command of a peer; its settings are that command, and the epsilon and delta it is told."""

    name: str
    schema: Schema
    settings: Mapping[str, Any]
    levels: tuple[str, ...] = ("",)
    table: Any = None

    def fit(self, table: Any, seed: int) -> PeerGenerator:
        """Keep the rows, under the value rules of the schema, until a table is asked for."""
        exact = read_table(table, self.schema, generator(seed), role="real")
        return replace(self, table=as_arrow(self.schema, exact))

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Run the command; where it fails, its messages stay in a folder of their owner's."""
        folder = Path(mkdtemp(prefix="sklar-peer-"))  # for its owner only
        work, log = folder / "work", folder / "logs" / f"{self.name}.log"
        try:
            made = self._run(work, log, rows)
        except PeerError as error:
            raise PeerError(f"the peer '{self.name}' failed: {error} (of {folder})", error.stopped) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        return made

    def _run(self, work: Path, log: Path, rows: int) -> Any:
        import pyarrow.parquet as pq

        work.mkdir()
        log.parent.mkdir()
        pq.write_table(self.table, work / "train.parquet")
        self.schema.write(work / "schema.toml")
        budget = self.settings.get("epsilon"), self.settings.get("delta", DELTA)
        told = peer_facts(work / "train.parquet", work / "schema.toml", rows, *budget)
        ended = run_peer(self.settings["command"], told, work, log, Limits(seconds=SECONDS))
        try:
            made = pq.read_table(ended.output)
        except Exception as error:  # the text of a library's error could quote a cell
            raise PeerError(f"its table cannot be read ({type(error).__name__})") from None
        if made.num_rows < rows:
            raise PeerError(f"it wrote {made.num_rows:,} rows where {rows:,} were asked for")
        return made.slice(0, rows)


def find_peer(
    schema: Schema, name: Any, peers: Mapping[str, str], settings: Mapping[str, Any], levels: Any = None
) -> PeerGenerator:
    """The peer of this name; it is told epsilon and delta, and nothing else."""
    if set(peers) != {name}:
        raise UsageError("one peer is attacked at a time: give its name as the method, and its command alone.")
    unknown = sorted(set(settings) - {"epsilon", "delta"})
    if unknown or levels:
        what = unknown[0] if unknown else "levels"
        raise UsageError(f"a peer is told epsilon and delta alone; write '{what}' into its command.")
    if read_peer(name, peers[name]).budgeted and "epsilon" not in settings:
        raise UsageError(f"the peer '{name}' is told an epsilon; give one, or a command with places but none for it.")
    return PeerGenerator(name=name, schema=modelled_schema(schema), settings={"command": peers[name], **settings})
