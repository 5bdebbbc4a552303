// Fitted models as samplers of base codes: the vine with its weights, and the product of margins.
// `simulate(rows, rng)` returns one array of codes per column, independent rows from the model.

import { clipOpen, codeAt, findInterval, makeGuide, placesAt, prepareAxis } from "./axis.mjs";
import { prepareVine, transform } from "./vine.mjs";
import { logWeights, prepareCalibration } from "./weights.mjs";

const BLOCK = 16_384;
const MAX_PARTICLES_PER_ROW = 3;

export class VineModel {
  constructor(stored) {
    this.stored = stored;
    this.axes = stored.scales.map(prepareAxis);
    this.vine = prepareVine(stored.vine);
    this.calibration = prepareCalibration(stored.calibration, this.axes);
  }

  // Numbers that are drawn for each row.
  get cost() {
    return this.axes.length * this.calibration.ceiling;
  }

  // A particle is kept with probability weight / ceiling: kept ones are independent rows of the tilted vine.
  simulate(rows, rng) {
    const codes = this.axes.map(() => new Int32Array(rows));
    const ceiling = this.calibration.ceiling;
    for (let filled = 0; filled < rows; ) {
      const size = Math.trunc(Math.min(BLOCK, 1.1 * ceiling * (rows - filled) + 64));
      const { particles, places, logs } = this.propose(size, rng);
      const tests = rng.fill(new Float64Array(size));
      for (let i = 0; i < size && filled < rows; i++) {
        if (!(tests[i] < Math.exp(logs[i]) / ceiling)) continue;
        this.axes.forEach((axis, j) => (codes[j][filled] = codeAt(axis, particles[j][i], places[j][i])));
        filled++;
      }
    }
    return codes;
  }

  // Particles of the vine, their intervals and their log-weights.
  propose(size, rng) {
    const levels = this.axes.map(() => rng.fill(new Float64Array(size)).map(clipOpen));
    const particles = transform(this.vine, levels);
    const places = this.axes.map((axis, j) => placesAt(axis, particles[j]));
    return { particles, places, logs: logWeights(this.calibration, places) };
  }

  // Rows for pictures: particles picked by their weights. Some appear twice, but few are needed where rejection is slow.
  simulateRoughly(rows, rng) {
    const size = Math.ceil(rows * Math.min(this.calibration.ceiling, MAX_PARTICLES_PER_ROW));
    const { particles, places, logs } = this.propose(size, rng);
    const reach = new Float64Array(size);
    let total = 0;
    for (let i = 0; i < size; i++) reach[i] = total += Math.exp(logs[i]);
    const codes = this.axes.map(() => new Int32Array(rows)), offset = rng.random();
    for (let row = 0, i = 0; row < rows; row++) {
      while (i < size - 1 && reach[i] < ((row + offset) / rows) * total) i++;
      this.axes.forEach((axis, j) => (codes[j][row] = codeAt(axis, particles[j][i], places[j][i])));
    }
    return codes;
  }
}

export class IndependentModel {
  constructor(stored) {
    this.margins = stored.margins.map(prepareMargin);
  }

  simulate(rows, rng) {
    return this.margins.map((margin) => {
      const codes = new Int32Array(rows);
      for (let i = 0; i < rows; i++) codes[i] = invertMargin(margin, rng.random());
      return codes;
    });
  }

  get cost() {
    return this.margins.length;
  }

  simulateRoughly(rows, rng) {
    return this.simulate(rows, rng);
  }
}

export function prepareMargin(stored) {
  const mass = stored.mass.data, starts = stored.starts.data;
  const edges = new Float64Array(mass.length + 1);
  for (let i = 0; i < mass.length; i++) edges[i + 1] = edges[i] + mass[i];
  const total = edges[mass.length];
  for (let i = 0; i < edges.length; i++) edges[i] /= total;
  const widths = Array.from(starts, (start, i) => (i + 1 < starts.length ? starts[i + 1] : stored.size) - start);
  const positive = Array.from(mass.keys()).filter((i) => mass[i] > 0);
  return { mass, starts, widths, edges, guide: makeGuide(edges), last: positive.at(-1), first: positive[0] };
}

// The base code whose share of [0, 1) holds u; codes without mass are never returned.
export function invertMargin(margin, u) {
  let cell = Math.min(findInterval(margin.edges, margin.guide, u), margin.last);
  if (!(margin.mass[cell] > 0)) cell = margin.first;
  const inside = ((u - margin.edges[cell]) / margin.mass[cell]) * margin.widths[cell];
  return margin.starts[cell] + Math.trunc(Math.min(Math.max(inside, 0), margin.widths[cell] - 1));
}

const MODELS = { "vine-model": VineModel, independent: IndependentModel };

// Returns the sampler of a decoded model; null of one that this page cannot draw from.
export function prepareModel(stored) {
  return stored.word in MODELS ? new MODELS[stored.word](stored) : null;
}
