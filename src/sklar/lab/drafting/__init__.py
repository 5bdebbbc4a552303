"""A first version of a schema, guessed from real rows; every fact it takes from them is marked from-rows.

A guess is never final: a custodian confirms it or pays for it. Start with `draft`, which also has the order in which
guesses are tried; `profile` is what is seen of a column, `guess` what each guess about it returns; `linked` is for
two tables with a key, `preview` shows how rows are read.
"""
