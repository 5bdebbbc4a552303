"""Regular vines learned from rows without noise, as plain arrays that can be stored and sampled.

They are fitted in `sklar.lab`; nothing private is made here. Start with `vine`; `table` joins one, or one for each
value of a response, to margins, and `shirley` is the model of COPULA-SHIRLEY.
"""
