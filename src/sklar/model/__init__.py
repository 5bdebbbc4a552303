"""Models of a table and how they are fitted to releases: post-processing only, which costs no privacy.

Nothing here may see a row, a data frame or a Door. Start with `protocol`, what every model can do; then `margins` (one
column), `pairs` and `correlation` (two), and the joint models `vine`, `latent`, `gaussian`, `onehot`, `rvine`.
`posterior` is the estimate that pairs, classes and the whole vine share, `registry` gives each stored class its name on
disk, `conditioning` draws rows under conditions for all of them, `completing` for every row its own, `proportion` rows
from votes, and `kernels` has the compiled loops.
"""
