"""The command line: each command parses its options, calls a use case and prints the result.

There is no logic of the product here. `terminal` has what all commands share, `schema` the commands about schemas,
`model` those about a fitted model, `release` those about a release, and `attacks` attacks and audits. Start with
`main`, which lists all commands, then `fit` for their common form.
"""
