"""Made-up tables, in which nobody exists: for demonstrations, examples and benchmarks.

Each is a generator with a seed, and a schema of what anyone may know about its columns; nothing here reads rows. Start
with `people`, a table of patients; `panel` has persons with several rows each, and `hospital` is two
tables.
"""
