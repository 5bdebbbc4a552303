"""Export sampled numpy values: Arrow, CSV, Parquet, data frames, folders of parts, databases.

Nothing here draws values of columns or reads private rows. Start with `write`, which chooses the format by a file's
ending; `office` writes Excel, SPSS and Stata, `databases` database tables, `arrow` makes Arrow tables, `frames` data
frames, `patterns` random texts for unmodelled columns, and `atomic` ensures that a file is complete or absent.
"""
