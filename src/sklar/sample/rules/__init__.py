"""Public rules hold in every sample: rows that break one are drawn again, then mended, then replaced by others.

What a rule says stands in `sklar.schema.rules`; here, one file a family, is which rows obey it and how rows are mended.
Nothing here looks at private rows. Start with `enforce`; `every` lists what is checked for each kind of rule.
"""

from sklar.sample.rules.enforce import enforce
from sklar.sample.rules.every import rules_hold

__all__ = ["enforce", "rules_hold"]
