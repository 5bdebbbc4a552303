"""From sampled numpy values to tables and files: Arrow, CSV, Parquet, folders of parts, always whole or not at all.

Nothing here draws random numbers or sees private rows. Start with `write`, which picks the format by a file's ending;
`arrow` makes tables, `atomic` makes sure that a file is either complete or not there.
"""
