"""What is checked for each kind of rule."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, row_count
from sklar.sample.rules.computed import sum_holds
from sklar.sample.rules.dummies import one_hot_holds
from sklar.sample.rules.expression import expression_holds
from sklar.sample.rules.function import function_holds
from sklar.sample.rules.never import never_holds
from sklar.sample.rules.nulls import together_holds
from sklar.sample.rules.order import at_most_holds
from sklar.sample.rules.ratio import ratio_holds
from sklar.sample.rules.totals import totals_hold
from sklar.schema.rules import AtMost, Expression, Function, Never, OneHot, Ratio, Sum, Together, Totals
from sklar.schema.table import Schema

HOLDS: dict[type, Callable[[Schema, Any, SampledTable], Mask]] = {
    AtMost: at_most_holds,
    Ratio: ratio_holds,
    Never: never_holds,
    Function: function_holds,
    Sum: sum_holds,
    Together: together_holds,
    OneHot: one_hot_holds,
    Expression: expression_holds,
    Totals: totals_hold,
}
"""For each kind of rule, the rows that obey it; a null obeys every rule that speaks of it."""


def rules_hold(schema: Schema, table: SampledTable) -> Mask:
    """The rows that obey all rules."""
    held = (HOLDS[type(rule)](schema, rule, table) for rule in schema.rules)
    return reduce(np.logical_and, held, np.ones(row_count(table), bool))
