"""Check a release with nothing but what was published: forged claims, mixed files and changed bytes are found.

Start with `verify`. `refit` fits a model again from its own releases and prices them, `findings` are what is told about
each part, and `checks` looks at one part each. No rows of people are read here; those of a release are synthetic.
"""
