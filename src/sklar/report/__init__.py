"""Findings to HTML: self-contained pages for custodians, without script or network, and the drawings on them.

What is shown was computed elsewhere; rows and data frames have no place here. Start with `page`; `charts` draws
everything, and `seen` says it in words.
"""
