"""Attack a method: fit it again and again on samples of the real table, and see what its tables give away."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Generator as Yields
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklar.errors import UsageError
from sklar.lab.attacks.release import Attack, found_by, refuse_unknown_options, require_option, require_seed
from sklar.methods.registry import BASELINE_NAMES, METHODS, find_method
from sklar.sample.rng import substream
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.lab.attacks.games import Generator
    from sklar.lab.attacks.result import AttackResult
    from sklar.lab.tables.table import ExactTable
    from sklar.pipeline.model import Model

Progress = Callable[[str, float], None]
WORKERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodGenerator:
    """A method of Sklar as a generator; `levels` are truncation levels of one fit, or the only level there is."""

    schema: Schema
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    levels: tuple[str, ...] = ("",)

    def fit(self, table: Any, seed: int) -> FittedMethod:
        """Fit, as a user would."""
        import warnings

        from sklar.errors import SklarWarning
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
    name: str | None = None,
    seed: int = 0,
    read: ReadOptions | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Attack:
    """Attack a method by fitting it on samples of the real table. Disclosed: the results are not private.

    Every number is a lower bound on risk: an attack that fails proves nothing.

    Args:
        kind: "shadow" (membership by shadow models) or "attribute" (from fits on reference samples).
        method: The name of a method, a `Generator`, or a function (table, rows, seed) -> table.
        real: The table whose rows are sampled.
        schema: Public facts about the columns, or the path of a schema file.
        settings: Of the fits of a method by name, as {"epsilon": 1.0}.
        levels: Truncation levels of a method by name.
        name: What to call the method in reports.
        seed: Fixes targets and samples (never privacy noise).
        read: How to read the real table: delimiter, encoding, null_values.
        progress: Told what is being computed, and the fraction that is done.
        options: Options of the attack, those of `shadow_attack` and `attribute_attack`; see docs/attacks.md.
    """
    require_seed(seed)
    runs: dict[str, Callable[..., AttackResult]] = {"shadow": shadow_attack, "attribute": attribute_attack}
    if kind not in runs:
        raise UsageError(
            f"the attack '{kind}' is on a table, not on a method; on methods there are: {', '.join(runs)}."
        )
    for option, value in (("levels", levels), ("settings", settings)):
        if value is not None:
            require_option(option, value, on_method=True, kind=kind)
    refuse_unknown_options(kind, runs[kind], options, ("seed", "done"))
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    generator = make_generator(facts, method, settings or {}, levels)
    exact, raw = _read(real, facts, seed, read or ReadOptions())
    tell = progress or (lambda what, fraction: None)
    result = runs[kind](exact, raw, generator, seed=seed, done=tell, **_with_epsilon(kind, options, settings or {}))
    tell("done", 1.0)
    told = name or (method if isinstance(method, str) else getattr(method, "__name__", "generator"))
    return found_by(result, rows={"real": exact.total}, schema=facts, name=told)


def make_generator(
    schema: Schema, method: Any, settings: Mapping[str, Any], levels: Sequence[int | str] | None = None
) -> Generator:
    """A generator from the name of a method, a generator, or a function (table, rows, seed) -> table."""
    from sklar.lab.attacks.games import FunctionGenerator

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


def shadow_attack(
    real: ExactTable,
    raw: Any,
    generator: Generator,
    *,
    seed: int,
    done: Progress,
    profile: str = "paper",
    sensitive: Sequence[str] | str | None = None,
    targets: Sequence[int] | None = None,
    random_targets: int = 5,
    features: Sequence[str] | str | None = None,
    classifier: str = "forest",
    epsilon: float | None = None,
    state: str | PathLike[str] | None = None,
    workers: int | None = None,
    changes: Mapping[str, int] | None = None,
) -> AttackResult:
    """Membership inference by shadow models.

    Args:
        real: The real rows as codes.
        raw: The real rows as an Arrow table.
        generator: The method.
        seed: Fixes samples and targets.
        done: Told how far it is, and the time left.
        profile: "paper" (parameters of Griesbauer et al. 2025, table 1) or "quick".
        sensitive: Columns at whose outlying quantiles targets are taken.
        targets: Places of target rows instead.
        random_targets: Targets drawn at random besides.
        features: Any of naive, histogram, correlation, ensemble, closest; all by default.
        classifier: forest, logistic, neighbors or svc.
        epsilon: What the method claims, for the bound 2 - exp(epsilon).
        state: A folder that keeps finished parts, so that the same attack can be taken up after an interrupt.
        workers: Processes; by default 2, and 1 for functions and generators of your own, which then stay in this one.
        changes: Parameters of the profile to change, as {"iterations": 5}.
    """
    from sklar.lab.attacks.classifiers import SETS, feature_maker, require_classifier
    from sklar.lab.attacks.games import SHADOW_PROFILES, choose_targets, find_profile
    from sklar.lab.attacks.parts import load_part, run_parts
    from sklar.lab.attacks.shadow import (
        Judging,
        ShadowGame,
        game_parts,
        judge_parts,
        play_judge,
        play_part,
        require_rows,
        shadow_result,
    )

    require_classifier(classifier)
    chosen = SETS if features is None else (features,) if isinstance(features, str) else tuple(features)
    if not chosen or any(name not in SETS for name in chosen):
        raise UsageError(f"features are any of {', '.join(SETS)}; found {list(chosen)}.")
    sizes = find_profile(SHADOW_PROFILES, profile, dict(changes or {}))
    columns = _columns(real, sensitive)
    people = choose_targets(real, substream(seed, 0), sensitive=columns, rows=targets, random=random_targets)
    require_rows(real.rows, len(people), sizes)
    game = ShadowGame(
        schema=real.schema, real=real, raw=raw, generator=generator, targets=people, profile=sizes,
        maker=feature_maker(real), seed=seed, stream=substream,
    )  # fmt: skip
    with _state(state, game) as folder:
        count = _workers(workers, generator)
        run_parts(
            game, play_part, game_parts(game), folder, workers=count, done=_share(done, 0.0), what="fits, part"
        )  # fmt: skip
        judging = Judging(game=game, folder=folder, features=chosen, classifier=classifier)
        judged = judge_parts(game)
        run_parts(judging, play_judge, judged, folder, workers=count, done=_share(done, 0.5), what="judging")
        return shadow_result(judging, {part: load_part(folder, part) for part in judged}, epsilon)


def attribute_attack(
    real: ExactTable,
    raw: Any,
    generator: Generator,
    *,
    seed: int,
    done: Progress,
    profile: str = "paper",
    sensitive: Sequence[str] | str | None = None,
    targets: Sequence[int] | None = None,
    random_targets: int = 5,
    state: str | PathLike[str] | None = None,
    workers: int | None = None,
    changes: Mapping[str, int] | None = None,
) -> AttackResult:
    """Attribute inference from fits on reference samples; arguments as in `shadow_attack`."""
    from sklar.lab.attacks.attribute import sensitive_columns
    from sklar.lab.attacks.attribute_fits import (
        AttributeGame,
        attribute_parts,
        attribute_result,
        play_attribute,
        require_reference,
    )
    from sklar.lab.attacks.games import ATTRIBUTE_PROFILES, choose_targets, find_profile
    from sklar.lab.attacks.parts import load_part, run_parts
    from sklar.lab.attacks.regression import layout_of

    columns = sensitive_columns(real, sensitive)
    labels = [name for name in columns if not real.schema[name].ordered]
    if labels:
        raise UsageError(f"the column '{labels[0]}' has no order to regress on; attack a synthetic table instead.")
    sizes = find_profile(ATTRIBUTE_PROFILES, profile, dict(changes or {}))
    require_reference(real.rows, sizes)
    people = choose_targets(real, substream(seed, 0), sensitive=columns, rows=targets, random=random_targets)
    game = AttributeGame(
        real=real, raw=raw, generator=generator, sensitive=columns, targets=people, layout=layout_of(real),
        profile=sizes, seed=seed, stream=substream,
    )  # fmt: skip
    parts = attribute_parts(game)
    with _state(state, game) as folder:
        run_parts(game, play_attribute, parts, folder, workers=_workers(workers, generator), done=done, what="game")
        return attribute_result(game, {part: load_part(folder, part) for part in parts})


@contextmanager
def _state(state: str | PathLike[str] | None, game: Any) -> Yields[Path]:
    """The folder of finished parts; it is taken away when the attack is over, and stays when it was interrupted."""
    from sklar.lab.attacks.parts import open_state, remove_parts

    with open_state(state, _fingerprint(game)) as folder:
        yield folder
        if state is not None:
            remove_parts(folder)


def _workers(wanted: int | None, generator: Any) -> int:
    """A function of a session cannot be sent to another process, so by default it is not tried."""
    return (WORKERS if isinstance(generator, MethodGenerator) else 1) if wanted is None else max(1, wanted)


def _share(done: Progress, start: float) -> Progress:
    return lambda what, fraction: done(what, start + fraction / 2)


def _fingerprint(game: Any) -> str:
    """Recognizes the same attack on the same rows; it stays in a file of its owner's."""
    from sklar.lab.metrics.copies import row_keys

    keys = row_keys(game.real).tobytes()
    said = repr([type(game).__name__, game.profile, game.targets, game.seed, game.real.schema.fingerprint])
    return hashlib.sha256(said.encode() + _told(game.generator).encode() + keys).hexdigest()


def _told(generator: Any) -> str:
    settings = getattr(generator, "settings", None)
    return repr((getattr(generator, "levels", ()), settings or type(generator).__name__))


def _read(real: Any, schema: Schema, seed: int, read: ReadOptions) -> tuple[ExactTable, Any]:
    from sklar.lab.tables.reading import read_raw, read_table

    raw = read_raw(real, schema, read)
    plain = ReadOptions(null_values=read.null_values)
    return read_table(raw, schema, substream(seed, 10**6), role="real", read=plain), raw


def _columns(real: ExactTable, sensitive: Sequence[str] | str | None) -> tuple[str, ...]:
    from sklar.lab.attacks.attribute import sensitive_columns

    return () if not sensitive else sensitive_columns(real, sensitive)


def _with_epsilon(kind: str, given: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The claimed epsilon of a method is known from its settings."""
    if kind == "shadow" and "epsilon" in settings and "epsilon" not in given:
        return {**given, "epsilon": settings["epsilon"]}
    return dict(given)


def default_state(real: str | PathLike[str]) -> str:
    """Where the command line keeps finished parts: beside the real table."""
    return f"{os.fspath(real)}.attack"
