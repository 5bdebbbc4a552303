"""Persons: rows that share a key are gathered, bounded in number, and share one vote.

A person's part in any count depends on the rows of that person alone. The key is read here, never kept as it is, and
never leaves. Start with `rows`, the table of codes for counting; `keys` identifies persons, `gather` collects their
rows in bounded memory, `choice` selects the rows that are used and `used` finds them; `linked` has longitudinal rows,
`family` parents with their rows, and `labels` one label per person.
"""
