"""The commands `sklar schema ...`: draft one from rows, confirm it, check one, pay for facts it is to measure.

As everywhere on the command line there is no logic here. Start with `check`, which also lists the other commands.
"""
