"""*** The laboratory: real rows WITHOUT noise. *** For the custodian's eyes only; nothing here promises privacy.

It lies above the product: it may call any use case, and no use case of the product can import it. Everything that
comes out says so. Start with `evaluate` (how good is a table?; a `binary` one?; two in `families`?), then `attacks`
(what does it give away?), `compare` (methods side by side), `audit` (is a claim true?), `completing` (rows that lack
values), `drafting` (a first schema) and `baselines` (methods that promise nothing); `tables` reads the rows for all of
them, and `people` is a table of nobody, for `demo`.
"""
