"""The Synthesizer of SmartNoise (`snsynth`): create, fit with hints about columns, sample.

    from sklar.adapters import Synthesizer   # was: from snsynth import Synthesizer

    synth = Synthesizer.create("vine", epsilon=3.0)
    synth.fit(df, categorical_columns=["sex"], continuous_columns=["income"], preprocessor_eps=0.5)
    rows = synth.sample(1000)

Lists of labels and bounds are measured, and paid for with `preprocessor_eps`; SmartNoise takes labels from the rows.
Kinds of columns without a hint are measured, too, since the type of a frame's column may depend on a single cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklar.errors import UsageError
from sklar.export.frames import as_frame, form_of, read_like
from sklar.methods.registry import BASELINE_NAMES, METHODS
from sklar.pipeline.fit.request import DEFAULT_DELTA
from sklar.pipeline.fit.run import fit
from sklar.pipeline.model import Model
from sklar.schema.columns import Category, Column, Unknown
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema

SMARTNOISE_NAMES = ("mst", "aim", "mwem", "dpctgan", "patectgan", "pacsynth", "dpgan", "pategan")
"""Synthesizers of SmartNoise; the default method is fitted in their place."""
MEASURED_BOUNDS = {"lower": "pay", "upper": "pay", "nullable": "pay"}


class Synthesizer:
    """A synthesizer with the interface of SmartNoise, made by `Synthesizer.create`.

    Attributes:
        model_: The fitted model, with its claim.
    """

    def __init__(
        self,
        epsilon: float,
        *,
        method: str | None = None,
        delta: float = DEFAULT_DELTA,
        ledger: Any = None,
        **options: Any,
    ):
        self.epsilon, self.delta, self.method, self.ledger, self.options = epsilon, delta, method, ledger, options
        self._fitted: tuple[Model, Any] | None = None

    @classmethod
    def create(
        cls, synth: str | None = None, epsilon: float | None = None, *, delta: float | None = None, **more: Any
    ) -> Synthesizer:
        """Make a synthesizer for a method of Sklar; a name of SmartNoise (as "mst") means the default method.

        Args:
            synth: The method.
            epsilon: The privacy budget, including preprocessing.
            delta: As for `sklar.fit`.
            more: `ledger`, and options of the method. `verbose` has no effect.
        """
        if epsilon is None:
            raise UsageError("epsilon has no default: choose it, such as epsilon=1.0")
        more.pop("verbose", None)
        method = None if synth is None or synth.lower() in SMARTNOISE_NAMES else synth
        return cls(epsilon, method=method, delta=DEFAULT_DELTA if delta is None else delta, **more)

    @classmethod
    def list_synthesizers(cls) -> list[str]:
        """Return the methods that `create` takes."""
        return list(METHODS)

    def fit(
        self,
        data: Any,
        *ignore: Any,
        transformer: Any = None,
        categorical_columns: Sequence[str] = (),
        ordinal_columns: Sequence[str] = (),
        continuous_columns: Sequence[str] = (),
        preprocessor_eps: float = 0.0,
        nullable: bool = False,
    ) -> Synthesizer:
        """Learn from a data frame.

        Args:
            data: A data frame.
            ignore: Ignored, as in SmartNoise.
            transformer: A `sklar.Schema` with public facts, which are not measured. One of SmartNoise is refused.
            categorical_columns: Columns of labels.
            ordinal_columns: Columns of whole numbers.
            continuous_columns: Columns of real numbers.
            preprocessor_eps: The part of epsilon that measures kinds, bounds and labels; by default as in `sklar.fit`.
            nullable: Has no effect: whether values are missing is measured, too.
        """
        if transformer is not None and not isinstance(transformer, Schema):
            raise UsageError("transformer must be a sklar.Schema, which states public facts about the columns")
        if self.method in BASELINE_NAMES:
            raise UsageError(f"method '{self.method}' has no guarantee: fit it with sklar.fit(..., no_guarantee=True)")
        if not 0.0 <= preprocessor_eps < self.epsilon:
            raise UsageError(f"preprocessor_eps is part of epsilon: it must be at least 0 and below {self.epsilon:g}")
        share = preprocessor_eps / self.epsilon if preprocessor_eps else None
        schema = transformer or schema_of(data, categorical_columns, ordinal_columns, continuous_columns)
        model = fit(data, schema, self.method, self.epsilon, self.delta, self.ledger, pay_share=share, **self.options)
        self._fitted = model, read_like(data)
        return self

    @property
    def model_(self) -> Model:
        """The fitted model."""
        if self._fitted is None:
            raise UsageError("the synthesizer is not fitted yet: call fit(data) first")
        return self._fitted[0]

    def sample(self, n_rows: int, *, seed: int | None = None) -> Any:
        """Draw synthetic rows, as a frame of the library of the fitted one."""
        model = self.model_
        assert self._fitted is not None
        return as_frame(model.sample(n_rows, seed=seed), model.schema, to=None, like=self._fitted[1])

    def fit_sample(self, data: Any, *ignore: Any, **settings: Any) -> Any:
        """Fit, and sample about the same number of rows, whose exact number is private."""
        self.fit(data, *ignore, **settings)
        return self.sample(self.model_.rows_estimate)


def schema_of(data: Any, categorical: Sequence[str], ordinal: Sequence[str], continuous: Sequence[str]) -> Schema:
    """Return a schema from hints about columns; everything else is measured."""
    form = form_of(data)
    if form is None:
        raise UsageError(f"data must be a data frame of pandas, polars, Arrow or DuckDB, not a {type(data).__name__}")
    names = [str(name) for name in (data.column_names if form == "arrow" else _list_column_names(data))]
    hints = {
        **dict.fromkeys(categorical, Category(source="pay")),
        **dict.fromkeys(ordinal, Integer(0, 1, source=MEASURED_BOUNDS)),
        **dict.fromkeys(continuous, Real(0, 1, source=MEASURED_BOUNDS)),
    }
    unknown = [name for name in hints if name not in names]
    if unknown:
        raise UsageError(f"the table has no column '{unknown[0]}'")
    columns: dict[str, Column] = {name: hints.get(name, Unknown()) for name in names}
    return Schema(columns)


def _list_column_names(data: Any) -> Sequence[Any]:
    return data.collect_schema().names() if hasattr(data, "collect_schema") else list(data.columns)
