r"""What a table of counts tells beyond its margins, in whole numbers, and how far one person can move it.

Let a table have axes of K_1, ..., K_m >= 2 groups, N = K_1 ... K_m cells. A row in cell (i_1, ..., i_m) adds

    x = (K_1 e_{i_1} - 1) (x) ... (x) (K_m e_{i_m} - 1),    an outer product of integer vectors,

e_i being the unit vector and 1 that of ones. For two axes and a table T of counts the sum over rows is
K L T - K (row sums) - L (column sums) + n, and in general N times the table with the mean over each axis taken off in
turn: a linear function of the table, worked out on it. It is orthogonal to every table of fewer axes. Below in units of
counts, that is x / N = a_1 (x) ... (x) a_m with a = e_i - 1/K, for which |a|_2^2 = 1 - 1/K and |a|_1 = 2 (1 - 1/K).

* One row comes or goes: |x|_2^2 = D^2 = prod (1 - 1/K_j), |x|_1 = 2^m D^2: norms of outer products multiply.
* One row becomes another: |x - x'|_2^2 = 2 D^2 - 2 <x, x'>, and <x, x'> is the product over axes of 1 - 1/K where the
  group stays and of -1/K where it changes. It is least with an odd number of changes; and since 1/K <= 1 - 1/K, two
  changes fewer never make it larger. So the worst is one axis j alone, with 2 D^2 + 2 (1/K_j) D^2 / (1 - 1/K_j) =
  2 D^2 / (1 - 1/K_j): the one with the fewest groups. In L1 at most twice that of one row.
* A person with r rows: r times these (triangle inequality).
* A person whose rows share one vote adds a sum of such vectors with weights of at most 1 together: a mean of them, or
  shorter, so no longer than the longest. Replaced by another person: with a mean x of some and a mean y of others,
  x - y is a mean of differences of two rows, and what either lacks to a whole vote only shortens it, since one row
  alone is shorter than the worst difference. So both bounds are those of one row.

Noise of the same sigma thus costs prod (1 - 1/K_j) of what the table of counts would: a quarter for 2 x 2. The L1 norm
is never less than that of counts, so Laplace noise gains nothing. Lookups are fixed before the rows are read.
Reference: Xiao, He, Zhang, Kifer (2023), "An optimal and scalable matrix mechanism for noisy marginals".
"""

from __future__ import annotations

from sklar.arrays import Ints
from sklar.private.wide import LARGEST, WholeNumbers


def exact_interactions(counts: Ints) -> WholeNumbers:
    """The whole numbers of a table of counts: along each axis in turn, K times the table minus its sums."""
    # In parts of a vote even a table of millions of persons can leave 64 bits. The numbers are the same either way.
    whole: WholeNumbers = counts if int(counts.sum()) * counts.size < LARGEST else counts.astype(object)
    for axis, groups in enumerate(counts.shape):
        whole = groups * whole - whole.sum(axis=axis, keepdims=True)
    return whole
