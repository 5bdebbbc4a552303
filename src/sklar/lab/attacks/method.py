"""Attack a method: fit it repeatedly on samples of the real table and measure what its tables reveal."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from sklar.errors import PeerError, SklarWarning, UsageError
from sklar.lab.attacks.attribute_fits import attribute_attack
from sklar.lab.attacks.games import FunctionGenerator, Generator, Subject
from sklar.lab.attacks.release import Attack, attach_context, refuse_unknown_options, require_option
from sklar.lab.attacks.result import AttackResult, Progress
from sklar.lab.attacks.shadow import shadow_attack
from sklar.lab.baselines.registry import BASELINES
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

DEFAULT_WORKERS = 2
"""Processes of attacks on a method by name: more are faster given enough cores and memory."""
METHOD_ATTACKS: dict[str, Callable[..., AttackResult]] = {"shadow": shadow_attack, "attribute": attribute_attack}
"""Attack functions by name: (subject, done, **options)."""
PEER_SECONDS = 3600.0
"""Time limit of one run of a peer, as in a comparison."""
DEFAULT_PEER_DELTA = 1e-9
"""Delta passed to a peer when none is given, as in a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodGenerator:
    """A method of Sklar as a generator; `levels` are truncation levels of one fit, or ("",) for the whole model."""

    schema: Schema
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    levels: tuple[str, ...] = ("",)

    def fit(self, table: Any, seed: int) -> FittedMethod:
        """Fit as a user would."""
        from sklar.pipeline.fit.run import fit

        settings: dict[str, Any] = {**self.settings}
        if settings["method"] not in METHODS:  # a private fit takes no seed
            settings["seed"] = seed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SklarWarning)
            return FittedMethod(fit(table, self.schema, **settings))


@dataclass(frozen=True, slots=True)
class FittedMethod:
    """A fitted model from which tables of any level are drawn."""

    model: Model

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Sample independent rows."""
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
        settings: Settings of the fits of a method by name, as {"epsilon": 1.0}; a peer receives epsilon and delta. The
            attacked columns are also those that tvine protects, unless its settings name others.
        levels: Truncation levels of a method by name.
        peers: External commands by name, as in `compare`; `method` is one of these names.
        name: What to call the method in reports.
        seed: Fixes targets and samples (never privacy noise).
        read: How to read the real table: delimiter, encoding, null_values.
        progress: Called with the current step and the fraction completed.
        options: Options of the attack, those of `shadow_attack` and `attribute_attack`; see docs/attacks.md.
    """
    if kind not in METHOD_ATTACKS:
        raise UsageError(
            f"the attack '{kind}' is not available for methods; attacks on a method are: {', '.join(METHOD_ATTACKS)}."
        )
    for option, value in (("seed", seed), ("levels", levels), ("settings", settings)):
        if value is not None or option == "seed":
            require_option(kind, option, value)
    refuse_unknown_options(kind, METHOD_ATTACKS[kind], options)
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    settings = _protect_attacked(method, settings or {}, options.get("sensitive"))
    generator = make_generator(facts, method, settings, levels, peers or {})
    reading = read or ReadOptions()
    raw = read_raw(real, facts, reading)
    plain = ReadOptions(null_values=reading.null_values)
    exact = read_table(raw, facts, substream(seed, 10**6), role="real", read=plain)
    if kind == "shadow" and "epsilon" in settings:  # the settings of a method contain its claim
        options = {"epsilon": settings["epsilon"], **options}
    if options.get("workers") is None:  # a function defined interactively cannot be pickled
        options["workers"] = DEFAULT_WORKERS if isinstance(generator, MethodGenerator | PeerGenerator) else 1
    report = progress or notebook_bar("attacking") or (lambda what, fraction: None)
    result = METHOD_ATTACKS[kind](Subject(real=exact, raw=raw, generator=generator, seed=seed), report, **options)
    report("done", 1.0)
    title = name or (method if isinstance(method, str) else getattr(method, "__name__", "generator"))
    return attach_context(result, rows={"real": exact.total}, schema=facts, name=title)


def _protect_attacked(method: Any, settings: Mapping[str, Any], sensitive: Any) -> Mapping[str, Any]:
    """Have a method that protects named columns (tvine) protect the attacked ones, unless its settings name others."""
    own = BASELINES[method].options if isinstance(method, str) and method in BASELINES else None
    protects = own is not None and any(option.name == "sensitive" for option in fields(own))
    if not protects or sensitive is None or "sensitive" in settings:
        return settings
    return {**settings, "sensitive": (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)}


def make_generator(
    schema: Schema,
    method: Any,
    settings: Mapping[str, Any],
    levels: Sequence[int | str] | None = None,
    peers: Mapping[str, str] | None = None,
) -> Generator:
    """Make a generator from the name of a method or peer, a generator, or a function (table, rows, seed) -> table."""
    if peers:
        return find_peer(schema, method, peers, settings, levels)
    if isinstance(method, str):
        extra = {"no_guarantee": True} if method in BASELINE_NAMES else {}
        if not extra:
            find_method(method)  # rejects unknown names
        named = tuple(str(level) for level in dict.fromkeys(levels)) if levels else ("",)
        return MethodGenerator(schema=schema, settings={"method": method, **extra, **settings}, levels=named)
    if settings or levels:
        raise UsageError("settings and levels apply to methods given by name only; a generator has its own.")
    if hasattr(method, "fit") and hasattr(method, "levels"):
        return method
    if callable(method):
        return FunctionGenerator(method)
    raise UsageError("a method is a name, a generator with levels and fit, or a function (table, rows, seed) -> table.")


def default_state(real: str | PathLike[str]) -> str:
    """Return the folder where the command line keeps finished parts: next to the real table."""
    return f"{os.fspath(real)}.attack"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerGenerator:
    """The command of a peer as a generator; `settings` has the command, epsilon and delta."""

    name: str
    schema: Schema
    settings: Mapping[str, Any]
    levels: tuple[str, ...] = ("",)
    table: Any = None

    def fit(self, table: Any, seed: int) -> PeerGenerator:
        """Keep the rows, under the value rules of the schema, until a table is requested."""
        exact = read_table(table, self.schema, generator(seed), role="real")
        return replace(self, table=as_arrow(self.schema, exact))

    def generate(self, level: str, rows: int, seed: int) -> Any:
        """Run the command; if it fails, its messages stay in a folder that only the owner can read."""
        folder = Path(mkdtemp(prefix="sklar-peer-"))  # readable by its owner only
        work, log = folder / "work", folder / "logs" / f"{self.name}.log"
        try:
            made = self._run(work, log, rows)
        except PeerError as error:
            raise PeerError(f"the peer '{self.name}' failed: {error} (in {folder})", error.stopped) from None
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
        budget = self.settings.get("epsilon"), self.settings.get("delta", DEFAULT_PEER_DELTA)
        facts = peer_facts(work / "train.parquet", work / "schema.toml", rows, *budget)
        ended = run_peer(self.settings["command"], facts, work, log, Limits(seconds=PEER_SECONDS))
        try:
            made = pq.read_table(ended.output)
        except Exception as error:  # the text of a library's error could quote a cell
            raise PeerError(f"its table cannot be read ({type(error).__name__})") from None
        if made.num_rows < rows:
            raise PeerError(f"it wrote {made.num_rows:,} rows instead of {rows:,}")
        return made.slice(0, rows)


def find_peer(
    schema: Schema, name: Any, peers: Mapping[str, str], settings: Mapping[str, Any], levels: Any = None
) -> PeerGenerator:
    """Return the peer of this name as a generator; it receives epsilon and delta only."""
    if set(peers) != {name}:
        raise UsageError("one peer is attacked at a time: give its name as the method, and only its command.")
    unknown = sorted(set(settings) - {"epsilon", "delta"})
    if unknown or levels:
        what = unknown[0] if unknown else "levels"
        raise UsageError(f"a peer receives epsilon and delta only; write '{what}' into its command.")
    if read_peer(name, peers[name]).budgeted and "epsilon" not in settings:
        raise UsageError(
            f"the peer '{name}' needs an epsilon; give one, or a command with placeholders but without {{epsilon}}."
        )
    return PeerGenerator(name=name, schema=modelled_schema(schema), settings={"command": peers[name], **settings})
