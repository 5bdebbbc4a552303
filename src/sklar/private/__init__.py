"""*** The privacy boundary: the only package that sees both rows and what leaves. *** Charge, read, add noise, record.

No model and no method may be imported here, and nothing passes but the frozen values of `sklar.release`. Start with
`door`; `session` opens it for one fit, `requests` refuses what may not be asked, `recorder` makes crashes harmless, and
`noise` is the only place where noise is drawn. What queries mean in exact integers is in `sklar.counting`.
"""
