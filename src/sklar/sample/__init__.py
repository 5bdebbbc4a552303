"""Seeded samplers: from a model's uniforms to base codes to plain numpy values that obey the public rules.

Privacy noise never comes from here, and seeds never go near it. Start with `draw`, one block of a sample; `conditions`
says what was asked for, and `translate` says it of coordinates; `decode` goes from codes to values, `assemble` from
coordinates to columns, `rules` make public rules hold, `complete` fills rows that are known in part, `persons` draws
rows that follow one another, `raking` chooses among them and `continuing` goes on from known ones, `rng` makes
generators; `binary` is the table of zeros and ones that dpc publishes.
"""
