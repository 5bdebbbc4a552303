"""Options of COPULA-SHIRLEY, and the checks that need no rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sklar.errors import UsageError
from sklar.given_numbers import is_number, is_whole
from sklar.lab.baselines.method import EXTENSION_FAMILIES, reject_extensions
from sklar.lab.vines.fit import check_settings
from sklar.methods.method import require_listed
from sklar.schema.table import Schema

Encoder = Literal["ordinal", "one-hot", "woe", "glmm"]
Mechanism = Literal["laplace", "geometric", "gaussian"]
Ties = Literal["edge", "spread", "discrete"]
DPHistogram = Literal["density", "efpa", "privelet", "noisefirst", "structurefirst"]
SUPERVISED = ("woe", "glmm")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShirleyOptions:
    """Options of COPULA-SHIRLEY; except for `ties`, the defaults are the paper's (section 5.1), or its software's where
    stated.

    Attributes:
        epsilon: Scale of the noise on histograms, spent once per column; None, or the paper's 0, switches the noise
            off. No guarantee.
        mechanism: laplace, geometric or gaussian noise.
        noise_delta: Delta of the Gaussian mechanism.
        margins: A DP histogram instead of the noisy counts (section 4.2): density, efpa, privelet, noisefirst or
            structurefirst, as in the method `independent`, over the cells of the schema, with the same epsilon per
            column. Its noise is that of the DP methods, so a seed does not reproduce the fit.
        encoder: How categories become numbers: ordinal, one-hot, woe or glmm. None means the paper's woe if a reference
            is given, else ordinal, as in the software.
        reference: Column with two values (for glmm also an ordinal one) by which woe and glmm order categories.
        target: Another name of `reference`.
        encoder_share: Share of the rows for supervised encoders; the rest of the fit never sees them. The paper uses a
            fifth.
        split: Share of the remaining rows for the vine; the histograms count the others. None means 0.5, and without
            noise no split: both use all rows, as in the software.
        truncation: Number of trees of the vine; None for all, "auto" to stop after a tree of independent pairs.
        criterion: Association that the trees maximize: spearman, kendall, hoeffd or mcor (maximal correlation).
        selection: How the family of a pair is chosen: aic, bic or loglik.
        families: A set of families or the name of one. The default is all that rvinecopulib had then; "all" adds
            Tawn (ours).
        ties: Where tied rows are put on the uniform scale: "edge", at F(x) as published, which removes a quarter or
            more of the dependence of columns with few values; "spread" (ours), evenly over the step of F at x;
            "discrete" (ours, the default), by discrete pair copulas.
        match_ranks: Ours: adjust the pair copulas of the first tree to the rank correlation of the rows.
        published: Exactly the paper's method, without our extensions: every observed number is a bin, rows lie at F(x),
            noisy counts are truncated at 0, one-hot rows are decoded as by its software, and samples have independent
            rows.
    """

    epsilon: float | None = None
    mechanism: Mechanism = "laplace"
    noise_delta: float = 0.001
    margins: DPHistogram | None = None
    encoder: Encoder | None = None
    reference: str | None = None
    target: str | None = None
    encoder_share: float = 0.2
    split: float | None = None
    truncation: int | Literal["auto"] | None = 2
    criterion: str = "spearman"
    selection: str = "aic"
    families: str = "two-parameter-or-kernel"
    ties: Ties | None = None
    match_ranks: bool = False
    published: bool = False

    def __post_init__(self) -> None:
        if is_number(self.epsilon) and self.epsilon == 0:  # the paper's word for "no noise", the opposite of a budget
            object.__setattr__(self, "epsilon", None)
        ours = {"ties": self.ties not in (None, "edge"), "match_ranks": self.match_ranks}
        ours["margins"] = self.margins is not None  # over the cells of the schema; the paper uses observed values
        reject_extensions(self.published, {**ours, "families": self.families in EXTENSION_FAMILIES})
        if self.ties is None:
            object.__setattr__(self, "ties", "edge" if self.published else "discrete")
        listed = {"mechanism": Mechanism, "margins": DPHistogram, "encoder": Encoder, "ties": Ties}
        for name, kind in listed.items():
            if getattr(self, name) is not None or name == "mechanism":
                require_listed(name, getattr(self, name), get_args(kind))
        if self.margins is not None and (self.epsilon is None or self.mechanism != "laplace"):
            raise UsageError(
                f"margins='{self.margins}' of 'shirley' needs an epsilon and has its own noise; leave mechanism out"
            )
        check_settings(self.families, self.criterion, self.selection)
        if self.epsilon is not None and not (is_number(self.epsilon) and self.epsilon > 0):
            raise UsageError(f"epsilon must be positive and finite, or 0 for no noise; found {self.epsilon!r}")
        for name in ("noise_delta", "encoder_share", "split"):
            value = getattr(self, name)
            if not (is_number(value) and 0 < value < 1) and (name != "split" or value is not None):
                raise UsageError(f"option '{name}' of 'shirley' must be above 0 and below 1; found {value!r}")
        trees = self.truncation
        if trees not in (None, "auto") and not is_whole(trees, 1):
            raise UsageError(
                f"truncation must be a whole number of at least 1, None for all trees, or 'auto'; found {trees!r}"
            )
        if not isinstance(self.match_ranks, bool):
            raise UsageError(f"option 'match_ranks' of 'shirley' is True or False; found {self.match_ranks!r}")
        if self.match_ranks and self.encoding == "one-hot":
            raise UsageError(
                "match_ranks sets the rank correlation of columns, but one-hot encoding models indicators instead; "
                "leave it out"
            )
        if self.reference is not None and self.target is not None and self.reference != self.target:
            raise UsageError("reference and target are two names of one option of 'shirley'; give one of them")

    @property
    def referred(self) -> str | None:
        """Return the reference column."""
        return self.reference if self.reference is not None else self.target

    @property
    def encoding(self) -> Encoder:
        """Return the encoder in use."""
        if self.encoder is not None:
            return self.encoder
        return "ordinal" if self.referred is None else "woe"

    @property
    def share_of_vine(self) -> float | None:
        """Return the share of rows for the vine; None if vine and histograms use all rows."""
        return 0.5 if self.split is None and self.epsilon is not None else self.split


def check(schema: Schema, options: ShirleyOptions) -> None:
    """Reject options that do not fit the schema."""
    name = options.referred
    if name is not None and name not in schema.names:
        raise UsageError(f"the reference '{name}' is not a column; the columns are: {', '.join(schema.modelled)}")
    if name is not None and name not in schema.modelled:
        raise UsageError(f"the reference '{name}' is not modelled (id or ignore); name a column with values")
    if options.encoding in SUPERVISED:
        _check_reference(schema, options)
    columns, level = len(schema.modelled), options.truncation
    if isinstance(level, int) and options.encoding != "one-hot" and columns > 2 and level > columns - 1:
        raise UsageError(
            f"truncation must be between 1 and {columns - 1}, the number of trees over {columns} columns; found {level}"
        )


def _check_reference(schema: Schema, options: ShirleyOptions) -> None:
    name = options.referred
    if name is None:
        raise UsageError(
            f"encoder '{options.encoding}' orders categories by a reference column; name one with reference=, or use "
            "encoder='ordinal'"
        )
    column = schema[name]
    levels = column.value_cells
    if column.numeric and levels != 2:
        raise UsageError(f"the reference '{name}' is numeric; encoder '{options.encoding}' needs a categorical one")
    if levels < 2:
        raise UsageError(f"the reference '{name}' has one listed value; it needs two to distinguish categories")
    if levels > 2 and options.encoding == "woe":
        raise UsageError(
            f"weight of evidence needs a reference with two values; '{name}' has {levels}. Name another, or use "
            f"encoder='glmm' with an ordinal one"
        )
    if levels > 2 and not column.ordered:
        raise UsageError(
            f"encoder 'glmm' needs a reference with two values or with ordered ones; '{name}' has {levels} categories "
            "without order"
        )
