"""Commands around a fitted model: rows from it, rows completed by it, and what it says of itself.

None of them spends anything. As everywhere on the command line there is no logic here: that is in the `pipeline`. Start
with `sample`; `complete` fills rows that lack values, `estimate` answers questions with error bars, `inspect` tells
what a model rests on, `report` what to trust.
"""
