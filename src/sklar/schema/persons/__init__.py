"""Persons with several rows: the key, the bound on rows, longitudinal data, and tables joined by keys.

All of it is public, and none of it is read from rows. Start with `person`; `linked` has the tables of longitudinal
data, and `tables` joins a table of parents with a table of their rows.
"""
