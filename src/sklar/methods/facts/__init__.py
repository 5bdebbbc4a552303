"""Facts of a schema that are measured and paid for before a fit: bounds of numbers, lists of labels.

What a custodian states is not measured here. Start with `fit`; `marks` says what is to be paid for, `bounds` goes from
noisy counts of public cells to bounds.
"""
