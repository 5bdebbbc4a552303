"""Methods that promise nothing: published systems that see the rows, and references without noise.

They take no budget and their models always say so; DP methods live in `sklar.methods`. Their defaults are what their
papers publish; what is ours is an option whose docstring says so. Start with `registry`, the list, and `fit`, the way
in; `tvine` (TVineSynth), `rvine`, `cop` and the room `shirley` are the systems.
"""
