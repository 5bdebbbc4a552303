"""The command line: commands that parse, call a use case and show what came of it.

No rule of the product lives here, only words and options; what all commands share is in `terminal`, the commands about
schemas are in `schema`, those around a fitted model in `model` and around a release in `release`, and those of
adversaries in `attacks`. Start with `main`, which lists them, then `fit` for the shape all of them have.
"""
