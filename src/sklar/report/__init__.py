"""Render findings as self-contained HTML pages without scripts or network access, and their charts.

Everything shown was computed elsewhere; rows and data frames are not used here. Start with `page`; `charts` has the
charts, and `seen` their text alternatives.
"""
