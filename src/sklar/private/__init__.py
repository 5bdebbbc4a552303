"""*** The privacy boundary: the only package that sees both rows and what leaves. *** Charge, read, add noise, record.

No model and no method may be imported here, and only the frozen values of `sklar.release` pass. Start with `door`;
`session` opens it for one fit, `requests` validates requests, `recorder` makes a fit resumable after a crash, and
`noise` is the only place where noise is drawn. `sklar.counting` defines queries in exact integers.
"""
