"""A table of transitions whose columns keep their value from the row before as often as it was measured.

Tables of (value before, value) have many cells, and noise hides them where persons are few: a model of them then draws
a value as if the one before did not matter. How often a value stays is one count. So with k the share of rows in which
the model keeps a value and s the measured one, the value before is copied with probability (s - k) / (1 - k), and drawn
by the model otherwise: then s of the rows keep it. What is drawn beside a copied value is drawn given it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.model.margins.margin import Margin, margin_from_dense
from sklar.model.protocol import UNKNOWN_CODE, Codes, Proposals, TableModel


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptModel:
    """A model of transitions, and how often columns copy the value of the row before.

    Attributes:
        base: The model of transitions.
        before: Places of columns of the row before.
        after: Places of the same columns of the row itself.
        copied: Probability that each is copied.
        margins: Those of the rows: of copied columns a mixture of both margins.
    """

    base: TableModel
    before: tuple[int, ...]
    after: tuple[int, ...]
    copied: tuple[float, ...]
    margins: tuple[Margin, ...]

    @property
    def rows_estimate(self) -> int:
        """That of the model of transitions."""
        return self.base.rows_estimate

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows."""
        return self._copy(self.base.simulate(rows, rng), rng)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows with less sampling noise."""
        return self._copy(self.base.simulate_rounded(rows, rng), rng)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return proposals of the model of transitions, some values copied; sets are of columns that are never
        copied."""
        propose = self.base.proposals(allowed)

        def copied(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            codes, log = propose(rows, rng)
            return self._copy(codes, rng), log

        return copied

    def keep(self, known: Codes, rng: np.random.Generator) -> Codes:
        """Return known codes with those of the row before copied to some of the rows that do not know their own."""
        found = known.copy()
        for before, after, share in zip(self.before, self.after, self.copied, strict=True):
            has_mass = np.append(self.base.margins[after].dense() > 0, False)  # UNKNOWN_CODE is the last place
            free = (known[:, after] == UNKNOWN_CODE) & has_mass[known[:, before]]
            chosen = free & (rng.random(len(known)) < share)
            found[chosen, after] = known[chosen, before]
        return found

    def _copy(self, codes: Codes, rng: np.random.Generator) -> Codes:
        for before, after, share in zip(self.before, self.after, self.copied, strict=True):
            chosen = rng.random(len(codes)) < share
            codes[chosen, after] = codes[chosen, before]
        return codes


def keep_values(model: TableModel, pairs: Mapping[tuple[int, int], float]) -> TableModel:
    """Return a model of transitions in which columns, by their places before and after, copy their value so often."""
    if not pairs:
        return model
    before, after = zip(*pairs, strict=True)
    plain = KeptModel(base=model, before=before, after=after, copied=tuple(pairs.values()), margins=model.margins)
    return replace(plain, margins=copied_margins(plain, model.margins))


def copied_margins(model: TableModel, margins: Sequence[Margin]) -> tuple[Margin, ...]:
    """Return the margins of rows, from those of the model of transitions alone: mixtures where values are copied."""
    found = list(margins)
    if isinstance(model, KeptModel):
        for before, after, share in zip(model.before, model.after, model.copied, strict=True):
            own = margins[after]
            plain = margin_from_dense(own.column, share * margins[before].dense() + (1.0 - share) * own.dense())
            found[after] = replace(plain, decimals=own.decimals, heaping=own.heaping)
    return tuple(found)


def without_copies(model: TableModel) -> TableModel:
    """Return the model of transitions alone."""
    return model.base if isinstance(model, KeptModel) else model


def copied_as_in(model: TableModel, other: TableModel) -> TableModel:
    """Return another model of transitions whose columns copy values as often as in a first one."""
    if not isinstance(model, KeptModel):
        return other
    return keep_values(other, dict(zip(zip(model.before, model.after, strict=True), model.copied, strict=True)))
