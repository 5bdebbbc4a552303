"""Public rules that every synthetic row obeys, one family a file. The custodian states them, and they cost nothing.

A rule is frozen data: the columns it speaks of, what is wrong with it (`faults`), and itself in words (`describe`).
What makes it hold in samples lies in `sklar.sample.rules`. Start with `order`; `values` are values that rules name,
`every` lists the kinds of rules and checks them together; `parsing` reads the text of an `expression`.
"""

from sklar.schema.rules.every import RULES, Rule, rule_faults
from sklar.schema.rules.expression import Expression
from sklar.schema.rules.function import Function
from sklar.schema.rules.never import Never
from sklar.schema.rules.order import AtMost
from sklar.schema.rules.totals import Totals
from sklar.schema.rules.values import Label, Pairs

__all__ = ["RULES", "AtMost", "Expression", "Function", "Label", "Never", "Pairs", "Rule", "Totals", "rule_faults"]
