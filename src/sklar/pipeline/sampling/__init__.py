"""Samples larger than a table in memory: a file in batches, a folder of parts by many processes, a Spark frame.

Rows depend on the seed and their number only, not on who draws them. Start with `write`; `parts` and `spark` draw the
same stream in pieces.
"""
