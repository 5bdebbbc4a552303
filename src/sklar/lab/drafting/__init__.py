"""A first version of a schema, guessed from real rows; every fact it takes from them is marked from-rows.

A guess is one file and never final: a custodian confirms it or pays for it. Start with `draft`; `profile` is what is
seen of a column, `kinds` the order in which guesses are tried, `guess` what each of them returns.
"""
