"""A fit as post-processing sees it: the public setting, the measurements and the model, without rows or ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklar.methods.evidence import Evidence, Setting, evidence_of
from sklar.model.linked import LinkedModel
from sklar.model.protocol import TableModel
from sklar.release.measurements import Measurement, Recorded, collect_measurements
from sklar.schema.table import Schema

if TYPE_CHECKING:
    from sklar.methods.method import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Everything that is needed to estimate a model again from its measurements.

    Attributes:
        name: Name of the method.
        setting: The public inputs of the method, without the share of a held-back check.
        recorded: Every step that the model was estimated from.
        model: The model.
        seed: Seed of the post-processing.
        held: The step that was held back to check the model, if any.
    """

    name: str
    setting: Setting[Any]
    recorded: tuple[Recorded, ...]
    model: TableModel
    seed: int
    held: Recorded | None = None

    @property
    def schema(self) -> Schema:
        """The columns that the model is over."""
        return self.setting.schema

    @property
    def method(self) -> Method[Any]:
        """The method."""
        from sklar.methods.registry import find_method  # a model is loaded without the methods

        return find_method(self.name)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """All measurements that the model was estimated from."""
        return collect_measurements(self.recorded)

    @property
    def rows(self) -> float:
        """The noisy (or public) number of rows."""
        return float(self.model.rows_estimate)

    def evidence(self, recorded: Sequence[Recorded] | None = None) -> Evidence[Any]:
        """Return the evidence of the fit, or that of other releases in their place."""
        return evidence_of(self.setting, self.recorded if recorded is None else recorded)

    def rows_behind(self, columns: Sequence[str]) -> float:
        """Return the number of rows that a table counts; in longitudinal data, of the view that has its columns."""
        if not isinstance(self.model, LinkedModel):
            return self.rows
        for name, part in zip(self.model.names, self.model.parts, strict=True):
            if any(f"{name}: {margin.column}" == columns[0] for margin in part.margins):
                return float(part.rows_estimate)
        raise LookupError("the model has no such column")
