"""A synthesizer object with the interfaces of scikit-learn's estimators and SDV's single-table synthesizers."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

from sklar.adapters.sdv_conditions import read_conditions
from sklar.errors import PaidRangesWarning, UsageError, warn_user
from sklar.export.frames import as_frame, read_like
from sklar.pipeline.fit.request import DEFAULT_DELTA
from sklar.pipeline.fit.run import fit
from sklar.pipeline.model import Model, load
from sklar.schema.sdv import StatedKind, kinds_from_sdv, read_sdv, schema_to_pay, to_sdv
from sklar.schema.table import Schema


class SklarSynthesizer:
    """A synthesizer for data frames; samples have the form of the fitted frame.

    Args:
        schema: Public facts about the columns, or the path of a schema file.
        metadata: SDV metadata instead (an object of SDV 1.x or 2.x, a dict, or the path of its JSON), also as the first
            argument. Its kinds are taken as public. Bounds and lists of values are measured, and paid from the budget:
            SDV 1.x does not state them, and SDV 2.x detects them from the rows.
        ranges: "public" takes the ranges of SDV 2.x as public, too, at no cost: you know them without the rows. "pay",
            the default, measures them.
        epsilon: The privacy budget. It has no default: choose it.
        delta: As for `fit`.
        method: As for `fit`.
        ledger: As for `fit`.
        target: As for `fit`.
        options: Everything else that `fit` takes, as {"neighbours": "replace"}.
        random_state: Seed of samples that name none. Noise is never seeded.

    Attributes:
        model_: The fitted model, with its claim.
    """

    def __init__(
        self,
        schema: Schema | str | PathLike[str] | None = None,
        *,
        metadata: Any = None,
        ranges: Literal["pay", "public"] | None = None,
        epsilon: float | None = None,
        delta: float = DEFAULT_DELTA,
        method: str | None = None,
        ledger: str | PathLike[str] | None = None,
        target: str | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
    ):
        self.schema, self.metadata, self.epsilon, self.delta, self.method = schema, metadata, epsilon, delta, method
        self.ledger, self.target, self.options, self.random_state = ledger, target, options, random_state
        self.ranges = ranges
        self._fitted: _Fitted | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings (scikit-learn's interface)."""
        return {name: getattr(self, name) for name in _list_parameters()}

    def set_params(self, **params: Any) -> SklarSynthesizer:
        """Change settings."""
        for name, value in params.items():
            if name not in _list_parameters():
                raise UsageError(f"SklarSynthesizer has no setting '{name}'; it has {', '.join(_list_parameters())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.get_params().items() if value not in (None, DEFAULT_DELTA)}
        listed = ", ".join(f"{name}={value!r}" for name, value in shown.items() if name != "schema")
        return f"SklarSynthesizer({listed})"

    def fit(self, data: Any, y: Any = None) -> SklarSynthesizer:
        """Fit a model to a table; `y` is ignored."""
        model = fit(
            data, self._choose_schema(), self.method, self.epsilon, self.delta, self.ledger, target=self.target,
            **dict(self.options or {}),
        )  # fmt: skip
        like = None if isinstance(data, str | PathLike | Mapping) else read_like(data)
        self._fitted = _Fitted(model=model, like=like)
        return self

    @property
    def model_(self) -> Model:
        """The fitted model."""
        if self._fitted is None:
            raise UsageError("the synthesizer is not fitted yet: call fit(data) first")
        return self._fitted.model

    def sample(
        self,
        num_rows: int | None = None,
        max_tries_per_batch: int | None = None,
        batch_size: int | None = None,
        *,
        seed: int | None = None,
        given: Any = None,
    ) -> Any:
        """Draw synthetic rows in the form of the fitted table; by default about the same number.

        `max_tries_per_batch` and `batch_size` exist for SDV and have no effect.
        """
        return self._restore_frame_type(
            self.model_.sample(num_rows, seed=self.random_state if seed is None else seed, given=given)
        )

    def sample_from_conditions(self, conditions: Any, *ignored: Any, seed: int | None = None, **unused: Any) -> Any:
        """Draw rows that meet SDV's conditions (`sdv.sampling.Condition`), one condition after the other."""
        import pyarrow as pa

        base = self.random_state if seed is None else seed
        tables = [
            self.model_.sample(rows, seed=None if base is None else base + at, given=values)
            for at, (rows, values) in enumerate(read_conditions(conditions))
        ]
        if not tables:
            raise UsageError("give at least one condition")
        return self._restore_frame_type(pa.concat_tables(tables))

    def sample_remaining_columns(
        self, known_columns: Any, *ignored: Any, seed: int | None = None, **unused: Any
    ) -> Any:
        """Return the given rows with their other columns drawn; see `Model.complete`."""
        return self.model_.complete(known_columns, seed=self.random_state if seed is None else seed)

    def _restore_frame_type(self, table: Any) -> Any:
        like = None if self._fitted is None else self._fitted.like
        return table if like is None else as_frame(table, self.model_.schema, to=None, like=like)

    def get_parameters(self) -> dict[str, Any]:
        """Return the settings (SDV's interface)."""
        return self.get_params()

    def get_metadata(self, version: Any = None) -> Any:
        """Return the given metadata, or those of the schema as a dict of V2; `version` has no effect."""
        if self.metadata is not None or self._takes_metadata_first():
            return self.schema if self.metadata is None else self.metadata
        return to_sdv(self.model_.schema)

    @classmethod
    def load(cls, filepath: str | PathLike[str]) -> SklarSynthesizer:
        """Read a saved model. Samples are Arrow tables, since a model file does not record a data frame library."""
        model = load(filepath)
        loaded = cls(model.schema, epsilon=model.claim.epsilon, delta=model.claim.delta or 0.0)
        loaded._fitted = _Fitted(model=model, like=None)
        return loaded

    def _takes_metadata_first(self) -> bool:
        """Return whether the first argument is metadata, as in SDV, and not a schema."""
        schema: Any = self.schema
        written = isinstance(schema, str | PathLike) and os.fspath(schema).lower().endswith(".json")
        return schema is not None and (written or not isinstance(schema, Schema | str | PathLike))

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the model file; `sklar.load` reads it, and `force` overwrites an existing one."""
        self.model_.save(path, force=force)

    def _choose_schema(self) -> Schema | str | PathLike[str] | None:
        schema: Any = self.schema
        first = self._takes_metadata_first()
        if self.metadata is None and not first:
            return schema
        if self.metadata is not None and schema is not None:
            raise UsageError("give a schema or metadata, not both")
        metadata = schema if first else self.metadata
        if isinstance(metadata, str | PathLike):
            return self._from_kinds(read_sdv(metadata))
        return self._from_kinds(kinds_from_sdv(getattr(metadata, "to_dict", lambda: metadata)()))

    def _from_kinds(self, kinds: dict[str, StatedKind]) -> Schema:
        if self.ranges not in (None, "pay", "public"):
            raise UsageError(f"ranges must be 'pay' or 'public', not {self.ranges!r}")
        if self.ranges is None and any(kind.domain is not None for kind in kinds.values()):
            warn_user(
                "the metadata state ranges, which SDV detects from the rows: they are measured and paid for instead. "
                "If you know them without the rows, use ranges='public'; ranges='pay' silences this warning",
                PaidRangesWarning,
            )
        return schema_to_pay(kinds, take_ranges=self.ranges == "public")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    model: Model
    like: Any


def _list_parameters() -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(SklarSynthesizer.__init__).parameters if name != "self")
