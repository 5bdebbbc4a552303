"""Samples of any size: a file in batches, a folder of parts by several processes, a Spark data frame.

Rows depend on the seed and their position only, not on the process that draws them. Start with `write`; `parts` and
`spark` draw the same stream in pieces.
"""
