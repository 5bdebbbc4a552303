"""Commands around a release: `bundle` makes one, `verify` checks one, `key` makes the keys that sign one.

Thin as all commands: what they do is in `sklar.pipeline.bundle` and `sklar.pipeline.verify`.
"""
