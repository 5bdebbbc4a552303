"""Compiled loops of the models; imported where one is called, because numba is slow to load."""

from __future__ import annotations

import numpy as np

from sklar.arrays import compiled, compiled_part

Array = np.ndarray


@compiled_part()
def find_cell(edges: Array, guide: Array, u: float) -> int:
    """Return the last i with edges[i] <= u, kept inside the grid; `guide` is the index of `sklar.model.axis.guide`."""
    step = min(max(int(u * guide.shape[0]), 0), guide.shape[0] - 1)
    i = guide[step]
    while i < edges.shape[0] - 2 and edges[i + 1] <= u:
        i += 1
    return i


@compiled()
def find_cells(edges: Array, guide: Array, u: Array) -> Array:
    """Return `place` of every number."""
    result = np.empty(u.shape[0], dtype=np.int64)
    for k in range(u.shape[0]):
        result[k] = find_cell(edges, guide, u[k])
    return result


@compiled(fastmath=True)
def tilt(cells: Array, offsets: Array, dual: Array) -> Array:
    """Sum over tables of the dual value of each particle's cell."""
    tables, particles = cells.shape
    total = np.zeros(particles)
    for k in range(tables):
        start = offsets[k]
        for i in range(particles):
            total[i] += dual[start + cells[k, i]]
    return total


BLOCK_PARTICLES = 2_048
"""Particles whose codes stay in the cache while all tables are visited."""


@compiled()
def all_cells(codes: Array, parts: Array, strides: Array) -> Array:
    """Return flat cell of each particle (column) in each table (row), from its group under each partition (row of
    codes)."""
    particles = codes.shape[1]
    cells = np.zeros((parts.shape[0], particles), dtype=np.uint16)
    for start in range(0, particles, BLOCK_PARTICLES):
        stop = min(start + BLOCK_PARTICLES, particles)
        for k in range(parts.shape[0]):
            for axis in range(parts.shape[1]):
                stride = np.uint16(strides[k, axis])
                if stride != 0:
                    line = codes[parts[k, axis]]
                    for i in range(start, stop):
                        cells[k, i] += stride * line[i]
    return cells


@compiled(fastmath=True)
def tilt_codes(codes: Array, parts: Array, strides: Array, offsets: Array, dual: Array) -> Array:
    """Return `tilt` without holding the cells of all tables."""
    particles = codes.shape[1]
    total = np.zeros(particles)
    for start in range(0, particles, BLOCK_PARTICLES):
        stop = min(start + BLOCK_PARTICLES, particles)
        for k in range(parts.shape[0]):
            first = offsets[k]
            if parts.shape[1] == 2:
                a, b, s, t = parts[k, 0], parts[k, 1], strides[k, 0], strides[k, 1]
                for i in range(start, stop):
                    total[i] += dual[first + s * np.int64(codes[a, i]) + t * np.int64(codes[b, i])]
                continue
            for i in range(start, stop):
                cell = first
                for axis in range(parts.shape[1]):
                    cell += strides[k, axis] * np.int64(codes[parts[k, axis], i])
                total[i] += dual[cell]
    return total


@compiled(error_model="numpy")
def solve_cell(mass: float, observed: float, variance: float, dual: float) -> float:
    """Return the d with mass e^d + variance (dual + d) = observed.

    The left side is convex and increasing in d, so Newton's method from the right of the root never overshoots. Two
    upper bounds of the root: that of the linear part alone, and, where d >= 0, log((observed - variance dual) / mass).
    """
    if variance == 0.0:  # known without noise: its weight is fixed
        return 0.0
    bound = observed / variance - dual
    if mass <= 1e-25:  # no particle carries the cell, so there is nothing to learn: at most go back to no tilt
        return min(max(min(bound, -dual), 0.0), 30.0)
    rest = observed - variance * dual
    d = bound
    if rest > 0:
        other = np.log(rest / mass)
        if other >= 0 and other < d:
            d = other
        elif other < 0 and d > 0:
            d = 0.0
    elif d > 0:
        d = 0.0
    for _ in range(200):
        grown = mass * np.exp(d)
        step = (grown + variance * (dual + d) - observed) / (grown + variance)
        d -= step
        if abs(step) < 1e-9:
            break
    return min(max(d, -50.0), 60.0)


@compiled(error_model="numpy")
def soft_fit(
    cells: Array,
    offsets: Array,
    observed: Array,
    variance: Array,
    dual: Array,
    weights: Array,
    sweeps: int,
    tolerance: float,
    mass: Array,
    factor: Array,
) -> int:
    """Return cyclic exact minimization of the dual; changes `dual` and `weights` in place, returns the number of
    sweeps.

    `mass` and `factor` are room for one table; `mass` begins with the weight in each cell of the first. Weights are
    multiplied by the factor of their cell and counted in the following table in one pass.
    """
    tables = cells.shape[0]
    for sweep in range(sweeps):
        moved = 0.0
        for k in range(tables):
            start, count = int(offsets[k]), int(offsets[k + 1] - offsets[k])
            total = 0.0
            for j in range(count):
                total += mass[j]
            for j in range(count):
                own = mass[j] / total
                d = solve_cell(own, observed[start + j], variance[start + j], dual[start + j])
                dual[start + j] += d
                grown = np.exp(d)
                factor[j] = grown / total
                moved += own * abs(grown - 1.0)
            following = (k + 1) % tables
            for j in range(offsets[following + 1] - offsets[following]):
                mass[j] = 0.0
            for i in range(weights.shape[0]):
                weight = weights[i] * factor[cells[k, i]]
                weights[i] = weight
                mass[cells[following, i]] += weight
        if moved / tables < tolerance:
            return sweep + 1
    return sweeps


REPLACEMENTS_PER_ROW = 6
"""Replacements that compete for a row: more find a better one, and cost more proposals."""
MIN_ERROR_DECREASE = 1e-4
"""A swap must lower the error by this much: sums of 32-bit numbers may be off by a little."""


@compiled(fastmath=True)
def cells_by_particle(codes: Array, parts: Array, strides: Array) -> Array:
    """Return `all_cells` with a particle's cells side by side: swaps read all cells of one particle after the other."""
    tables, particles = parts.shape[0], codes.shape[1]
    cells = np.zeros((particles, tables), dtype=np.uint16)
    own = np.empty(codes.shape[0], dtype=np.uint16)
    for i in range(particles):
        for part in range(codes.shape[0]):
            own[part] = codes[part, i]
        for axis in range(parts.shape[1]):
            for k in range(tables):
                cells[i, k] += np.uint16(strides[k, axis]) * own[np.uintp(parts[k, axis])]
    return cells


@compiled(fastmath=True)
def weighted_counts(cells: Array, offsets: Array, weights: Array) -> Array:
    """Return the weight in every cell of every table."""
    counts = np.zeros(offsets[-1])
    for i in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            counts[offsets[k] + cells[i, k]] += weights[i]
    return counts


@compiled(fastmath=True)
def swap_rows(cells: Array, first: Array, chosen: Array, proposed: Array, cost: Array, twice: Array) -> None:
    """Replace rows, in place, by the best of a few proposals when that lowers E = sum weight (count - target)^2.

    One more row in cell b raises E by cost[b] = weight[b] (2 (count[b] - target[b]) + 1), one row less in cell a lowers
    it by cost[a] - 2 weight[a]. So a row's share of a swap is summed once for all that compete with it, and of each of
    them one number is read a table; where both lie in the same cell nothing changes.

    Args:
        cells: cell of each particle (row) in each table (column).
        first: where the cells of each table begin; unsigned, so that no index counts from the end.
        chosen: the rows, as particles.
        proposed: particles that compete, six for each visit of a row.
        cost: the cost of a row in each cell while there are none, weight (1 - 2 target).
        twice: 2 weight.
    """
    tables = cells.shape[1]
    for row in chosen:
        for k in range(tables):
            a = first[k] + np.uint64(cells[row, k])
            cost[a] += twice[a]
    own = np.empty(tables, np.float32)
    for visit in range(proposed.shape[0] // REPLACEMENTS_PER_ROW):
        i = visit % chosen.shape[0]
        old = cells[chosen[i]]
        gain = np.float32(0.0)
        for k in range(tables):
            a = first[k] + np.uint64(old[k])
            own[k] = twice[a]
            gain += cost[a] - own[k]
        best, choice = gain - np.float32(MIN_ERROR_DECREASE), np.int64(-1)
        for j in range(visit * REPLACEMENTS_PER_ROW, (visit + 1) * REPLACEMENTS_PER_ROW):
            new = cells[proposed[j]]
            price = np.float32(0.0)
            for k in range(tables):
                price += cost[first[k] + np.uint64(new[k])] - (own[k] if new[k] == old[k] else np.float32(0.0))
            if price < best:
                best, choice = price, proposed[j]
        if choice >= 0:
            new = cells[choice]
            for k in range(tables):
                cost[first[k] + np.uint64(old[k])] -= own[k]
            for k in range(tables):
                b = first[k] + np.uint64(new[k])
                cost[b] += twice[b]
            chosen[i] = choice


@compiled()
def apply_h_function(
    edges: Array, edges_guide: Array, given: Array, given_guide: Array, cdf: Array, tiny: float, u: Array, v: Array
) -> Array:
    """Return CDF at u given v, kept `tiny` from 0 and 1; `cdf` has, for each cell of v (row), the CDF at the edges of
    u."""
    result = np.empty(u.shape[0])
    for k in range(u.shape[0]):
        i, j = find_cell(edges, edges_guide, u[k]), find_cell(given, given_guide, v[k])
        part = (u[k] - edges[i]) / (edges[i + 1] - edges[i])
        result[k] = min(max(cdf[j, i] + part * (cdf[j, i + 1] - cdf[j, i]), tiny), 1.0 - tiny)
    return result


@compiled()
def invert_h_function(
    edges: Array, given: Array, given_guide: Array, cdf: Array, cdf_guide: Array, tiny: float, p: Array, v: Array
) -> Array:
    """Return the u with forward(u, v) = p."""
    result = np.empty(p.shape[0])
    for k in range(p.shape[0]):
        j = find_cell(given, given_guide, v[k])
        i = find_cell(cdf[j], cdf_guide[j], p[k])
        rise = cdf[j, i + 1] - cdf[j, i]
        part = min(max((p[k] - cdf[j, i]) / rise, 0.0), 1.0) if rise > 1e-15 else 0.5
        result[k] = min(max(edges[i] + part * (edges[i + 1] - edges[i]), tiny), 1.0 - tiny)
    return result


TILE_ROWS = 1024
"""Rows at a time: what is known of them stays in the cache while the groups pass by."""


@compiled()
def pick_best_group(scores: Array, offsets: Array, out: Array) -> None:
    """The group (line) with the largest sum of score and offset, for every row (column)."""
    groups, rows = scores.shape
    best = np.empty(TILE_ROWS, np.float32)
    for start in range(0, rows, TILE_ROWS):
        height = min(TILE_ROWS, rows - start)
        best[:height] = scores[0, start : start + height] + offsets[0]
        out[start : start + height] = 0
        for group in range(1, groups):
            line, offset = scores[group, start : start + height], offsets[group]
            for i in range(height):
                value = line[i] + offset
                larger = value > best[i]
                best[i] = value if larger else best[i]
                out[start + i] = group if larger else out[start + i]


@compiled()
def find_two_best_groups(scores: Array, offsets: Array, first: Array, second: Array, gap: Array) -> None:
    """Pick the best group of each row, the second best, and the difference of their scores; at least two groups."""
    groups, rows = scores.shape
    best, next_best = np.empty(TILE_ROWS, np.float32), np.empty(TILE_ROWS, np.float32)
    for start in range(0, rows, TILE_ROWS):
        height = min(TILE_ROWS, rows - start)
        best[:height] = scores[0, start : start + height] + offsets[0]
        next_best[:height] = -np.inf
        first[start : start + height] = 0
        second[start : start + height] = 0
        for group in range(1, groups):
            line, offset = scores[group, start : start + height], offsets[group]
            for i in range(height):
                value = line[i] + offset
                if value > best[i]:
                    second[start + i], next_best[i] = first[start + i], best[i]
                    first[start + i], best[i] = group, value
                elif value > next_best[i]:
                    second[start + i], next_best[i] = group, value
        for i in range(height):
            gap[start + i] = best[i] - next_best[i]


@compiled()
def move_person(cells: Array, votes: Array, rows: tuple[int, int], sign: float, excess: Array, weight: Array) -> float:
    """Count a person's rows (1) or take them away (-1), in place; returned is by how much that raises the error."""
    raised = 0.0
    for row in range(rows[0], rows[1]):
        vote = sign * votes[row]
        for k in range(cells.shape[1]):
            cell = cells[row, k]
            raised += weight[cell] * vote * (2.0 * excess[cell] + vote)
            excess[cell] += vote
    return raised


@compiled()
def swap_persons(
    cells: Array, votes: Array, starts: Array, excess: Array, weight: Array, chosen: Array, visits: Array, tried: Array
) -> None:
    """Replace persons, in place, by the best of a few others when that lowers sum weight (count - expected)^2.

    Args:
        cells: for each row of a person the cells that it counts in.
        votes: what a row counts.
        starts: where the rows of each person begin, and the end.
        excess: of each cell what is expected, negative; in the end the count is added.
        weight: of each cell.
        chosen: the persons, all different; they stay so.
        visits: places in `chosen`, one after the other.
        tried: persons that compete for each of them.
    """
    inside = np.zeros(starts.shape[0] - 1, dtype=np.bool_)
    for person in chosen:
        inside[person] = True
        move_person(cells, votes, (starts[person], starts[person + 1]), 1.0, excess, weight)
    for visit in range(visits.shape[0]):
        old = chosen[visits[visit]]
        choice, best = old, -move_person(cells, votes, (starts[old], starts[old + 1]), -1.0, excess, weight)
        for new in tried[visit]:
            if not inside[new]:
                rows = starts[new], starts[new + 1]
                price = move_person(cells, votes, rows, 1.0, excess, weight)
                move_person(cells, votes, rows, -1.0, excess, weight)
                if price < best - MIN_ERROR_DECREASE:
                    choice, best = new, price
        move_person(cells, votes, (starts[choice], starts[choice + 1]), 1.0, excess, weight)
        inside[old] = False
        inside[choice] = True
        chosen[visits[visit]] = choice


@compiled(error_model="numpy")
def invert_cdf(
    u: Array, edges: Array, mass: Array, starts: Array, widths: Array, guide: Array, last: int, out: Array
) -> None:
    """Writes the code at each uniform of `u` into `out`, searching upwards from the guide table's cell."""
    parts = len(guide)
    for i in range(len(u)):
        x = u[i]
        cell = guide[np.uintp(x * parts)]
        while cell < last and edges[np.uintp(cell + 1)] <= x:
            cell += 1
        width = widths[np.uintp(cell)]
        if width == 1:
            out[i] = starts[np.uintp(cell)]
        else:
            inside = (x - edges[np.uintp(cell)]) / mass[np.uintp(cell)] * width
            out[i] = starts[np.uintp(cell)] + np.int64(min(max(inside, 0.0), np.float64(width - 1)))
