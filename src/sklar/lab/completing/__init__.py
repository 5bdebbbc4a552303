"""Tables that lack values, completed from a model: given cells stay as they are; nothing is protected.

Nothing is fitted or measured here. Start with `complete`, where each row's known values are its condition; `growing`
goes on from known rows of persons, and `given` tells which cells of a table are known.
"""
