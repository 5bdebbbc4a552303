"""*** The lab: real rows WITHOUT noise. *** For the custodian only; nothing here promises privacy.

It is above the product: it may call any use case, and no use case of the product can import it. Every result states
that it is not private. Start with `evaluate` (quality of a table; of a `binary` one; of two in `families`), then
`attacks` (what does it reveal?), `compare` (compare methods), `audit` (is a claim true?), `completing` (rows with
missing values), `drafting` (a first schema) and `baselines` (methods without a guarantee); `tables` reads the rows for
all of them, and `people` is a made-up table for `demo`.
"""
