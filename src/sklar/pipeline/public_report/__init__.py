"""The report that may be published: what a release is worth, told from releases, the model and public facts alone.

Start with `report`, which puts it together; `columns` and `pairs` are what it shows of single columns and of two, and
`sentences` is what the first screen says.
"""
