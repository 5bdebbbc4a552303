// The u axis of a column: its margin cells laid end to end on [0, 1], each as wide as its mass.

export const TINY = 1e-9;
const STEPS_PER_EDGE = 4;

export function clipOpen(u) {
  return u < TINY ? TINY : u > 1 - TINY ? 1 - TINY : u;
}

// For each of 2^k equal steps of [0, 1], the interval that its left end lies in.
export function makeGuide(edges, offset = 0, length = edges.length) {
  const steps = 2 ** Math.ceil(Math.log2(STEPS_PER_EDGE * length));
  const guide = new Int32Array(steps);
  let place = 0;
  for (let i = 0; i < steps; i++) {
    while (place < length - 2 && edges[offset + place + 1] <= i / steps) place++;
    guide[i] = place;
  }
  return guide;
}

// The last i with edges[i] <= u, kept inside the grid.
export function findInterval(edges, guide, u, offset = 0, length = edges.length) {
  const step = Math.floor(u * guide.length);
  let i = guide[step < 0 ? 0 : step >= guide.length ? guide.length - 1 : step];
  while (i < length - 2 && edges[offset + i + 1] <= u) i++;
  return i;
}

// Prepares a stored axis.
export function prepareAxis(stored) {
  const edges = Float64Array.from(stored.edges.data);
  return {
    edges,
    guide: makeGuide(edges),
    order: Int32Array.from(stored.order.data),
    starts: Int32Array.from(stored.starts.data),
    widths: Int32Array.from(stored.widths.data),
  };
}

// The interval of each uniform on the axis.
export function placesAt(axis, u) {
  const { edges, guide } = axis;
  const places = new Int32Array(u.length);
  for (let i = 0; i < u.length; i++) places[i] = findInterval(edges, guide, u[i]);
  return places;
}

// Base code of a uniform in a known interval; codes share the interval of their margin cell equally.
export function codeAt(axis, u, place) {
  const low = axis.edges[place], width = axis.edges[place + 1] - low;
  const cell = axis.order[place], codes = axis.widths[cell];
  const part = width > 0 ? (u - low) / width : 0.5;
  return axis.starts[cell] + Math.min(Math.trunc(Math.max(part, 0) * codes), codes - 1);
}

// Lower and upper end on the axis of every base code.
export function codeEdges(axis) {
  const size = axis.widths.reduce((sum, width) => sum + width, 0);
  const low = new Float64Array(size), high = new Float64Array(size);
  axis.order.forEach((cell, place) => {
    const [from, to, codes] = [axis.edges[place], axis.edges[place + 1], axis.widths[cell]];
    const step = (to - from) / codes;
    for (let k = 0; k < codes; k++) {
      low[axis.starts[cell] + k] = from + k * step;
      high[axis.starts[cell] + k] = k + 1 === codes ? to : from + (k + 1) * step;
    }
  });
  return { low, high };
}
