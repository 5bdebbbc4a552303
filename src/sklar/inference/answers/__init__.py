"""Statistics of one table of synthetic values, overall and by group, and their influence functions.

Start with `questions`: the statistics that can be requested, as data or as a short text. `statistics` computes them on
a table, and `influence` computes how much each row changes them. The parent package combines several tables.
"""
