"""Persons: rows that share a key are gathered, bounded in number, and given a share of one vote.

A person's part in any count depends on the rows of that person alone. The key is read here, never kept as it is, and
never leaves. Start with `rows`, the table of codes that the counting sees; `keys` tells persons apart, `gather` brings
their rows together in bounded memory, `choice` says which of them are used and `used` finds these; `linked` are rows
that follow one another, `family` parents with their rows, and `labels` what persons name.
"""
