"""Verify a release from published files alone: forged claims, mixed files and changed bytes are detected.

Start with `verify`. `refit` fits a model again from its own releases and computes their price, `checks` has a check for
each part, and `findings` the results. No real rows are read here; those of a release are synthetic.
"""
