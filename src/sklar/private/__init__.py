"""*** The wall: the only room that sees both rows and what leaves. *** Charge, read, add noise, record, in this order.

No model and no method may be imported here, and nothing passes but the frozen values of `sklar.release`. Start with
`door`; `session` opens it for one fit, `noise` is the only place where noise is drawn, `features` has every vector of
sums with the proof of its sensitivity, and `wide` keeps those that leave 64 bits.
"""
