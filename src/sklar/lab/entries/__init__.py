"""Entries of a benchmark on public tables: rows of a synthesizer, their scores, and for Sklar the release behind them.

Anyone with the public table can recompute every number of an entry. Nothing here is for tables of people that are not
public: exact counts are compared with what was released. Start with `check`, which verifies an entry; `entry` is the
file, `scores` are its numbers, and `noise` compares released with exact counts.
"""
