// Decodes base codes into values: labels, numbers drawn inside their cells, booleans, and nulls.
//
// The values of a column are { data, null, labels }: numbers (ticks of datetimes, 0 and 1 of booleans, positions of
// text labels), and 1 where the value is missing.

const MAX_EXACT = 2 ** 53;
const bits = new DataView(new ArrayBuffer(8));

// The next float after x, towards plus (1) or minus (-1) infinity.
export function nextFloat(x, direction) {
  if (x === 0) return direction * Number.MIN_VALUE;
  bits.setFloat64(0, x);
  bits.setBigInt64(0, bits.getBigInt64(0) + BigInt(x > 0 ? direction : -direction));
  return bits.getFloat64(0);
}

// The k-th multiple of a unit over / under.
const multiple = (k, [over, under]) => (k * over) / under;

// Restores the starts of a packed grid.
export function unpackGrid(grid) {
  if (grid.starts) return { ...grid, starts: Float64Array.from(grid.starts) };
  if (grid.integer) {
    const starts = [grid.first];
    for (const [step, count] of grid.runs) for (let k = 0; k < count; k++) starts.push(starts.at(-1) + step);
    return { ...grid, starts: Float64Array.from(starts) };
  }
  const { lower, equal, singled } = grid, upper = singled.at(-1), step = (upper - lower) / equal;
  const cuts = Array.from({ length: equal }, (_, i) => i * step + lower);
  const after = singled.filter((x) => x < upper).map((x) => nextFloat(x, 1));
  const starts = Float64Array.from(new Set([...cuts, upper, ...singled, ...after])).sort();
  return { ...grid, starts: starts.filter((x) => x <= upper) };
}

// Restores the grids of the facts, in place.
export function unpackFacts(facts) {
  for (const column of [...facts.columns, ...(facts.coordinates ?? [])]) {
    if (column.grid && !(column.grid.starts instanceof Float64Array)) column.grid = unpackGrid(column.grid);
  }
  return facts;
}

export function roundHalfEven(x) {
  const low = Math.floor(x), rest = x - low;
  return rest === 0.5 ? low + (Math.abs(low) % 2) : Math.round(x);
}

// The first multiple of a unit in [first, stop), in units of it, and the number of multiples.
export function findMultiples(first, stop, unit) {
  const [over, under] = unit;
  const from = (x) => {
    let k = Math.ceil((x * under) / over);
    if (multiple(k - 1, unit) >= x) k -= 1;
    return multiple(k, unit) < x ? k + 1 : k;
  };
  const start = from(first);
  return [start, Math.max(from(stop) - start, 0)];
}

function weighMultiples(first, stop, unit) {
  return unit ? multiple(findMultiples(first, stop, unit)[1], unit) : stop - first;
}

// First value and end of each cell of a grid inside the bounds.
export function cellEnds(column, low = column.lower, high = column.upper) {
  const { starts, stop, integer } = column.grid;
  const after = integer ? high + 1 : nextFloat(high, 1);
  const first = Float64Array.from(starts, (x) => Math.max(x, low));
  const end = Float64Array.from(starts, (_, i) => Math.min(i + 1 < starts.length ? starts[i + 1] : stop, after));
  return [first, end];
}

function drawIntegers(column, cells, rng) {
  const { starts, stop, step } = column.grid;
  const first = Float64Array.from(starts, (x) => Math.floor(x / step));
  const last = first.map((_, i) => (i + 1 < first.length ? first[i + 1] : Math.floor(stop / step)) - 1);
  const single = first.every((x, i) => x === last[i]);
  return Float64Array.from(cells, (cell) => {
    const offset = single ? 0 : rng.upto(last[cell] - first[cell]);
    return (first[cell] + offset) * step;
  });
}

function drawReals(column, cells, rng) {
  const [first, stop] = cellEnds(column);
  const u = rng.fill(new Float64Array(cells.length));
  const below = stop.map((x) => nextFloat(x, -1));
  const drawn = u.map((x, i) => Math.min((stop[cells[i]] - first[cells[i]]) * x + first[cells[i]], below[cells[i]]));
  if (!column.unit) return drawn;
  const [over, under] = column.unit, atoms = new Set(column.atoms);
  const rounded = onMultiples(u, cells, first, stop, column.unit);
  const [start, count] = findMultiples(column.lower, nextFloat(column.upper, 1), column.unit);
  const [least, most] = count ? [multiple(start, column.unit), multiple(start + count - 1, column.unit)] : [column.lower, column.upper];
  return drawn.map((x, i) => {
    const keep = atoms.has(column.grid.starts[cells[i]]) || (Math.abs(x) * under) / over >= MAX_EXACT;
    return keep ? x : Math.min(Math.max(rounded[i], least), most);
  });
}

// One of the multiples of a unit in each row's cell; the one nearest to the middle of a cell without any.
function onMultiples(u, cells, first, stop, unit) {
  const found = Array.from(first, (x, i) => findMultiples(x, stop[i], unit));
  return u.map((x, i) => {
    const cell = cells[i], [start, count] = found[cell];
    if (count > 0) return multiple(start + Math.min(Math.floor(x * count), count - 1), unit) + 0;
    const middle = first[cell] + (stop[cell] - first[cell]) / 2;
    return multiple(roundHalfEven((middle * unit[1]) / unit[0]), unit) + 0;
  });
}

// Replaces some drawn numbers by round ones of their cells; the weight of a unit is its share times its multiples.
function putOnRoundUnits(column, cells, drawn, rng) {
  const [first, stop] = cellEnds(column);
  const rest = Math.max(1 - column.round_units.reduce((sum, one) => sum + one.share, 0), 0);
  const rising = [first.map((x, i) => weighMultiples(x, stop[i], column.unit) * rest)];
  for (const { unit, share } of column.round_units) {
    rising.push(first.map((x, i) => rising.at(-1)[i] + share * weighMultiples(x, stop[i], unit)));
  }
  const top = rising.at(-1);
  const place = rng.fill(new Float64Array(cells.length)).map((x, i) => x * top[cells[i]]);
  const u = rng.fill(new Float64Array(cells.length)), out = drawn.slice();
  column.round_units.forEach(({ unit }, k) => {
    const rows = [...cells.keys()].filter((i) => place[i] >= rising[k][cells[i]] && place[i] < rising[k + 1][cells[i]]);
    const found = onMultiples(Float64Array.from(rows, (i) => u[i]), rows.map((i) => cells[i]), first, stop, unit);
    rows.forEach((i, at) => (out[i] = found[at]));
  });
  return out;
}

function drawNumbers(column, cells, rng) {
  const drawn = column.grid.integer ? drawIntegers(column, cells, rng) : drawReals(column, cells, rng);
  return column.round_units?.length ? putOnRoundUnits(column, cells, drawn, rng) : drawn;
}

export function isNumber(column) {
  return column.grid !== undefined;
}

// Decodes one column; `rng` places numbers inside their cells.
export function decodeColumn(column, codes, rng) {
  const missing = new Uint8Array(codes.length), cells = Int32Array.from(codes);
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] === column.null_code) {
      missing[i] = 1;
      cells[i] = 0;
    }
  }
  let data, labels;
  if (column.values) {
    const all = [...column.values, column.other];
    data = column.integer_labels ? Float64Array.from(cells, (cell) => all[cell]) : cells;
    labels = column.integer_labels ? undefined : all;
  } else {
    data = isNumber(column) ? drawNumbers(column, cells, rng) : cells;
  }
  if (!labels) for (let i = 0; i < missing.length; i++) if (missing[i]) data[i] = 0;
  return { data, null: missing, labels };
}
