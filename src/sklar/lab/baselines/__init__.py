"""Methods that promise nothing: published systems that see the rows, and references without noise.

They take no budget and their models always say so; DP methods live in `sklar.methods`. Start with `registry`, the list,
and `fit`, the way in; `tvine` (TVineSynth), `rvine`, `cop`, `plain_gaussian` and the room `shirley` are the systems.
"""
