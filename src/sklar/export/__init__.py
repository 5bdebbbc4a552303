"""From sampled numpy values to tables and files: Arrow, CSV, Parquet, data frames, folders of parts, databases.

Nothing here draws values of columns or sees private rows. Start with `write`, which picks the format by a file's
ending; `office` writes Excel, SPSS and Stata, `databases` fills their tables, `arrow` makes tables, `frames` the data
frames that people work with, `patterns` made-up texts for columns that were left out, and `atomic` makes sure that a
file is either complete or not there.
"""
