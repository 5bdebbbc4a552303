"""Sklar as a plugin of synthcity: a class for `Plugins().add`, with the interface of its other generators.

from synthcity.plugins import Plugins
from sklar.adapters import synthcity_plugin

Plugins().add("sklar", synthcity_plugin(schema, epsilon=1.0))

synthcity takes ranges, labels and the number of rows of a table from its rows, and drops generated rows outside them.
The plugin takes all three from the fitted model instead, so that what it generates keeps the claim of the model.
"""

from __future__ import annotations

import importlib
from os import PathLike
from typing import Any

from sklar.adapters.sdv_synthesizer import SklarSynthesizer
from sklar.errors import MissingExtraError, UsageError
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.table import Schema

CORE = "synthcity.plugins.core"


def synthcity_plugin(schema: Schema | str | PathLike[str] | None = None, **settings: Any) -> Any:
    """Return a class of synthcity's kind `Plugin`, named "sklar", whose objects are made without arguments.

    Args:
        schema: Public facts about the columns; without it every fact is measured and paid for.
        settings: Other arguments of `sklar.adapters.SklarSynthesizer`, as epsilon, which has no default.
    """
    try:
        core = {name: importlib.import_module(f"{CORE}.{name}") for name in ("plugin", "dataloader", "schema")}
    except ImportError as error:
        raise MissingExtraError(f"synthcity_plugin needs the package synthcity ({error})") from None
    base: Any = core["plugin"].Plugin

    class SklarPlugin(base):
        """Fits Sklar to a table of synthcity."""

        @staticmethod
        def name() -> str:
            return "sklar"

        @staticmethod
        def type() -> str:
            return "privacy"

        @staticmethod
        def hyperparameter_space(**kwargs: Any) -> list[Any]:
            return []

        def fit(self, X: Any, *args: Any, **kwargs: Any) -> Any:
            """Fit a model, and replace what synthcity would have read off the rows."""
            loader = X if isinstance(X, core["dataloader"].DataLoader) else core["dataloader"].GenericDataLoader(X)
            return self._fit(loader, *args, **kwargs)

        def _fit(self, X: Any, *args: Any, **kwargs: Any) -> Any:
            if not X.is_tabular() or kwargs.get("cond") is not None:
                raise UsageError("the plugin fits tables without `cond`; give constraints to generate() instead")
            self.synthesizer = SklarSynthesizer(schema, **settings).fit(X.dataframe())
            model = self.synthesizer.model_
            self.data_info = {**X.info(), "len": model.rows_estimate}
            domain = {name: distribution_of(name, column) for name, column in model.schema.items() if column.modelled}
            self._schema = self._training_schema = core["schema"].Schema(domain=domain)
            self.fitted = True
            return self

        def generate(
            self, count: int | None = None, constraints: Any = None, random_state: int | None = None, **kwargs: Any
        ) -> Any:
            """Draw rows that meet synthcity's constraints; by default about the number of rows of the table."""
            if kwargs.get("cond") is not None:
                raise UsageError("the plugin takes no `cond`; give constraints instead")
            rows = self._generate(count, constraints=constraints, random_state=random_state)
            if constraints is not None and not rows.satisfies(constraints):
                raise UsageError("the plugin cannot draw rows with these constraints")
            return rows

        def _generate(self, count: int | None, syn_schema: Any = None, **kwargs: Any) -> Any:
            given = as_conditions(self.synthesizer.model_.schema, self.schema(), kwargs.get("constraints"))
            rows = self.synthesizer.sample(count, given=given, seed=kwargs.get("random_state"))
            return core["dataloader"].create_from_info(rows, self.data_info)

    return SklarPlugin


def distribution_of(name: str, column: Column) -> Any:
    """Return the domain of a column as synthcity's object; numbers with missing values are floats there."""
    kinds = importlib.import_module(f"{CORE}.distribution")
    if isinstance(column, Labels) and column.integer_labels:
        whole_labels: list[Any] = [*column.values, column.other]
        return kinds.IntegerDistribution(name=name, low=min(whole_labels), high=max(whole_labels))
    if isinstance(column, Labels | Boolean):
        labels = [False, True] if isinstance(column, Boolean) else [*column.values, column.other]
        return kinds.CategoricalDistribution(name=name, choices=labels)
    facts: Any = column
    if column.kind == "datetime":
        timestamp = importlib.import_module("pandas").Timestamp
        return kinds.DatetimeDistribution(name=name, low=timestamp(facts.lower), high=timestamp(facts.upper))
    whole = column.kind == "integer" and column.null_code is None
    kind = kinds.IntegerDistribution if whole else kinds.FloatDistribution
    return kind(name=name, low=facts.lower, high=facts.upper)


def as_conditions(schema: Schema, domain: Any, constraints: Any) -> dict[str, Any]:
    """Return synthcity's constraints, within the domain of the columns, as conditions of a sample."""
    given: dict[str, Any] = {}
    for name in constraints.features() if constraints is not None else ():
        kind, facts = domain.as_constraints().extend(constraints).feature_params(name)
        column: Any = schema[name]
        if kind == "categorical":
            given[name] = list(facts["choices"])
        elif isinstance(column, Labels):
            given[name] = [label for label in column.values if facts["low"] <= label <= facts["high"]]
        else:
            given[name] = (facts["low"], facts["high"])
    return given
