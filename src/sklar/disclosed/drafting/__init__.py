"""A first version of a schema, guessed from real rows without noise; every fact it takes from them is marked so."""
