"""What may be asked of a table and how a table answers: statistics, overall and by group, and their derivatives.

Everything here works on one table of synthetic values; what several tables say together is made of it one room up.
Start with `questions`, what may be asked, as data or as a short text that is parsed; `statistics` are the answers of a
table, and `influence` says how much each of its rows moves them.
"""
