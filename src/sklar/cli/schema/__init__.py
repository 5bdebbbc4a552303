"""The commands `sklar schema ...`: draft a schema from rows, confirm it, check it, and measure facts privately.

Start with `check`, which also lists the other commands.
"""
