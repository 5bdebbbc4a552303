"""The parts of a comparison: systems (methods and peers), settings, and a cell for each system, epsilon and fold."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import sklar
from sklar.errors import UsageError
from sklar.given_numbers import plain_options
from sklar.lab.baselines.registry import BASELINES
from sklar.methods.registry import find_method
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.lab.metrics.bench import Settings

Kind = Literal["private", "disclosed", "peer"]
SYSTEM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,59}")
PLACEHOLDERS = ("train", "schema", "epsilon", "delta", "rows", "output")
"""Placeholders of a peer's command; the values are appended in this order to a command without any."""
MAX_FOLDS = 50
"""Maximum number of folds: each is one more fit of each system at each epsilon."""
PROMISES = {
    "private": "differential privacy at the epsilon and delta shown",
    "disclosed": "NO DP GUARANTEE",
    "peer": "as stated by its makers; not checked here",
}

LEARNED: dict[str, tuple[str, str, str, str]] = {
    "mcc": ("classification", "Matthews correlation (MCC)", "from -1 to 1, 0 for guessing", "higher"),
    "auc": ("classification", "area under the curve (AUC)", "from 0 to 1, 0.5 for guessing", "higher"),
    "f1": ("classification", "F1, averaged over classes", "from 0 to 1", "higher"),
    "accuracy": ("classification", "accuracy", "from 0 to 1", "higher"),
    "rmse": ("regression", "root mean squared error (RMSE)", "in units of the target", "lower"),
    "r2": ("regression", "R squared", "at most 1, 0 for guessing the mean", "higher"),
}
"""Measures of learners trained on synthetic rows, on the fold left out: task, title, range, and better direction."""
DEFAULT_LEARNED = {"classification": "mcc", "regression": "rmse"}
"""The measure that is ranked by default (Gambs et al. 2021); all are in the table of results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A synthesizer: a method with a guarantee, one without, or the command of a peer.

    Attributes:
        budgeted: Whether it is run once for each epsilon, or once without any.
        target: Whether it receives the target.
    """

    name: str
    kind: Kind
    method: str = ""
    options: Mapping[str, Any] | None = None
    command: str = ""
    budgeted: bool = True
    target: bool = False

    @property
    def promise(self) -> str:
        """Return its privacy promise in a few words."""
        return PROMISES[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSettings:
    """The settings shared by all cells; cells are comparable only if these are equal.

    Attributes:
        schema: Fingerprint of the schema.
        table: Hash of the rows under the schema.
        seed: Fixes folds, samples and subsamples; the noise of private fits is always fresh.
        rows: Number of synthetic rows; None for the number of training rows.
        wanted: Settings of the metrics: target, learners, measures, weights, queries.
    """

    schema: str
    table: str
    folds: int
    seed: int
    delta: float
    rows: int | None
    metrics: tuple[str, ...]
    attacks: tuple[str, ...]
    wanted: Settings

    @property
    def target(self) -> str | None:
        """Return the column to predict, if one is given."""
        return self.wanted.target


def read_plain(facts: Mapping[str, Any]) -> CompareSettings:
    """Restore settings from their form after `asdict` and JSON."""
    from sklar.lab.metrics.bench import Settings
    from sklar.lab.metrics.ranges import RangeWorkload

    def tuples(found: Mapping[str, Any]) -> dict[str, Any]:
        return {key: tuple(cast(list[Any], x)) if isinstance(x, list) else x for key, x in found.items()}

    wanted: dict[str, Any] = {**tuples(facts["wanted"]), "ranges": RangeWorkload(**facts["wanted"]["ranges"])}
    plain: dict[str, Any] = {**tuples(facts), "wanted": Settings(**wanted)}
    return CompareSettings(**plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One system at one epsilon (None for systems without) on one fold."""

    system: System
    epsilon: float | None
    fold: int

    def key(self, settings: CompareSettings) -> str:
        """Hash everything that the result depends on; the hash is the name of its file."""
        parts = {**asdict(self), "settings": asdict(settings), "sklar": sklar.__version__}
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]

    @property
    def label(self) -> str:
        """Return a readable name, also of its log."""
        return f"{self.system.name}{'' if self.epsilon is None else f'-{self.epsilon:g}'}-fold{self.fold}"


def plan_cells(systems: Sequence[System], epsilons: Sequence[float], folds: int) -> tuple[Cell, ...]:
    """List all cells fold by fold, so that an interrupted comparison has results of every system."""
    return tuple(
        Cell(system=system, epsilon=epsilon, fold=fold)
        for fold in range(folds)
        for system in systems
        for epsilon in (epsilons if system.budgeted else (None,))
    )


def read_systems(
    methods: Sequence[str] | Mapping[str, Mapping[str, Any]],
    peers: Mapping[str, str],
    target: str | None,
    schema: Schema,
) -> tuple[System, ...]:
    """Read the systems; reject unknown methods, options that do not fit the schema, and duplicate names."""
    if isinstance(methods, str):
        methods = methods.split(",")
    named = methods if isinstance(methods, Mapping) else {name: {"method": name} for name in methods}
    found = [_read_method(name, plain_options(facts), target, schema) for name, facts in named.items()]
    found += [read_peer(name, command) for name, command in peers.items()]
    if not found:
        raise UsageError("name at least one method or peer to compare")
    doubled = [name for name in peers if name in named]
    if doubled or (not isinstance(methods, Mapping) and len(set(methods)) < len(methods)):
        raise UsageError("every system needs a unique name; one is used twice")
    return tuple(found)


def _read_method(name: str, facts: dict[str, Any], target: str | None, schema: Schema) -> System:
    method = str(facts.pop("method", name))
    _require_name(name)
    baseline = BASELINES.get(method)
    chosen = baseline or find_method(method)
    has_target = target is not None and chosen.takes_target and "target" not in facts
    chosen.check(schema, chosen.read_options({**facts, **({"target": target} if has_target else {})}))
    return System(
        name=name, kind="private" if baseline is None else "disclosed", method=method, options=facts,
        budgeted=baseline is None or baseline.takes_epsilon, target=has_target,
    )  # fmt: skip


def read_peer(name: str, command: str) -> System:
    """Read a peer. A command with placeholders but without {epsilon} is run once, without a budget."""
    _require_name(name)
    try:
        words = shlex.split(command)
    except ValueError:
        raise UsageError(f"the command of peer '{name}' has an unclosed quote") from None
    if not words:
        raise UsageError(f"the command of peer '{name}' is empty")
    places = [place for place in PLACEHOLDERS if any(f"{{{place}}}" in word for word in words)]
    if places and "output" not in places:
        raise UsageError(f"the command of peer '{name}' has placeholders, but not {{output}}")
    return System(name=name, kind="peer", command=command, budgeted=not places or "epsilon" in places)


def _require_name(name: str) -> None:
    if not SYSTEM_NAME.fullmatch(name):
        raise UsageError(f"the name of a system may contain letters, digits, '.', '_', '+' and '-'; found {name!r}")


def read_epsilons(epsilons: Iterable[float] | float) -> tuple[float, ...]:
    """Read epsilons as distinct positive numbers in ascending order."""
    given = [epsilons] if isinstance(epsilons, int | float) else list(epsilons)
    try:
        found = sorted({float(value) for value in given})
    except (TypeError, ValueError):
        found = [math.nan]
    if any(not math.isfinite(value) or value <= 0 for value in found):
        raise UsageError(f"epsilons must be numbers above 0; found {given!r}")
    return tuple(found)


def read_metrics(metrics: Sequence[str] | None, target: str | None, schema: Schema) -> tuple[str, ...]:
    """Read names of metrics and of measures of learners; return them in the order of their lists."""
    from sklar.lab.learning.features import task_of
    from sklar.lab.metrics.registry import METRICS, QUICK

    task = None if target is None else task_of(schema, target)
    if metrics is None:
        return (*QUICK, *([] if task is None else ["learning", DEFAULT_LEARNED[task]]))
    known = (*METRICS, *LEARNED)
    unknown = [name for name in metrics if name not in known and name != "all"]
    if unknown:
        raise UsageError(f"there is no metric '{unknown[0]}'; the metrics are: {', '.join(known)}, or all")
    idle = {name for name, metric in METRICS.items() if "target" in metric.needs and task is None}
    idle |= {name for name, (kind, *_) in LEARNED.items() if kind != task}
    if idle & set(metrics):
        wanted = min(idle & set(metrics))
        kind = {"classification": " of labels", "regression": " of numbers"}.get(LEARNED.get(wanted, ("",))[0], "")
        raise UsageError(f"the metric '{wanted}' needs a target{kind}; name one by --target")
    return tuple(name for name in known if name in metrics or ("all" in metrics and name not in idle))


def require_attacks(kinds: Sequence[str]) -> tuple[str, ...]:
    """Reject unknown attacks and those that a comparison cannot run, before any work is done."""
    from sklar.lab.attacks.release import TABLE_ATTACKS

    if "attribute" in kinds:
        raise UsageError("the attack 'attribute' needs a sensitive column; a comparison has none. Use `sklar attack`")
    known = tuple(kind for kind in TABLE_ATTACKS if kind != "attribute")
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        raise UsageError(f"there is no attack on tables '{unknown[0]}'; the attacks are: {', '.join(known)}")
    return tuple(kind for kind in known if kind in kinds)
