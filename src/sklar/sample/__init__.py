"""Seeded sampling: from a model's uniforms to base codes to numpy values that obey the public rules.

Privacy noise never comes from here and is never seeded. Start with `draw`, one block of a sample. `conditions` parses
conditions and `translate` expresses them on coordinates; `decode` turns codes into values and `assemble` coordinates
into columns; `rules` enforces public rules; `complete` draws the unknown part of rows. For longitudinal data, `persons`
draws trajectories, `raking` selects among them and `continuing` extends known ones. `rng` makes generators; `binary` is
the table of zeros and ones of dpc.
"""
