"""Public rules that every synthetic row obeys, one family per module. The custodian states them, and they cost nothing.

A rule is frozen data: its columns, its provenance (as for facts of columns), its `faults`, and a description in words
(`describe`). What makes it hold in samples is in `sklar.sample.rules`. Start with `order`; `values` are values that
rules name, `every` lists the kinds of rules and checks them together, `impossible` has combinations of codes that
they exclude; `parsing` reads the text of an `expression`.
"""

from sklar.schema.rules.dummies import OneHot
from sklar.schema.rules.every import RULES, Computing, Rule, computing_order, rule_faults
from sklar.schema.rules.expression import Expression
from sklar.schema.rules.function import Function
from sklar.schema.rules.never import Never
from sklar.schema.rules.nulls import Together
from sklar.schema.rules.order import AtMost
from sklar.schema.rules.ratio import Ratio
from sklar.schema.rules.sums import Sum
from sklar.schema.rules.totals import Totals
from sklar.schema.rules.values import Label, Pairs

__all__ = [
    "RULES",
    "AtMost",
    "Computing",
    "Expression",
    "Function",
    "Label",
    "Never",
    "OneHot",
    "Pairs",
    "Ratio",
    "Rule",
    "Sum",
    "Together",
    "Totals",
    "computing_order",
    "rule_faults",
]
