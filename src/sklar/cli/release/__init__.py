"""Commands around a release: one makes it, one checks it, one makes the keys that sign it.

As everywhere on the command line there is no logic here: that is in the `pipeline`. Start with `verify`; the others are
`bundle` and `key`.
"""
